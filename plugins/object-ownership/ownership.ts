/** What is stored of a bucket's ownership: two small documents, both missing in most buckets. */
import type { MaybePromise } from 'svc/kernel'
import type { StoreService } from 'svc/plugins/store/api'
import { Type } from 'typebox'
import type { ObjectOwnershipService, PublicAccessBlock } from './api.ts'

const blockSchema = Type.Object(
  {
    blockPublicAcls: Type.Boolean(),
    ignorePublicAcls: Type.Boolean(),
    blockPublicPolicy: Type.Boolean(),
    restrictPublicBuckets: Type.Boolean(),
  },
  { additionalProperties: false },
)
const controlsSchema = Type.Object({ isRemoved: Type.Literal(true) }, { additionalProperties: false })

function every(value: boolean): PublicAccessBlock {
  return Object.freeze({
    blockPublicAcls: value,
    ignorePublicAcls: value,
    blockPublicPolicy: value,
    restrictPublicBuckets: value,
  })
}
const nothingBlocked = every(false)
const everythingBlocked = every(true)

export function createObjectOwnership(store: StoreService): ObjectOwnershipService {
  const blocks = store.collection({ name: 'public-access-block', schema: blockSchema, version: 1, scope: 'bucket' })
  const controls = store.collection({ name: 'ownership-controls', schema: controlsSchema, version: 1, scope: 'bucket' })
  const publicAccessBlock = (bucket: string) => then(blocks.get(bucket), document => document?.value)
  return {
    publicAccessBlock,
    blocks: bucket =>
      then(publicAccessBlock(bucket), said => {
        if (said !== undefined) return said
        // A document that cannot be read took rights away: nobody gets them because it is damaged.
        return then(blocks.problem(bucket), problem => (problem === undefined ? nothingBlocked : everythingBlocked))
      }),
    async setPublicAccessBlock(bucket, block) {
      if (block === undefined) await blocks.delete(bucket, { overwriteUnreadable: true })
      else await blocks.put(bucket, block, { overwriteUnreadable: true })
    },
    hasOwnershipControls: bucket => then(controls.get(bucket), document => document === undefined),
    async setOwnershipControls(bucket, present) {
      if (present) await controls.delete(bucket, { overwriteUnreadable: true })
      else await controls.put(bucket, { isRemoved: true }, { overwriteUnreadable: true })
    },
  }
}

function then<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
