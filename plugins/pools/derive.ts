/** What each set derives from records of the table ff, in addition to what the storage's user derives. The function is the same in every set. */
import type { Derive } from 'svc/plugins/storage/api'
import { deriveFromReferences, isReferences, ownTable } from './record-references.ts'
import { deriveFromRemoteReference, isRemoteReference } from './remote-references.ts'

export function deriveInPools(derive: Derive): Derive {
  return (key, ...change) => {
    if (key[0] !== ownTable) derive(key, ...change)
    else if (isReferences(key)) deriveFromReferences(key, ...change)
    else if (isRemoteReference(key)) deriveFromRemoteReference(key, ...change)
  }
}
