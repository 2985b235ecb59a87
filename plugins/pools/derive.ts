/** What is derived in a set of several, whichever it is: users' records are in one of them only, and so are references. */
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
