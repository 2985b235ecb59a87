import { type Static, Type } from 'typebox'

const keyBytes = 32

/** Read by `store`, too: it seals secrets at rest under it. */
export const masterKeyKey = Type.Optional(
  Type.String({
    description: 'Master key of the built-in key management: `<name>:<base64 of 32 bytes>`, as `svc init` makes one.',
    variable: 'SVC_KMS_SECRET_KEY',
    secret: true,
    check: checkSecretKey,
  }),
)

export const previousMasterKeysKey = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Master keys that were replaced, separated by commas: what they sealed is still opened with them.',
    variable: 'SVC_KMS_SECRET_KEY_PREVIOUS',
    secret: true,
    check: (values: readonly string[]) => values.map(checkSecretKey).find(problem => problem !== undefined),
  }),
)

export const KmsConfig = Type.Object({
  secretKey: masterKeyKey,
  previousSecretKeys: previousMasterKeysKey,
  cachedKeysMax: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 1024,
    description: 'Data keys that a key server opened and that are remembered, per thread; 0 asks each time.',
  }),
  cachedKeyAgeMs: Type.Integer({
    minimum: 0,
    maximum: 3_600_000,
    default: 60_000,
    format: 'duration',
    description: 'How long a data key is remembered; so long it opens what a key server would no longer open.',
  }),
})

export type KmsConfig = Static<typeof KmsConfig>

/** Undefined, or what is wrong; never repeats the value. */
export function checkSecretKey(value: string): string | undefined {
  const colon = value.indexOf(':')
  if (colon < 1) return 'must be <name>:<base64 of 32 bytes>'
  if (!/^[a-z0-9._-]{1,64}$/.test(value.slice(0, colon))) {
    return 'must begin with a name of lower-case letters, digits, ".", "_" and "-"'
  }
  const text = value.slice(colon + 1)
  const bytes = Buffer.from(text, 'base64')
  // Node ignores what is not base64: only what encodes to the same text was base64.
  if (bytes.toString('base64') !== text) return 'must have standard base64 behind the colon'
  if (bytes.length !== keyBytes) return `must hold a key of ${keyBytes} bytes, not ${bytes.length}`
  return undefined
}
