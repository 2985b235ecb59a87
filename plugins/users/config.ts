import { type Static, Type } from 'typebox'

export const UsersConfig = Type.Object({
  keysPerUserMax: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 1000,
    description:
      'Maximum number of access keys of one user, without share links. A user who has more keeps them, and gets no further one.',
  }),
  sharesPerUserMax: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 1000,
    description: 'Maximum number of active share links of one user. As many ended ones are kept in the list.',
  }),
})

export type UsersConfig = Static<typeof UsersConfig>
