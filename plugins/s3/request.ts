/** One S3 request on its way: what a handler sees of it, and what its record says in the end. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Logger } from 'svc/kernel'
import type { Authentication, AuthSigv4Service } from 'svc/plugins/auth-sigv4/api'
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import type { Body, ObjectsService } from 'svc/plugins/objects/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import type { BodyKind, Level, S3Request, S3RequestRecord, XmlNode } from './api.ts'
import { noBody, RequestBody } from './body.ts'
import { readClaims } from './claims.ts'
import type { DispatchTable } from './dispatch.ts'
import type { Target, TargetOptions } from './target.ts'

/** What every request of the server shares. */
export interface S3Environment {
  readonly authSigv4: AuthSigv4Service
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
  readonly observers: readonly ((record: S3RequestRecord) => void)[]
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
  sentBytes = 0
  /** The answer is over, or the client is gone. */
  isClosed = false
  #body: RequestBody | undefined = undefined
  #checksumAlgorithm: ChecksumAlgorithm | undefined = undefined

  constructor(exchange: Exchange, environment: S3Environment) {
    this.exchange = exchange
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

  get body(): Body {
    return this.#body ?? noBody
  }

  get checksumAlgorithm(): ChecksumAlgorithm | undefined {
    return this.#checksumAlgorithm
  }

  /** Makes the payload readable. Throws when what the headers say of it cannot be. */
  openBody(kind: BodyKind): RequestBody {
    const { checksums } = this.environment
    const authentication = this.authentication!
    const isOfObject = kind.kind === 'xml' && kind.checksumOf === 'object'
    const claims = readClaims(isOfObject ? withoutChecksums(this.headers) : this.headers, authentication, checksums)
    this.#checksumAlgorithm = claims.algorithm
    this.#body = new RequestBody(this.exchange, checksums, claims, authentication.createDecoder())
    return this.#body
  }

  /** Functions of their own, because handlers take requests apart. */
  get isAllowed(): S3Request['isAllowed'] {
    return (action, bucket, key) => this.may(action, bucket, key)
  }

  get normalizeKey(): S3Request['normalizeKey'] {
    return this.environment.target.normalizeKey
  }

  may(action: string, bucket: string, key: string): boolean {
    return this.environment.policy.isAllowed({
      identity: this.identity,
      action,
      bucket,
      key,
      conditions: () => this.#conditions(),
    })
  }

  /** Whether bytes of the request are still to come, so that the connection cannot simply take the next one. */
  get hasUnreadBody(): boolean {
    const { headers, complete } = this.exchange.request
    if (complete) return false
    const length = headers['content-length']
    return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
  }

  /** The record for the observers. `status` is what the client saw, 499 when it went away first. */
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
      timeMs: environment.clock.now() - durationMs,
      durationMs,
      receivedBytes: this.#body?.receivedBytes ?? 0,
      sentBytes: this.sentBytes,
    }
  }

  /** Condition keys of AWS's policy language, for the request as a whole. */
  #conditions(): Record<string, readonly string[]> {
    const { headers, query } = this
    const conditions: Record<string, readonly string[]> = {
      'aws:sourceip': [this.clientAddress],
      'aws:securetransport': [String(this.secure)],
      's3:authtype': [this.authentication?.method === 'presigned' ? 'REST-QUERY-STRING' : 'REST-HEADER'],
    }
    const add = (name: string, value: string | undefined) => {
      if (value !== undefined) conditions[name] = [value]
    }
    add('aws:useragent', headers['user-agent'])
    add('aws:referer', headers.referer)
    for (const name of ['prefix', 'delimiter', 'max-keys'] as const) add(`s3:${name}`, query.get(name))
    add('s3:versionid', query.get('versionId'))
    for (const name in headers) {
      if (name.startsWith('x-amz-')) add(`s3:${name}`, headers[name] as string)
    }
    return conditions
  }
}

function withoutChecksums(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('x-amz-checksum-')))
}
