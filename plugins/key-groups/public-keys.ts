/** Keys as they come in: which are taken, how they are called, and how new ones are made. */
import { createPublicKey, generateKeyPair, hash, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { KeyAlgorithm } from './api.ts'

export const rsaBitsMin = 2048
export const rsaBitsMax = 4096
/** The exponent that all libraries use. With exponent 1 any text has a valid signature, and a huge exponent makes verification slow. */
const exponentMin = 65_537n
const exponentMax = 2n ** 32n - 1n
const pemCharactersMax = 4096

export interface PublicKey {
  /** `K` and 13 of A-Z2-7. */
  readonly id: string
  readonly algorithm: KeyAlgorithm
  /** PEM as OpenSSL writes it: the same for the same key. */
  readonly pem: string
}

/** The key in a PEM text, or why it is not taken: a clause behind the name of the field. Never repeats the text. */
export function readPublicKey(text: string): PublicKey | string {
  if (text.length > pemCharactersMax) return `has more than ${pemCharactersMax} characters`
  if (/PRIVATE KEY-----/.test(text)) {
    return 'is a private key. Nothing was stored; give the public key (openssl pkey -pubout), and consider the other one known'
  }
  if (!/^\s*-----BEGIN PUBLIC KEY-----\r?\n[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/.test(text)) {
    return 'is not one public key in PEM, which begins with "-----BEGIN PUBLIC KEY-----" (openssl pkey -pubout, or openssl rsa -RSAPublicKey_in -pubout)'
  }
  let key: KeyObject
  try {
    key = createPublicKey(text)
  } catch {
    // The library's reason is about bytes, and does not help.
    return 'cannot be read as a public key'
  }
  const algorithm = key.asymmetricKeyType
  if (algorithm === 'rsa') return rsaProblem(key) ?? described(key, 'rsa')
  if (algorithm !== 'ed25519') return `is a key of the type ${algorithm}; RSA and Ed25519 are taken`
  return described(key, 'ed25519')
}

function described(key: KeyObject, algorithm: KeyAlgorithm): PublicKey {
  return { id: keyIdOf(key), algorithm, pem: key.export({ type: 'spki', format: 'pem' }).toString() }
}

function rsaProblem(key: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < rsaBitsMin || modulusLength > rsaBitsMax) {
    return `has ${modulusLength} bits; RSA keys of ${rsaBitsMin} to ${rsaBitsMax} bits are taken`
  }
  if (publicExponent < exponentMin || publicExponent > exponentMax) {
    return 'has an unusual public exponent; make a key with the exponent 65537'
  }
  return undefined
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** From the SHA-256 of the SPKI: the same key has the same id everywhere. */
export function keyIdOf(key: KeyObject): string {
  const digest = hash('sha256', key.export({ type: 'spki', format: 'der' }), 'buffer')
  // 65 bits in 13 characters (RFC 4648).
  const bits = BigInt(`0x${digest.toString('hex', 0, 9)}`) >> 7n
  let id = ''
  for (let shift = 60n; shift >= 0n; shift -= 5n) id += base32[Number((bits >> shift) & 31n)]
  return `K${id}`
}

export interface GeneratedKey extends PublicKey {
  /** PEM, PKCS #8. */
  readonly privateKey: string
}

const generate = promisify(generateKeyPair)

/** Off this thread. RSA has 2048 bits, as the signers of CDNs expect. */
export async function generateKey(algorithm: KeyAlgorithm): Promise<GeneratedKey> {
  const { publicKey, privateKey } =
    algorithm === 'rsa' ? await generate('rsa', { modulusLength: rsaBitsMin }) : await generate('ed25519')
  return {
    ...described(publicKey, algorithm),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
