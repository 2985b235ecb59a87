/** What is stored of a bucket's ownership: three small documents, all missing in most buckets. */

import { chain, isCatalogError, type MaybePromise } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { PolicyService, PolicySource } from 'svc/plugins/policy/api'
import type { SettingsService } from 'svc/plugins/settings/api'
import { bucketDocument, type StoreService, storeErrors } from 'svc/plugins/store/api'
import { Type } from 'typebox'
import type { AccessControl, ObjectOwnershipService, PublicAccessBlock } from './api.ts'
import { etagOfBlock } from './block-etag.ts'
import { createClusterBlock } from './cluster-block.ts'
import type { ObjectOwnershipConfig } from './config.ts'
import { compileGrants, createGrantSource } from './grants.ts'

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
/** Of its own, as earlier releases can read nothing but the removal in the one above. Missing: BucketOwnerEnforced. */
const accessControlSchema = Type.Object(
  {
    ownership: Type.Union([Type.Literal('BucketOwnerPreferred'), Type.Literal('ObjectWriter')]),
    acl: Type.Optional(
      Type.Union([Type.Literal('public-read'), Type.Literal('public-read-write'), Type.Literal('authenticated-read')]),
    ),
  },
  { additionalProperties: false },
)
/** How often a change begins again because another came between. */
const attemptsMax = 8

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

export interface ObjectOwnership {
  readonly service: Omit<ObjectOwnershipService, 'readNewBucket'>
  readonly source: PolicySource
  readonly sections: readonly ArchiveSection[]
}

export interface ObjectOwnershipOptions {
  readonly store: StoreService
  readonly policy: PolicyService
  readonly settings: SettingsService
  readonly config: ObjectOwnershipConfig
}

/** Declares collections and settings: during set-up. */
export function createObjectOwnership({ store, policy, settings, config }: ObjectOwnershipOptions): ObjectOwnership {
  const cluster = createClusterBlock(settings, config)
  const lists = bucketDocument(store, { name: 'bucket-acl', schema: accessControlSchema })
  const grants = lists.compiled(({ id, value }) => compileGrants(policy, id, value.acl))
  const blocks = bucketDocument(store, { name: 'public-access-block', schema: blockSchema })
  const controls = bucketDocument(store, { name: 'ownership-controls', schema: controlsSchema })
  const publicAccessBlock = (bucket: string) => chain(blocks.get(bucket), document => document?.value)
  const said = (bucket: string): MaybePromise<PublicAccessBlock> =>
    // A document that cannot be read took rights away: nobody gets them because it is damaged.
    chain(
      blocks.read(bucket, () => everythingBlocked),
      found => found ?? nothingBlocked,
    )
  // Lists that cannot be read are off: they only gave rights.
  const accessControl = (bucket: string): MaybePromise<AccessControl | undefined> =>
    chain(lists.get(bucket), document => document?.value)
  const service: ObjectOwnership['service'] = {
    publicAccessBlock,
    ownBlocks: said,
    blocks: bucket =>
      chain(cluster.get(), ({ isBlocked, mode }) => {
        if (!isBlocked) return said(bucket)
        if (mode === 'reject') return everythingBlocked
        return chain(said(bucket), block => ({ ...block, ignorePublicAcls: true, restrictPublicBuckets: true }))
      }),
    clusterPublicAccess: cluster.get,
    clusterPublicAccessEtag: cluster.etag,
    setClusterPublicAccess: cluster.set,
    async setPublicAccessBlock(bucket, block, ifMatch) {
      if (ifMatch === undefined || ifMatch === '*') {
        await blocks.replace(bucket, block)
        return
      }
      const found = await blocks.get(bucket)
      if (ifMatch !== etagOfBlock(await said(bucket))) throw storeErrors.precondition_failed()
      // One that cannot be read is replaced as if there were none.
      await blocks.replace(bucket, block, found === undefined ? { ifNoneMatch: '*' } : { ifMatch: found.etag })
    },
    hasOwnershipControls: bucket => chain(controls.get(bucket), document => document === undefined),
    async setOwnershipControls(bucket, present) {
      await controls.replace(bucket, present ? undefined : { isRemoved: true })
    },
    accessControl,
    async changeAccessControl(bucket, change) {
      for (let attempt = 1; ; attempt++) {
        const former = await lists.get(bucket)
        const value = change(former?.value)
        try {
          // Where there is none that can be read, nothing is lost that a later change would not replace as well.
          await lists.replace(bucket, value, former && { ifMatch: former.etag })
          return
        } catch (error) {
          const isChanged = isCatalogError(error) && error.code === 'precondition_failed'
          if (!isChanged || attempt === attemptsMax) throw error
        }
      }
    },
  }
  const ignoresPublic = (bucket: string) => chain(service.blocks(bucket), ({ ignorePublicAcls }) => ignorePublicAcls)
  const sections = [{ documents: lists }, { documents: blocks }, { documents: controls }]
  return { service, source: createGrantSource(bucket => grants.get(bucket), ignoresPublic), sections }
}
