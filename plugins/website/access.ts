/** Access control of a behavior: public, signed, authenticated or deny. Checked on every request, for every object that it reads. */
import { type Clock, chain, isCatalogError, type MaybePromise } from 'svc/kernel'
import type { AccessRuleDenial, AccessRulesService } from 'svc/plugins/access-rules/api'
import type { Visit } from 'svc/plugins/distributions/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { Authentication, AuthSessionService, IamService } from 'svc/plugins/iam/api'
import type { KeyGroupsService } from 'svc/plugins/key-groups/api'
import { ExistingTags, type ObjectsService } from 'svc/plugins/objects/api'
import { type AccessRequest, type PolicyService, type RequestFacts, requestConditions } from 'svc/plugins/policy/api'
import type { S3Service } from 'svc/plugins/s3/api'
import type { ReadyBehavior } from './behaviors.ts'
import { portOf } from './target.ts'

/** Whether this object may be read; checked before the look-up, so that a refusal does not reveal whether the object exists. */
export type MayRead = (key: string, versionId?: string) => MaybePromise<boolean>

export type AccessDecision =
  | { readonly isAllowed: false; readonly reason: string }
  | { readonly isAllowed: true; readonly mayRead: MayRead; readonly isPrivate: boolean }

export interface AccessServices {
  readonly iam: Pick<IamService, 'authenticate'>
  readonly authSession: Pick<AuthSessionService, 'identityOf'> | undefined
  /** Undefined: requests that need a signature are refused. */
  readonly keyGroups: Pick<KeyGroupsService, 'verify'> | undefined
  readonly policy: PolicyService
  /** Whether public access to the bucket is blocked, by itself or by the cluster. */
  readonly blocksPublic: (bucket: string) => MaybePromise<boolean>
  /** Rules that deny hold for everybody, also where policies are not asked. */
  readonly accessRules: Pick<AccessRulesService, 'denial'> | undefined
  readonly objects: Pick<ObjectsService, 'getObject'>
  readonly s3: Pick<S3Service, 'isRootDenied'>
  readonly clock: Clock
}

const denied = (reason: string): AccessDecision => ({ isAllowed: false, reason })

export function decideAccess(
  visit: Visit,
  { access, keyGroup }: Pick<ReadyBehavior, 'access' | 'keyGroup'>,
  services: AccessServices,
): MaybePromise<AccessDecision> {
  const { bucket } = visit.distribution.origin
  if (access === 'public') {
    return chain(services.blocksPublic(bucket), isBlocked =>
      isBlocked
        ? denied('public_access_blocked')
        : { isAllowed: true, mayRead: ruledReader(visit, services), isPrivate: false },
    )
  }
  if (access === 'signed') return decideSigned(visit, keyGroup, services)
  return access === 'authenticated' ? decideAuthenticated(visit, services) : denied('denied')
}

/** All refusals look the same to the client; records have the reason, and the id of an existing key. */
async function decideSigned(
  visit: Visit,
  keyGroup: string | undefined,
  services: AccessServices,
): Promise<AccessDecision> {
  const { keyGroups, clock } = services
  if (keyGroups === undefined || keyGroup === undefined) return denied('signature')
  const { exchange, host, distribution } = visit
  const { request, secure, clientAddress } = exchange
  const { rawPath, rawQuery } = splitTarget(request.url as string)
  const verdict = await keyGroups.verify(keyGroup, {
    secure,
    host: `${host}${portOf(visit)}`,
    path: rawPath,
    query: rawQuery,
    cookie: request.headers.cookie,
    clientAddress,
    // Once, when access is decided: a slow answer does not expire on its way.
    nowMs: visit.rehearsal?.nowMs ?? clock.now(),
    holdsFromProxy: distribution.tls.certificate === 'none',
  })
  if (verdict.keyId !== undefined) visit.tags.keyId = verdict.keyId
  if (!verdict.isValid) return denied(verdict.reason)
  return { isAllowed: true, mayRead: ruledReader(visit, services), isPrivate: false }
}

/**
 * Whether an error page may be shown. Whoever is refused gets it, so no behavior is asked; what closes its bucket or the object to everybody closes
 * it here, too. The records of the visit keep why the visit itself was refused.
 */
export function isShownToEverybody(visit: Visit, key: string, services: AccessServices): MaybePromise<boolean> {
  return chain(services.blocksPublic(visit.distribution.origin.bucket), isBlocked =>
    isBlocked ? false : chain(ruleDenial(visit, services, key), denial => denial === undefined),
  )
}

/** Policies do not apply, and the bucket may be private: only rules that deny anonymous access to the object count. */
function ruledReader(visit: Visit, services: AccessServices): MayRead {
  if (services.accessRules === undefined) return () => true
  return (key, versionId) =>
    chain(ruleDenial(visit, services, key, versionId), denial => {
      if (denial !== undefined) Object.assign(visit.tags, ruleTags(denial.rule))
      return denial === undefined
    })
}

function ruleDenial(
  visit: Visit,
  { accessRules, objects, clock }: AccessServices,
  key: string,
  versionId?: string,
): MaybePromise<AccessRuleDenial | undefined> {
  const { bucket } = visit.distribution.origin
  const action = versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'
  const facts = () =>
    factsOf(visit, { method: 'anonymous' }, clock, { key, versionId, tags: new ExistingTags(objects) })
  return accessRules?.denial(bucket, key, action, facts)
}

async function decideAuthenticated(visit: Visit, services: AccessServices): Promise<AccessDecision> {
  const { policy, objects, s3 } = services
  const { exchange, distribution } = visit
  const { bucket } = distribution.origin
  let authentication: Pick<Authentication, 'identity' | 'method' | 'signatureVersion' | 'signedMs'>
  try {
    authentication = visit.rehearsal
      ? { identity: visit.rehearsal.identity, method: 'header' }
      : await authenticate(exchange, bucket, services)
  } catch (error) {
    // S3 error codes are for S3 clients; a website answers with its own words.
    if (isCatalogError(error) && error.status < 500) return denied(error.code)
    if (isCatalogError(error)) Object.assign(visit.tags, error.tags)
    throw error
  }
  const { identity } = authentication
  if (identity === undefined) return denied('unauthenticated')
  visit.identity = identity
  if (await s3.isRootDenied(identity)) return denied('root_denied')
  await policy.prepare(bucket)
  const tags = new ExistingTags(objects)
  return {
    isAllowed: true,
    isPrivate: true,
    async mayRead(key, versionId) {
      const asked: AccessRequest = {
        identity,
        action: versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion',
        bucket,
        key,
        conditions: () => requestConditions(factsOf(visit, authentication, services.clock, { key, versionId, tags })),
      }
      if (identity.isRoot) return true
      if (policy.mentions(asked, 's3:existingobjecttag/')) await tags.fetch(bucket, key, versionId)
      const isAllowed = policy.isAllowed(asked)
      if (!isAllowed) Object.assign(visit.tags, policy.denialTags(asked))
      return isAllowed
    },
  }
}

async function authenticate(
  exchange: Exchange,
  bucket: string,
  { iam, authSession }: AccessServices,
): Promise<Pick<Authentication, 'identity' | 'method' | 'signatureVersion' | 'signedMs'>> {
  const { request, host, secure } = exchange
  const { rawPath, rawQuery } = splitTarget(request.url as string)
  const { headers, rawHeaders } = request
  const method = request.method as string
  const signed = {
    api: 's3' as const,
    method,
    rawPath,
    rawQuery,
    headers,
    rawHeaders,
    host,
    hostBucket: bucket,
    secure,
  }
  const found = await iam.authenticate(signed, exchange.clientAddress)
  if (found.identity !== undefined) return found
  const identity = await authSession?.identityOf({ request, secure })
  return identity === undefined ? found : { identity, method: 'session' }
}

function splitTarget(url: string): { rawPath: string; rawQuery: string } {
  const mark = url.indexOf('?')
  return mark < 0 ? { rawPath: url, rawQuery: '' } : { rawPath: url.slice(0, mark), rawQuery: url.slice(mark + 1) }
}

function factsOf(
  { exchange, distribution, rehearsal }: Visit,
  { method, signatureVersion, signedMs }: Pick<Authentication, 'method' | 'signatureVersion' | 'signedMs'>,
  clock: Clock,
  asked: { readonly key: string; readonly versionId: string | undefined; readonly tags: ExistingTags },
): RequestFacts {
  const { key, versionId, tags } = asked
  return {
    sourceAddress: exchange.clientAddress,
    secure: exchange.secure,
    timeMs: rehearsal?.nowMs ?? clock.now(),
    headers: exchange.request.headers,
    versionId,
    signature: method,
    signatureVersion,
    signedAtMs: signedMs,
    distribution: distribution.id,
    host: exchange.host,
    method: exchange.request.method,
    existingTags: () => tags.get(distribution.origin.bucket, key, versionId),
  }
}

/** `rule` is the name that records of websites had first. */
const ruleTags = (rule: string) => ({ deniedBy: 'access-rule', accessRule: rule, rule })
