/** The state of one S3 request: the parts that a handler reads, and the record of its end. */
import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Clock, chain, type Logger, type MaybePromise } from 'svc/kernel'
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Exchange, RateLimitsService } from 'svc/plugins/http/api'
import type { Authentication, IamService, Identity } from 'svc/plugins/iam/api'
import {
  type Body,
  type CannedAcl,
  type ChangeOrigin,
  changeOrigin,
  ExistingTags,
  type ExpectedDigests,
  type ObjectAttributes,
  type ObjectsService,
  type ObjectVersion,
  type Upload,
} from 'svc/plugins/objects/api'
import { noBody, RequestBody, readExpectedPayload } from 'svc/plugins/payload/api'
import { type AccessRequest, type PolicyService, requestConditions } from 'svc/plugins/policy/api'
import { asksForAcl, type IsAclIgnored, refuseAcl } from './acl.ts'
import type {
  BodyKind,
  BucketDomain,
  ErrorPage,
  Level,
  OriginAnswer,
  PostForm,
  S3Attribute,
  S3QueryApi,
  S3Request,
  S3RequestRecord,
  WrittenVersion,
  XmlNode,
} from './api.ts'
import { readAction } from './conditions.ts'
import type { DispatchTable } from './dispatch.ts'
import { s3Errors } from './errors.ts'
import { readAttributes } from './metadata.ts'
import { refuseMissingFeature } from './not-implemented.ts'
import { otherSourceOf } from './other-sources.ts'
import { encryptionConditions, factsOf, uploadWrittenBy } from './request-facts.ts'
import type { RequestLimit } from './request-limit.ts'
import { type IsRootDenied, requireRootAccess } from './root-access.ts'
import type { Target, TargetOptions } from './target.ts'

/** Shared by all requests of the server. */
export interface S3Environment {
  readonly iam: IamService
  readonly policy: PolicyService
  readonly objects: ObjectsService
  readonly checksums: ChecksumsService
  readonly clock: Clock
  readonly log: Logger
  readonly region: string
  /** Value of `x-amz-id-2` and `HostId`. */
  readonly hostId: string
  readonly target: TargetOptions
  readonly table: DispatchTable
  readonly attributes: readonly S3Attribute[]
  /** All headers that the attributes use. */
  readonly attributeHeaders: ReadonlySet<string>
  readonly observers: readonly ((record: S3RequestRecord) => void)[]
  readonly originAnswers: readonly OriginAnswer[]
  readonly errorPage: ErrorPage | undefined
  readonly queryApi: S3QueryApi | undefined
  readonly requestLimit: RequestLimit
  readonly rateLimits?: RateLimitsService
  readonly isRootDenied: IsRootDenied
  readonly isAclIgnored: IsAclIgnored
}

const noParameters: ReadonlyMap<string, string> = new Map()

export class S3RequestContext implements S3Request {
  readonly exchange: Exchange
  readonly environment: S3Environment
  readonly requestId: string
  readonly method: string
  readonly host: string
  headers: IncomingHttpHeaders
  level: Level = 'service'
  bucket = ''
  key = ''
  query: ReadonlyMap<string, string> = noParameters
  authentication: Authentication | undefined = undefined
  xml: XmlNode | undefined = undefined
  /** Name of the operation once it is known. */
  operation = 'Unknown'
  errorCode: string | undefined = undefined
  /** Tags of the error that was answered, for the audit record. */
  tags: Readonly<Record<string, string>> | undefined = undefined
  #noted: Readonly<Record<string, string>> | undefined
  sentBytes = 0
  /** Names and values in turn, in addition to those of the answer itself; undefined for requests without an origin. */
  answerHeaders: readonly string[] | undefined = undefined
  /** The question about the request as a whole for the policy engine, with its facts. Not used for root. */
  asked: AccessRequest | undefined = undefined
  /** The last question about this request that was answered with no. */
  refused: AccessRequest | undefined = undefined
  /** The items of the request are denied one by one, in an answer with status 200. */
  isOfItems = false
  /** The answer has ended, or the client has disconnected. */
  isClosed = false
  /** Whether the request holds a place of the setting `requests_max`; it is released when the request is closed. */
  hasPlace = false
  #body: RequestBody | undefined = undefined
  #checksumAlgorithm: ChecksumAlgorithm | undefined = undefined
  #existingTags: ExistingTags | undefined = undefined
  #acl: CannedAcl | undefined = undefined
  /** Only the access control list of the object may allow the read. */
  #readsByAcl = false

  /** Undefined where the path or the host names the bucket, as everywhere on S3. */
  readonly domain: BucketDomain | undefined

  constructor(exchange: Exchange, environment: S3Environment, domain?: BucketDomain) {
    this.exchange = exchange
    this.domain = domain
    this.environment = environment
    this.requestId = exchange.requestId
    this.method = exchange.request.method!
    this.headers = exchange.request.headers
    this.host = exchange.host
  }

  setTarget(target: Target): void {
    this.level = target.level
    this.bucket = target.bucket
    this.key = target.key
    this.query = target.query
  }

  get identity(): Identity | undefined {
    return this.authentication?.identity
  }

  get secure(): boolean {
    return this.exchange.secure
  }

  get clientAddress(): string {
    return this.exchange.clientAddress
  }

  get origin(): ChangeOrigin {
    const { identity, clientAddress, requestId } = this
    return changeOrigin({
      identity,
      clientAddress,
      requestId,
      userAgent: this.exchange.request.headers['user-agent'],
    })
  }

  get body(): Body {
    return this.#body ?? noBody
  }

  get checksumAlgorithm(): ChecksumAlgorithm | undefined {
    return this.#checksumAlgorithm
  }

  /** Opens the payload. Throws if the headers about it are invalid. */
  openBody(kind: BodyKind): RequestBody {
    const { checksums } = this.environment
    const authentication = this.authentication!
    const isOfObject = kind.kind === 'xml' && kind.checksumOf === 'object'
    const expected = readExpectedPayload(
      isOfObject ? withoutChecksums(this.headers) : this.headers,
      authentication,
      checksums,
    )
    this.#checksumAlgorithm = expected.algorithm
    this.#body = new RequestBody(this.exchange, checksums, expected, authentication.createDecoder())
    return this.#body
  }

  /** Bound functions, because handlers destructure requests. */
  get isAllowed(): S3Request['isAllowed'] {
    return (action, bucket, key, versionId) => this.may(action, bucket, key, versionId)
  }

  get prepareAccess(): S3Request['prepareAccess'] {
    return bucket => (this.isRoot ? undefined : this.environment.policy.prepare(bucket))
  }

  get mayCarryTags(): S3Request['mayCarryTags'] {
    return source => this.#mayCarryTags(source)
  }

  get normalizeKey(): S3Request['normalizeKey'] {
    return this.environment.target.normalizeKey
  }

  refuseAcl(level: 'bucket' | 'object'): MaybePromise<void> {
    const { headers, environment } = this
    if (!asksForAcl(headers)) return
    const refuse = () => refuseAcl(headers, level, environment.isAclIgnored)
    const lists = level === 'object' ? environment.attributes.find(one => one.acceptAcl !== undefined) : undefined
    if (lists === undefined) return refuse()
    return chain(lists.acceptAcl!(this), accepted => {
      if (accepted === undefined) return refuse()
      this.#acl = accepted === 'none' ? undefined : accepted
    })
  }

  readAttributes(): ObjectAttributes {
    const { headers, rawHeaders } = this.exchange.request
    let attributes = readAttributes(this.headers, this.headers === headers ? rawHeaders : undefined)
    for (const contributed of this.environment.attributes) {
      const asked = contributed.read(this)
      if (asked !== undefined) attributes = { ...attributes, ...asked }
    }
    return this.#acl === undefined ? attributes : { ...attributes, acl: this.#acl }
  }

  customerKey(purpose: 'object' | 'copy-source'): KeyObject | undefined {
    for (const contributed of this.environment.attributes) {
      const key = contributed.customerKey?.(this, purpose)
      if (key !== undefined) return key
    }
    return undefined
  }

  describeAttributes(version: ObjectVersion): Readonly<Record<string, string>> | undefined {
    this.requireAcl(version, this.query.get('versionId'))
    let headers: Readonly<Record<string, string>> | undefined
    for (const contributed of this.environment.attributes) {
      const shown = contributed.describe(this, version)
      if (shown !== undefined) headers = headers === undefined ? shown : { ...headers, ...shown }
    }
    return headers
  }

  describeWritten(written: WrittenVersion): Promise<Readonly<Record<string, string>> | undefined> {
    return describe(this.environment.attributes, one => one.describeWritten?.(this, written))
  }

  describeUpload(upload: Upload): Promise<Readonly<Record<string, string>> | undefined> {
    return describe(this.environment.attributes, one => one.describeUpload?.(this, upload))
  }

  describePart(upload: Upload): Readonly<Record<string, string>> | undefined {
    let headers: Readonly<Record<string, string>> | undefined
    for (const contributed of this.environment.attributes) {
      const told = contributed.describePart?.(this, upload)
      if (told !== undefined) headers = headers === undefined ? told : { ...headers, ...told }
    }
    return headers
  }

  async takeForm(form: PostForm): Promise<ExpectedDigests> {
    const { iam, isRootDenied, attributeHeaders, checksums } = this.environment
    const authentication = await iam.authenticateForm(form.fields, this.clientAddress)
    await requireRootAccess(isRootDenied, authentication.identity)
    // For a form without a signature, the identity is that of the request's head.
    if (authentication.method === 'form') this.authentication = authentication
    // Facts about the browser come from the head; all attributes of the object come from the form only.
    const { referer, 'user-agent': userAgent } = this.headers
    this.headers = { ...form.headers, referer, 'user-agent': userAgent }
    this.key = form.key
    refuseMissingFeature(form.headers, undefined, attributeHeaders)
    await this.refuseAcl('object')
    const { md5, checksum } = readExpectedPayload(form.headers, this.authentication!, checksums)
    return { md5, checksum }
  }

  may(action: string, bucket: string, key: string, versionId?: string): boolean {
    if (this.isRoot) return true
    const request = this.question(action, bucket, key, versionId)
    // If a policy needs tags that were not fetched, it might deny, so the answer is no.
    if (key !== '' && !this.knowsTags(bucket, key, versionId) && this.needsTags(request)) return false
    const isAllowed = this.environment.policy.isAllowed(request)
    if (!isAllowed) this.refused = request
    return isAllowed
  }

  #mayCarryTags(source: ObjectVersion): boolean {
    if (this.isRoot) return true
    const from = otherSourceOf(this)
    if (from?.carriesTags !== true) return true
    this.#existingTags ??= new ExistingTags(this.environment.objects)
    // The object may have changed since the dispatcher's decision.
    this.#existingTags.note(source, from.versionId)
    return this.may('s3:PutObject', this.bucket, this.key)
  }

  get isRoot(): boolean {
    return this.authentication?.identity?.isRoot === true
  }

  /** The question for the policy engine. */
  question(action: string, bucket: string, key: string, versionId: string | undefined): AccessRequest {
    return {
      identity: this.identity,
      action,
      bucket,
      key,
      conditions: () => requestConditions(factsOf(this, this.#existingTags, bucket, key, versionId)),
      objectAcl: () => this.#existingTags?.acl(bucket, key, versionId),
    }
  }

  needsTags(request: AccessRequest): boolean {
    return this.environment.policy.mentions(request, 's3:existingobjecttag/')
  }

  /** Whether only the access control list of the object could allow the request. */
  needsAcl(request: AccessRequest): boolean {
    const { policy } = this.environment
    const isNeeded = policy.asksObjectAcl(request) && !policy.isAllowed(request)
    this.#readsByAcl ||= isNeeded
    return isNeeded
  }

  requireAcl(version: ObjectVersion, versionId: string | undefined): void {
    if (!this.#readsByAcl) return
    this.#existingTags!.note(version, versionId)
    if (!this.may(readAction(versionId), version.bucket, version.key, versionId)) throw s3Errors.AccessDenied()
  }

  knowsTags(bucket: string, key: string, versionId: string | undefined): boolean {
    return this.#existingTags?.has(bucket, key, versionId) === true
  }

  /** Fetches the tags of an object that a policy needs, and its access control list. */
  fetchTags(bucket: string, key: string, versionId: string | undefined): Promise<void> {
    this.#existingTags ??= new ExistingTags(this.environment.objects)
    return this.#existingTags.fetch(bucket, key, versionId)
  }

  /** Fetches tags and encryption of the upload that is written to. Undefined if no policy needs them. */
  fetchUpload(asked: AccessRequest): Promise<void> | undefined {
    const uploadId = uploadWrittenBy(this)
    if (uploadId === undefined) return undefined
    const { policy } = this.environment
    if (!policy.mentions(asked, 's3:requestobjecttag') && !policy.mentions(asked, encryptionConditions))
      return undefined
    this.#existingTags ??= new ExistingTags(this.environment.objects)
    const { bucket, key, operation } = this
    const orObject = operation === 'CompleteMultipartUpload'
    return this.#existingTags.fetchUpload(this.environment.objects, { bucket, key, uploadId, orObject })
  }

  note(tags: Readonly<Record<string, string>>): void {
    this.#noted = { ...this.#noted, ...tags }
  }

  #auditTags(): S3RequestRecord['tags'] {
    const own = this.tags ?? (this.isOfItems ? this.denialTags() : undefined)
    const tags = this.#noted === undefined ? own : { ...this.#noted, ...own }
    return this.domain === undefined ? tags : { ...tags, distribution: this.domain.distribution }
  }

  /** Tags for the audit record: the rule that denied the last access request. See `PolicyService.denialTags`. */
  denialTags(): Readonly<Record<string, string>> | undefined {
    return this.refused && this.environment.policy.denialTags(this.refused)
  }

  /** The key for a write that requests encryption with a key of the key management, without naming one. */
  get defaultKmsKeyId(): string | undefined {
    return this.environment.attributes.find(({ defaultKmsKeyId }) => defaultKmsKeyId !== undefined)?.defaultKmsKeyId?.()
  }

  /** Whether bytes of the request were not received yet, so that the connection cannot be used for the next request. */
  get hasUnreadBody(): boolean {
    const { headers, complete } = this.exchange.request
    if (complete) return false
    const length = headers['content-length']
    return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
  }

  /** The record for observers. `status` is the status that the client got, 499 if it disconnected first. */
  record(status: number): S3RequestRecord {
    const { exchange, environment } = this
    const durationMs = Number(environment.clock.monotonicNs() - exchange.startedNs) / 1e6
    const url = exchange.request.url!
    const mark = url.indexOf('?')
    return {
      operation: this.operation,
      requestId: this.requestId,
      method: this.method,
      path: mark === -1 ? url : url.slice(0, mark),
      query: mark === -1 ? '' : url.slice(mark + 1),
      bucket: this.bucket,
      key: this.key,
      identity: this.identity,
      clientAddress: exchange.clientAddress,
      userAgent: exchange.request.headers['user-agent'] ?? '',
      status,
      errorCode: this.errorCode,
      tags: this.#auditTags(),
      timeMs: environment.clock.now() - durationMs,
      durationMs,
      receivedBytes: this.#body?.receivedBytes ?? 0,
      sentBytes: this.sentBytes,
      request: exchange.request,
    }
  }
}

/** The headers of all contributions; undefined if there are none. */
async function describe(
  attributes: readonly S3Attribute[],
  ask: (attribute: S3Attribute) => MaybePromise<Readonly<Record<string, string>> | undefined>,
): Promise<Readonly<Record<string, string>> | undefined> {
  const found = (await Promise.all(attributes.map(ask))).filter(headers => headers !== undefined)
  return found.length > 1 ? Object.assign({}, ...found) : found[0]
}

function withoutChecksums(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('x-amz-checksum-')))
}
