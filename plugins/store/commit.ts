/**
 * The procedures of the store, which run under the commit lock. A transaction first evaluates all of its preconditions against the
 * committed state, then makes all of its changes. The caller's thread has checked, sealed and encoded the values before.
 *
 * | Step | Condition | Change |
 * |---|---|---|
 * | put | If-Match and If-None-Match hold, the present document can be read, the bucket exists (of a document of a bucket) | record replaced |
 * | delete | If-Match holds, the present document can be read | record deleted if it exists |
 * | require | If-Match and If-None-Match hold | none |
 */

import type { Procedure, Transaction } from 'svc/plugins/storage/api'
import { bucketKey } from 'svc/plugins/storage/api'
import type { ChangeOptions } from './api.ts'
import { storeErrors } from './errors.ts'
import { deploymentKeyKey, documentKey, isOfBucket, type Scope } from './keys.ts'
import { asBuffer, readHead, stampRecord } from './record.ts'

export interface Step extends ChangeOptions {
  readonly kind: 'put' | 'delete' | 'require'
  readonly scope: Scope
  readonly collection: string
  readonly id: string
  /** Set for a put. The commit stamps it. */
  readonly record?: Uint8Array
}

export interface CommitResult {
  readonly sequence: number
  readonly modifiedMs: number
  /** For each step: whether the document existed before. */
  readonly existed: readonly boolean[]
}

/** Why the record of a document cannot be read; undefined if it can. */
export type FindProblem = (collection: string, id: string, record: Uint8Array) => string | undefined

export function createProcedures(problemOf: FindProblem): Readonly<Record<string, Procedure>> {
  return {
    'store.commit': (tx, steps: readonly Step[]): CommitResult => {
      const existed = steps.map(step => check(tx, step, problemOf))
      for (const { kind, scope, collection, id, record } of steps) {
        const key = documentKey(scope, collection, id)
        if (kind === 'delete') tx.delete(key)
        if (kind !== 'put') continue
        const bytes = asBuffer(record!)
        stampRecord(bytes, tx.nowMs, tx.sequence)
        tx.put(key, bytes)
      }
      return { sequence: tx.sequence, modifiedMs: tx.nowMs, existed }
    },

    /** Changes nothing. When it resolves, every earlier commit is durable or has failed. */
    'store.settle': () => undefined,

    /** Replaces the sealed deployment key, if it still is the one that the caller has read. */
    'store.putDeploymentKey': (tx, { before, after }: { before: Uint8Array | undefined; after: Uint8Array }) => {
      const current = tx.get(deploymentKeyKey)
      const isSame =
        current === undefined || before === undefined
          ? current === before
          : asBuffer(current.value).equals(asBuffer(before))
      if (!isSame) throw storeErrors.precondition_failed('The deployment key was changed by somebody else.')
      tx.put(deploymentKeyKey, after)
    },
  }
}

/** Whether the document exists. Throws if a precondition does not hold. */
function check(tx: Transaction, step: Step, problemOf: FindProblem): boolean {
  const { kind, scope, collection, id, ifMatch, ifNoneMatch, overwriteUnreadable = false } = step
  const extra = { Collection: collection, Id: id }
  if (kind === 'put' && isOfBucket(scope) && tx.get(bucketKey(id)) === undefined) {
    throw storeErrors.bucket_not_found(undefined, { extra: { BucketName: id } })
  }
  const record = tx.get(documentKey(scope, collection, id))
  const problem = record === undefined ? undefined : problemOf(collection, id, record.value)
  if (problem !== undefined && !overwriteUnreadable && kind !== 'require') {
    throw storeErrors.document_unreadable(
      `The stored document ${JSON.stringify(id)} of ${collection} cannot be read (${problem}) and is kept as it is.`,
      { extra },
    )
  }
  const isThere = record !== undefined && problem === undefined
  if (ifNoneMatch !== undefined && isThere) {
    throw storeErrors.precondition_failed(undefined, { extra: { ...extra, Condition: 'If-None-Match' } })
  }
  if (ifMatch !== undefined && !(isThere && (ifMatch === '*' || ifMatch === readHead(record.value).etag))) {
    throw storeErrors.precondition_failed(undefined, { extra: { ...extra, Condition: 'If-Match' } })
  }
  return record !== undefined
}
