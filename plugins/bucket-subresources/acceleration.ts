/** Transfer acceleration of buckets: never enabled, but tools set it to suspended and expect to read that back. */

import type { MaybePromise } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import { bucketDocument, type StoreService } from 'svc/plugins/store/api'
import { Type } from 'typebox'

export interface Acceleration {
  readonly section: ArchiveSection
  /** Undefined where it was never set. */
  status(bucket: string): MaybePromise<'Suspended' | undefined>
  /** Rejects with `storeErrors` where there is no such bucket. */
  suspend(bucket: string): Promise<void>
}

export function createAcceleration(store: StoreService): Acceleration {
  const documents = bucketDocument(store, {
    name: 'bucket-acceleration',
    schema: Type.Object({ status: Type.Literal('Suspended') }, { additionalProperties: false }),
  })
  return {
    section: { documents },
    status(bucket) {
      const document = documents.get(bucket)
      return document instanceof Promise ? document.then(found => found?.value.status) : document?.value.status
    },
    async suspend(bucket) {
      await documents.replace(bucket, { status: 'Suspended' })
    },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    acceleration: Acceleration
  }
}
