/**
 * The service `bucketPolicy` and its contribution to `policy.source`: stores bucket policies and provides them to the policy engine.
 *
 * Invariants:
 *
 * 1. A decision takes into account every change of the bucket's policy and of its public access block that was acknowledged before the
 *    request arrived: `prepare` reads both, and later decisions of the request never use older state.
 * 2. Damage grants nobody a right: a policy that cannot be read or compiled denies everything.
 * 3. A policy that was not prepared and cannot be read without waiting denies everything.
 */

import { chain, type Logger, type MaybePromise } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
import {
  type BucketPolicies,
  type CompiledPolicy,
  createPrepared,
  type PolicyService,
  type PolicySource,
  requestConditions,
} from 'svc/plugins/policy/api'
import { bucketDocument, type StoredDocument, type StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { BucketPolicyService } from './api.ts'

/** The text, which is returned byte for byte; the policy is compiled from it. */
const schema = Type.Object({ text: Type.String() }, { additionalProperties: false })
type Value = Static<typeof schema>

/** A compiled policy in the forms that the engine takes, made once per change and not for each request. */
interface Usable {
  readonly policy: CompiledPolicy | undefined
  readonly open: BucketPolicies
  readonly publicBlocked: BucketPolicies
}

export interface BucketPolicyOptions {
  readonly store: StoreService
  readonly policy: PolicyService
  readonly objectOwnership: Pick<ObjectOwnershipService, 'blocks'>
  readonly log: Logger
}

export interface BucketPolicy {
  readonly service: BucketPolicyService
  readonly source: PolicySource
  readonly section: ArchiveSection
}

/** Declares a collection: during set-up. */
export function createBucketPolicy({ store, policy, objectOwnership, log }: BucketPolicyOptions): BucketPolicy {
  const documents = bucketDocument(store, { name: 'bucket-policy', schema })
  const usable = documents.compiled(compileStored)
  let denied: BucketPolicies | undefined

  /** Made on first use: the catalogue is complete only when every plugin is set up. */
  function denyEverything(): BucketPolicies {
    denied ??= Object.freeze({ policies: policy.combine([{ policy: compileDenial(policy), source: 'bucket-policy' }]) })
    return denied
  }

  function compileStored({ id, value }: StoredDocument<Value>): Usable {
    const { policy: compiled, errors } = policy.compile(value.text, { kind: 'bucket', bucket: id })
    if (compiled === undefined) {
      const [{ line, column, message }] = errors
      log.error(
        { bucket: id, line, column, problem: message },
        'a stored bucket policy is invalid: every request for this bucket is denied, except of root; replace or delete the policy',
      )
      return { policy: undefined, open: denyEverything(), publicBlocked: denyEverything() }
    }
    const policies = policy.combine([{ policy: compiled, source: 'bucket-policy' }])
    return {
      policy: compiled,
      open: Object.freeze({ policies }),
      publicBlocked: Object.freeze({ policies, blockPublicAccess: true }),
    }
  }

  const ignoresPublic = (bucket: string): MaybePromise<boolean> =>
    chain(objectOwnership.blocks(bucket), ({ restrictPublicBuckets }) => restrictPublicBuckets)

  function policiesOf(bucket: string): MaybePromise<BucketPolicies | undefined> {
    return chain(usable.get(bucket), found => {
      if (found === undefined) {
        return chain(documents.problem(bucket), problem => (problem === undefined ? undefined : denyEverything()))
      }
      if (found.policy?.isPublic !== true) return found.open
      return chain(ignoresPublic(bucket), isIgnored => (isIgnored ? found.publicBlocked : found.open))
    })
  }

  const prepared = createPrepared(policiesOf, denyEverything)

  const service: BucketPolicyService = {
    get: bucket =>
      chain(documents.get(bucket), document => {
        if (document === undefined) {
          return chain(documents.problem(bucket), problem => (problem === undefined ? undefined : 'unreadable'))
        }
        const { etag, value } = document
        return { text: value.text, etag, policy: policy.compile(value.text, { kind: 'bucket', bucket }).policy }
      }),
    compile: (bucket, document) => policy.compile(document, { kind: 'bucket', bucket }),
    replace: (bucket, text, preconditions) =>
      documents.replace(bucket, text === undefined ? undefined : { text }, preconditions),
    ignoresPublic,
    refusesPublic: bucket => chain(objectOwnership.blocks(bucket), ({ blockPublicPolicy }) => blockPublicPolicy),
    keepsAccess(identity, bucket, compiled, facts) {
      const bucketPolicies = { policies: policy.combine([{ policy: compiled, source: 'bucket-policy' }]) }
      const conditions = () => requestConditions(facts)
      return policy.isAllowed({ identity, action: 's3:PutBucketPolicy', bucket, conditions, bucketPolicies })
    },
  }
  const section: ArchiveSection = {
    documents,
    problem: (bucket, { text }: Value) => policy.compile(text, { kind: 'bucket', bucket }).errors?.[0]?.message,
  }
  return { service, source: { prepare: prepared.prepare, bucketPolicies: prepared.get }, section }
}

function compileDenial(policy: PolicyService): CompiledPolicy {
  const statement = { Sid: 'Unreadable', Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: '*' }
  const { policy: compiled } = policy.compile({ Version: '2012-10-17', Statement: statement }, { kind: 'bucket' })
  return compiled!
}
