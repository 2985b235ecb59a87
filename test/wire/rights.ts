/** What tests of rights share: a server, root, and a user whose one policy changes before each attempt. */
import * as sdk from '@aws-sdk/client-s3'
import { type AdminClient, createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

/** Where an operation is tried: a bucket of its own with one object in it. */
export interface Place {
  readonly Bucket: string
  readonly Key: string
  /** Of the object, where the bucket keeps versions. */
  readonly VersionId: string | undefined
}

export interface PlaceOptions {
  /** The bucket keeps no versions. Otherwise it has object lock, too. */
  readonly isUnversioned?: boolean
  /** The bucket is not there yet, or has no object. */
  readonly bucket?: 'missing' | 'empty'
}

export interface RightsStage {
  readonly admin: AdminClient
  readonly root: sdk.S3Client
  /** Has the policy `least` and no other. */
  readonly user: sdk.S3Client
  makePlace(options?: PlaceOptions): Promise<Place>
  remove(): Promise<void>
}

export async function startRightsStage(): Promise<RightsStage> {
  // With a key to encrypt with: otherwise requests about encryption have no success.
  const SVC_KMS_SECRET_KEY = `rights:${Buffer.alloc(32, 7).toString('base64')}`
  const server = await startServer({ environment: { SVC_KMS_SECRET_KEY } })
  const admin = createAdminClient(server)
  const root = createClient(server)
  await admin.putPolicy('least', { Action: 's3:GetBucketLocation', Resource: '*' })
  const user = createClient(server, { credentials: await admin.createUser('least', { policyNames: ['least'] }) })
  let placeCount = 0
  return {
    admin,
    root,
    user,
    async makePlace({ bucket, isUnversioned = false } = {}) {
      const Bucket = `rights-${++placeCount}`
      const Key = 'folder/key'
      if (bucket === 'missing') return { Bucket, Key, VersionId: undefined }
      await root.send(new sdk.CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: !isUnversioned }))
      if (bucket === 'empty') return { Bucket, Key, VersionId: undefined }
      const { VersionId } = await root.send(new sdk.PutObjectCommand({ Bucket, Key, Body: 'what is there' }))
      return { Bucket, Key, VersionId }
    },
    async remove() {
      root.destroy()
      user.destroy()
      await server.remove()
    },
  }
}

/** `ok`, or the status and the code of the error. Answers to HEAD have no code. */
export async function outcomeOf(sent: Promise<unknown>): Promise<string> {
  try {
    await sent
    return 'ok'
  } catch (error) {
    if (!(error instanceof sdk.S3ServiceException)) throw error
    return `${error.$metadata.httpStatusCode} ${error.name}`
  }
}
