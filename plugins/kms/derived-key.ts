/**
 * Derives data keys of the built-in backend from a key, a random salt and the context, so that creating or unwrapping one is a single hash
 * instead of a cipher. One-step key derivation of NIST SP 800-56C rev. 2, section 4.1, option 1, with SHA-512:
 *
 *     SHA-512(counter 1 (u32) | key (32 bytes) | `svc kms data key\n` | salt (16 bytes) | context)
 *
 * Bytes 0 to 31 of the digest are the data key, bytes 32 to 47 a check value that is stored: another context, salt or key gives another
 * check value. The last 16 bytes are never revealed, which prevents length extension of the digest to a longer context. The fields before
 * the context have fixed lengths, so the input is unambiguous.
 */
import { hash } from 'node:crypto'

export const derivationSaltBytes = 16
export const derivationCheckBytes = 16
const dataKeyBytes = 32
const keyBytes = 32

const head = Buffer.concat([Buffer.of(0, 0, 0, 1), Buffer.alloc(keyBytes), Buffer.from('svc kms data key\n')])
const contextAt = head.length + derivationSaltBytes
/** For a longer context the input is allocated for each call. */
const contextBytesMax = 1024

export interface DerivedKey {
  /** 32 bytes; the caller overwrites them with zeros. */
  readonly dataKey: Buffer
  readonly check: Buffer
}

/** Keeps the bytes of its key in memory, since a hash takes no key object. */
export interface KeyDerivation {
  derive(salt: Uint8Array, context: Uint8Array): DerivedKey
  /** Overwrites the key. Nothing may be derived afterwards. */
  erase(): void
}

/** `key`: 32 uniformly random bytes for this purpose alone; a copy is kept. */
export function createKeyDerivation(key: Uint8Array): KeyDerivation {
  if (key.length !== keyBytes) throw new RangeError(`a key has ${keyBytes} bytes`)
  const input = Buffer.alloc(contextAt + contextBytesMax)
  input.set(head)
  input.set(key, 4)

  const digestOf = (salt: Uint8Array, context: Uint8Array): Buffer => {
    input.set(salt, head.length)
    if (context.length <= contextBytesMax) {
      input.set(context, contextAt)
      return hash('sha512', input.subarray(0, contextAt + context.length), 'buffer')
    }
    const long = Buffer.concat([input.subarray(0, contextAt), context])
    const digest = hash('sha512', long, 'buffer')
    long.fill(0)
    return digest
  }

  return {
    derive(salt, context) {
      if (salt.length !== derivationSaltBytes) throw new RangeError(`a salt has ${derivationSaltBytes} bytes`)
      const digest = digestOf(salt, context)
      const checkEnd = dataKeyBytes + derivationCheckBytes
      digest.fill(0, checkEnd)
      return { dataKey: digest.subarray(0, dataKeyBytes), check: digest.subarray(dataKeyBytes, checkEnd) }
    },
    erase() {
      input.fill(0)
    },
  }
}
