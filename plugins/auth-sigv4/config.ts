import { type Static, Type } from 'typebox'

/** Lower-case words with digits and hyphens, like names of AWS regions. */
const regionPattern = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/

export const AuthSigv4Config = Type.Object({
  region: Type.String({
    description: 'Region in signatures: clients must sign for it. 1 to 64 lower-case letters, digits and hyphens.',
    default: 'us-east-1',
    variable: 'SVC_REGION',
    check: checkRegion,
  }),
})

export type AuthSigv4Config = Static<typeof AuthSigv4Config>

/** The problem with the value; undefined if there is none. */
export function checkRegion(value: string): string | undefined {
  return regionPattern.test(value)
    ? undefined
    : 'must be 1 to 64 lower-case letters, digits and hyphens, with a letter or digit at both ends'
}
