/**
 * Encrypts bodies that the storage keeps encrypted, before they leave the memory of the process: AES-256-GCM with a key that is made at each start
 * and is only in that memory. After the process has ended nobody can read it, not even the next process, which treats it as a miss.
 */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import type { Random } from 'svc/kernel'

const algorithm = 'aes-256-gcm'
const runBytes = 8
const nonceBytes = 12
const tagBytes = 16

export interface Seal {
  /** Encrypts. `text` has to be put into the head of the record. */
  close(id: Buffer, plain: Buffer): { readonly body: Buffer; readonly text: string }
  /** Decrypts. Undefined: written by another process or for another id, or changed. */
  open(id: Buffer, text: string, body: Buffer): Buffer | undefined
}

export const sealKeyBytes = 32

/** `key`: all threads of a process have the same. */
export function createSeal(key: Buffer, random: Random): Seal {
  const run = createHash('sha256').update('run').update(key).digest().subarray(0, runBytes)
  return {
    close(id, plain) {
      const nonce = random.bytes(nonceBytes)
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(id)
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      return { body, text: Buffer.concat([run, nonce, cipher.getAuthTag()]).toString('base64url') }
    },
    open(id, text, body) {
      const parts = Buffer.from(text, 'base64url')
      if (parts.length !== runBytes + nonceBytes + tagBytes || !parts.subarray(0, runBytes).equals(run))
        return undefined
      const nonce = parts.subarray(runBytes, runBytes + nonceBytes)
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(id)
      decipher.setAuthTag(parts.subarray(runBytes + nonceBytes))
      try {
        return Buffer.concat([decipher.update(body), decipher.final()])
      } catch {
        return undefined
      }
    },
  }
}
