import { type Static, Type } from 'typebox'

export const UsersConfig = Type.Object({
  sharesPerUserMax: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 1000,
    description:
      'Share links of one user that are active at the same time. As many that are over are kept for the list.',
  }),
})

export type UsersConfig = Static<typeof UsersConfig>
