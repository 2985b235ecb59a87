/**
 * What access control lists allow, for the policy engine: each list is a policy that allows and denies nothing. A share never has such a
 * right. Lists of a bucket that leaves public ones out allow nothing, as every canned list that grants something is public.
 */
import { chain, type MaybePromise } from 'svc/kernel'
import type { CannedAcl } from 'svc/plugins/objects/api'
import { type BucketPolicies, createPrepared, type PolicyService, type PolicySource } from 'svc/plugins/policy/api'

export interface Grants {
  readonly bucket: BucketPolicies | undefined
  readonly objects: ReadonlyMap<string, BucketPolicies>
}

const users = ['User', 'AccessKey']
const reads = ['s3:GetObject', 's3:GetObjectVersion']
const lists = ['s3:ListBucket', 's3:ListBucketVersions', 's3:ListBucketMultipartUploads']

/** `acl`: of the bucket; undefined for the owner's. */
export function compileGrants(policy: PolicyService, bucket: string, acl: CannedAcl | undefined): Grants {
  const allow = (granting: CannedAcl, Action: readonly string[], Resource: string) => ({
    Effect: 'Allow',
    Principal: '*',
    Action,
    Resource,
    Condition: {
      StringEquals: { 'aws:PrincipalType': granting === 'authenticated-read' ? users : ['Anonymous', ...users] },
    },
  })
  const compile = (...Statement: readonly object[]): BucketPolicies => {
    const { policy: compiled } = policy.compile({ Version: '2012-10-17', Statement }, { kind: 'bucket', bucket })
    return Object.freeze({ policies: policy.combine([{ policy: compiled!, source: 'acl' }]) })
  }
  const [itself, content] = [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`]
  const names: readonly CannedAcl[] = ['public-read', 'public-read-write', 'authenticated-read']
  const writes = acl === 'public-read-write' ? [allow(acl, ['s3:PutObject'], content)] : []
  return Object.freeze({
    bucket: acl && compile(allow(acl, lists, itself), ...writes),
    objects: new Map(names.map(name => [name, compile(allow(name, reads, content))])),
  })
}

/** `find`: undefined where lists are off. */
export function createGrantSource(
  find: (bucket: string) => MaybePromise<Grants | undefined>,
  ignoresPublic: (bucket: string) => MaybePromise<boolean>,
): PolicySource {
  const counting = (bucket: string): MaybePromise<Grants | undefined> =>
    chain(find(bucket), found => {
      if (found === undefined) return undefined
      return chain(ignoresPublic(bucket), isIgnored => (isIgnored ? undefined : found))
    })
  // What cannot be known grants nothing.
  const prepared = createPrepared(counting, () => undefined)
  return {
    prepare: prepared.prepare,
    bucketPolicies: bucket => prepared.get(bucket)?.bucket,
    objectPolicies: bucket => prepared.get(bucket)?.objects,
  }
}
