/** What is stored of a bucket's ownership: two small documents, both missing in most buckets. */
import { chain } from 'svc/kernel'
import { bucketDocument, type StoreService } from 'svc/plugins/store/api'
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
  const blocks = bucketDocument(store, { name: 'public-access-block', schema: blockSchema })
  const controls = bucketDocument(store, { name: 'ownership-controls', schema: controlsSchema })
  const publicAccessBlock = (bucket: string) => chain(blocks.get(bucket), document => document?.value)
  return {
    publicAccessBlock,
    // A document that cannot be read took rights away: nobody gets them because it is damaged.
    blocks: bucket =>
      chain(
        blocks.read(bucket, () => everythingBlocked),
        said => said ?? nothingBlocked,
      ),
    async setPublicAccessBlock(bucket, block) {
      await blocks.replace(bucket, block)
    },
    hasOwnershipControls: bucket => chain(controls.get(bucket), document => document === undefined),
    async setOwnershipControls(bucket, present) {
      await controls.replace(bucket, present ? undefined : { isRemoved: true })
    },
  }
}
