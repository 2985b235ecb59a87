/** Seals and opens the secret fields of documents. Each sealed value is bound to its collection, document and field. */
import { createHmac, hash, type KeyObject } from 'node:crypto'
import type { Random } from 'svc/kernel'
import { deriveKey, openSealed, SealError, seal } from 'svc/plugins/sealing/api'
import { storeErrors } from './errors.ts'

export interface SecretField {
  readonly collection: string
  readonly id: string
  /** JSON Pointer. */
  readonly pointer: string
}

export interface Sealer {
  seal(field: SecretField, plaintext: Uint8Array): Buffer
  /** Throws SealError. */
  open(field: SecretField, sealed: Uint8Array): Buffer
  /** Equal for equal secrets of one field, and without information for anyone who lacks the key. 64 hexadecimal digits. */
  fingerprint(field: SecretField, plaintext: Uint8Array): string
}

const noSalt = Buffer.alloc(0)

/** `deploymentKey`: 32 bytes. */
export function createSealer(deploymentKey: Uint8Array, random: Random): Sealer {
  const fields: KeyObject = deriveKey(deploymentKey, noSalt, 'svc store fields')
  const fingerprints: KeyObject = deriveKey(deploymentKey, noSalt, 'svc store fingerprints')
  return {
    seal: (field, plaintext) => seal(fields, plaintext, contextOf(field), random.bytes(12)),
    open: (field, sealed) => openSealed(fields, sealed, contextOf(field)),
    fingerprint: (field, plaintext) =>
      createHmac('sha256', fingerprints)
        .update(hash('sha256', contextOf(field), 'buffer'))
        .update(plaintext)
        .digest('hex'),
  }
}

/** The sealer if no collection has secret fields, and until the deployment key is open. */
export const noSealer: Sealer = {
  seal: () => {
    throw storeErrors.sealing_key_missing('The key that seals secrets is not open.')
  },
  open: () => {
    throw new SealError('the key that seals secrets is not open')
  },
  fingerprint: () => {
    throw storeErrors.sealing_key_missing('The key that seals secrets is not open.')
  },
}

/** JSON, because a list of texts with separators would be ambiguous. */
function contextOf({ collection, id, pointer }: SecretField): string {
  return JSON.stringify(['document', collection, id, pointer])
}
