/** The configuration keys of the master key. `kms` wraps data keys under it, and `store` the key of its secrets. */
import { Type } from 'typebox'

const keyBytes = 32

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
