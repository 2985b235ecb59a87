/** The settings of the master key. `kms` wraps data keys under it; `store` seals the deployment key under it. */
import { Type } from 'typebox'

const keyBytes = 32

export const masterKeyKey = Type.Optional(
  Type.String({
    description: 'Master key of the built-in key management: `<name>:<base64 of 32 bytes>`, as created by `svc init`.',
    variable: 'SVC_KMS_SECRET_KEY',
    secret: true,
    check: checkSecretKey,
  }),
)

export const previousMasterKeysKey = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Former master keys, separated by commas. Needed to read what was encrypted under them.',
    variable: 'SVC_KMS_SECRET_KEY_PREVIOUS',
    secret: true,
    check: (values: readonly string[]) => values.map(checkSecretKey).find(problem => problem !== undefined),
  }),
)

/** The problem with a master key, without the value; undefined if it is valid. */
export function checkSecretKey(value: string): string | undefined {
  const colon = value.indexOf(':')
  if (colon < 1) return 'must be <name>:<base64 of 32 bytes>'
  if (!/^[a-z0-9._-]{1,64}$/.test(value.slice(0, colon))) {
    return 'must begin with a name of lower-case letters, digits, ".", "_" and "-"'
  }
  const text = value.slice(colon + 1)
  const bytes = Buffer.from(text, 'base64')
  // Node.js ignores characters that are not base64: compare with the encoded bytes to refuse such text.
  if (bytes.toString('base64') !== text) return 'must have standard base64 behind the colon'
  if (bytes.length !== keyBytes) return `must hold a key of ${keyBytes} bytes, not ${bytes.length}`
  return undefined
}
