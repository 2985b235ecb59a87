/**
 * The S3 protocol. Operations are declared, one per file, and contributed to `s3.operation`. The dispatcher finds the operation,
 * authenticates, authorizes, reads and validates the body, calls `handle`, writes the answer, and then records the request once for
 * metrics, audit and trace. Handlers do none of that.
 */
import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { MaybePromise, ServiceName, Services } from 'svc/kernel'
import type { ChecksumAlgorithm } from 'svc/plugins/checksums/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { Identity } from 'svc/plugins/iam/api'
import type {
  Body,
  CannedAcl,
  ChangeOrigin,
  ExpectedDigests,
  ObjectAttributes,
  ObjectData,
  ObjectVersion,
  Upload,
} from 'svc/plugins/objects/api'
import type { Simulation } from 'svc/plugins/policy/api'
import type { Settings } from 'svc/plugins/settings/api'
import type { ApiSettings } from './api-settings.ts'
import type { PreparedXml } from './xml-writer.ts'

export type { ApiSettings } from './api-settings.ts'
export { requireChecksumAlgorithm } from './checksum-algorithm.ts'
export {
  allowedDeleteConditions,
  allowedRenameConditions,
  allowedWriteConditions,
  checkReadConditions,
  conditionAction,
  readWriteConditions,
} from './conditions.ts'
export { type CopySource, readCopySource, readSourceVersion } from './copy-source.ts'
export { readDocument } from './document-body.ts'
export { s3Errors } from './errors.ts'
export { checksumFields, checksumHeaders, httpDate, isoTime, quoteEtag, unquoteEtag } from './formats.ts'
export { domainKey, serverUrlKey } from './keys.ts'
export { listingText, readListSize, requireEncodingType } from './listing-parameters.ts'
export { metadataHeaders, readAttributes, readStorageClass } from './metadata.ts'
export { type ByteRange, readCopyRange, readRange } from './ranges.ts'
export { readRenameSource } from './rename-source.ts'
export { encryptionInHeaders } from './request-facts.ts'
export { shownVersionId, versionHeader, writtenVersionId } from './version-header.ts'
export { childrenNamed, childText, childTexts, requireShape } from './xml-nodes.ts'
export { readXml } from './xml-reader.ts'
export { escapeXml, PreparedXml } from './xml-writer.ts'

export type Level = 'service' | 'bucket' | 'object'

/**
 * A tree for the XML writer: a string, number or boolean is text, an array repeats the element, undefined omits it. Under the empty name is
 * an array of objects whose elements follow each other, for elements of several names in a given order. A name may have constant attributes
 * after a space, which are written unchanged.
 */
export type XmlValue =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlValue[]
  | PreparedXml
  | { readonly [name: string]: XmlValue }

/** A parsed XML body: each element is an array of nodes in document order, text is unchanged. */
export interface XmlNode {
  readonly name: string
  readonly text: string
  readonly children: readonly XmlNode[]
}

/** The allowed content of an element: text, elements by name, or anything (for elements that the operation answers with 501). */
export type XmlShape = 'text' | 'anything' | { readonly [name: string]: XmlShape }

export interface S3Request {
  readonly requestId: string
  readonly method: string
  /** Empty at service level. */
  readonly bucket: string
  /** Decoded (and normalized, see SVC_KEY_NORMALIZATION); empty at bucket level. */
  readonly key: string
  /** Decoded parameters; a parameter without `=` has an empty value. */
  readonly query: ReadonlyMap<string, string>
  readonly headers: IncomingHttpHeaders
  /** Undefined: anonymous. */
  readonly identity: Identity | undefined
  readonly secure: boolean
  readonly host: string
  readonly clientAddress: string
  /** The user, address and request, for every change of an object. */
  readonly origin: ChangeOrigin
  /** The payload of an operation whose body is a stream. */
  readonly body: Body
  /** The checksum algorithm that the client announced in a header or trailer; known before the body. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  /** The root element of an XML body; undefined for an empty body, if the operation allows one. */
  readonly xml: XmlNode | undefined
  /** For resources other than that of the request: the source of a copy, each key of a bulk delete. */
  isAllowed(action: string, bucket: string, key: string, versionId?: string): boolean
  /**
   * To be awaited before `isAllowed` for a bucket that is not that of the request: then the decision includes every acknowledged change.
   */
  prepareAccess(bucket: string): MaybePromise<void>
  /**
   * Whether the request may write its object with the tags of the source of a copy or rename: policies have conditions on written tags,
   * also if they come from the source. True if the request itself sets the tags.
   */
  mayCarryTags(source: ObjectVersion): boolean
  /**
   * Throws, or rejects, if headers request an access control list that differs from the existing permissions, unless the settings ignore
   * it. If lists of objects are on, the list is accepted, and `readAttributes` returns it.
   */
  refuseAcl(level: 'bucket' | 'object'): MaybePromise<void>
  /** The attributes of an object in the headers of a write: the common ones, and those that plugins contribute to `s3.attribute`. */
  readAttributes(): ObjectAttributes
  /**
   * Throws AccessDenied if only the access control list of an object can allow the read, and the list of the version that was found does
   * not: another version may have been written meanwhile. `describeAttributes` calls it for the object of the request.
   */
  requireAcl(version: ObjectVersion, versionId: string | undefined): void
  /** The customer's key for the object of the request, or for the source of its copy; undefined if the request has none. */
  customerKey(purpose: 'object' | 'copy-source'): KeyObject | undefined
  /** Headers of a read's answer with contributed attributes. Throws if the request lacks the right customer's key. */
  describeAttributes(version: ObjectVersion): Readonly<Record<string, string>> | undefined
  /** Headers of a write's answer about the written version. */
  describeWritten(written: WrittenVersion): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Headers of the answers to CreateMultipartUpload and ListParts about the upload. */
  describeUpload(upload: Upload): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Headers of the answers to UploadPart and UploadPartCopy about the upload. */
  describePart(upload: Upload): Readonly<Record<string, string>> | undefined
  /** To be called by operations with `authorization: 'form'`; see there. Returns the expected digests of the file from the form. */
  takeForm(form: PostForm): MaybePromise<ExpectedDigests>
  /** Normalizes a key, prefix or marker from elsewhere than the path, according to SVC_KEY_NORMALIZATION. */
  normalizeKey(key: string): string
  /** Adds tags to the audit record of this request. */
  note(tags: Readonly<Record<string, string>>): void
}

/** The known fields of a version right after it was written. */
export type WrittenVersion = Pick<ObjectVersion, 'bucket' | 'key' | 'modifiedMs' | 'sizeBytes' | 'tags' | 'encryption'>

/** A POST form, whose fields replace the head of other requests. */
export interface PostForm {
  /** By lower-case name, unchanged: the signature covers these. */
  readonly fields: ReadonlyMap<string, string>
  readonly key: string
  /**
   * Fields that stand for headers, by the header's name; one character for each byte. They replace the request's own headers, except
   * `referer` and `user-agent`.
   */
  readonly headers: IncomingHttpHeaders
}

/** The result of a handler; the declaration's `reply` determines which fields are used. */
export interface S3Result {
  /** Must be listed in the declaration's `statuses`. Default: the declared status. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | number | undefined>>
  readonly xml?: XmlValue
  readonly data?: ObjectData
  /** For `data`, and for answers to HEAD. */
  readonly sizeBytes?: number
}

export type BodyKind =
  | { readonly kind: 'none' }
  | { readonly kind: 'stream' }
  | {
      readonly kind: 'xml'
      readonly root: string
      /**
       * The allowed content of the root. Other elements are refused with MalformedXML before the handler is called: an ignored element
       * could have been one that restricts the request. Absent only if the handler itself refuses them as strictly.
       */
      readonly elements?: Readonly<Record<string, XmlShape>>
      readonly maxBytes: number
      /** Maximum number of elements, including the root; default 4000. */
      readonly elementsMax?: number
      readonly optional?: boolean
      readonly checksumRequired?: boolean
      /** The checksum headers are about the resulting object, not about this body. */
      readonly checksumOf?: 'object'
    }

export interface S3OperationDeclaration {
  /** The name on AWS. */
  readonly name: string
  readonly summary: string
  readonly match: {
    readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'OPTIONS'
    readonly level: Level
    /** Parameters that must be present; `name=value` requires this value. */
    readonly query?: readonly string[]
    /** A header that must be present. */
    readonly header?: string
  }
  /** The policy action; undefined only if everybody may call the operation. */
  readonly action: string | undefined
  /** The action that replaces it if the request has a version id. */
  readonly versionedAction?: string
  /**
   * `items`: the dispatcher only refuses anonymous requests, and the handler calls `isAllowed` for each item, because some may be allowed
   * and others not. `form`: the body has credentials, key and headers; the handler passes them to `takeForm`, which refuses features that
   * are not built, and then calls `isAllowed`. Default: the dispatcher decides.
   */
  readonly authorization?: 'items' | 'form'
  /** Parameters that the operation reads, although alone they would select another operation. */
  readonly parameters?: readonly string[]
  /** Lower-case request headers whose feature the operation itself implements: they are not refused as not built. */
  readonly features?: readonly string[]
  /** The answer may take long: then the dispatcher sends 200 and white space, and an error is sent as the document. */
  readonly isSlow?: boolean
  readonly body: BodyKind
  readonly reply:
    | { readonly kind: 'empty'; readonly status: number }
    | { readonly kind: 'xml'; readonly root: string }
    | { readonly kind: 'data' }
  /** Other success statuses that the handler may return (206, 304). */
  readonly statuses?: readonly number[]
  /** Error codes of this operation, in addition to those of all operations. */
  readonly errors: readonly string[]
}

export interface S3Operation extends S3OperationDeclaration {
  before?(request: S3Request): MaybePromise<void>
  handle(request: S3Request): S3Result | Promise<S3Result>
}

/** An operation that a plugin lists in `contributes`: it gets its services when the plugin is set up. */
export interface S3OperationDefinition<Uses extends ServiceName> extends S3OperationDeclaration {
  /** Services that `before` and `handle` need. */
  readonly uses?: readonly Uses[]
  /** Called when the request is allowed and before its body is read; throws if the request fails whatever the body is. */
  before?(request: S3Request, services: Pick<Services, Uses>): MaybePromise<void>
  handle(request: S3Request, services: Pick<Services, Uses>): S3Result | Promise<S3Result>
}

export function defineS3Operation<const Uses extends ServiceName = never>(
  definition: S3OperationDefinition<Uses>,
): S3OperationDefinition<Uses> {
  return Object.freeze(definition)
}

/** The source of attributes of a write: an S3 request, or another request with the same headers. */
export type AttributeRequest = Pick<S3Request, 'bucket' | 'key' | 'headers' | 'isAllowed'> & {
  /** Undefined if customers' keys are not accepted. */
  readonly secure?: boolean
}

/** A host that is one bucket: the whole path of a request is the key. */
export interface BucketDomain {
  readonly bucket: string
  /** Condition keys `svc:distribution` and `svc:host`, and a tag of audit records. */
  readonly distribution: string
  readonly host: string
  /** Requests without credentials are refused, whatever policies allow. */
  readonly refusesAnonymous?: boolean
  /** Answered instead: somebody has refused the request before S3 saw it. */
  readonly refusal?: Error
  /** Called with the record that the observers get. Must not throw. */
  readonly onRecord?: (record: S3RequestRecord) => void
}

export interface S3Rehearsal {
  /** Whose credentials count as verified; undefined is anonymous. */
  readonly identity: Identity | undefined
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

export interface RehearsedAnswer {
  /** `Unknown` where no operation was found. */
  readonly operation: string
  readonly key: string
  /** 200 for what would be done, whatever the operation itself answers. */
  readonly status: number
  /** Code of the error; undefined for 200. */
  readonly errorCode: string | undefined
  /** The decision of policies, rules and lists; undefined where they were not asked. */
  readonly decision: Simulation | undefined
}

/** For other protocols that write the same objects. */
export interface S3Service {
  /**
   * Answers a request to a host that is a bucket, with its records. Nothing of another bucket can be named: sources of copies, too, are of
   * this one. From `start` on.
   */
  serveBucket(exchange: Exchange, domain: BucketDomain): void
  /** How such a request would be answered. Nothing is done, sent or counted. From `start` on. */
  rehearseBucket(exchange: Exchange, domain: BucketDomain, rehearsal: S3Rehearsal): Promise<RehearsedAnswer>
  /**
   * The attributes of an object in headers, as PutObject reads them: the common ones, and those that plugins contribute to `s3.attribute`.
   * Throws the errors of PutObject, and NotImplemented for features of plugins that are not loaded.
   */
  readAttributes(request: AttributeRequest): ObjectAttributes
  /**
   * The key of the key management that a write with these headers uses although it names none. Undefined if it names one, or asks for no
   * such encryption. Policies decide by it.
   */
  unnamedKmsKey(headers: IncomingHttpHeaders): string | undefined
  /** The address of the S3 API for clients, without a slash at the end: SVC_SERVER_URL, otherwise from the host of this request. */
  endpointFor(exchange: Pick<Exchange, 'host' | 'secure'>): string
  /** The subsystem `api` of the settings. */
  readonly apiSettings: Settings<ApiSettings>
  /** Whether the credentials belong to root while `root_access` is off: then their requests are refused. */
  isRootDenied(identity: Identity | undefined): MaybePromise<boolean>
}

/** Attributes of objects that a feature adds: the headers that set them in writes and show them in reads. */
export interface S3Attribute {
  /** Lower-case headers of writes; without this contribution they are refused as not built. */
  readonly headers: readonly string[]
  /** The attributes in the headers of a write; undefined if there are none. Throws the error for invalid headers. */
  read(request: AttributeRequest): Partial<ObjectAttributes> | undefined
  /** Headers of the answer to GetObject and HeadObject. Called for every read, so it should return early without attributes. */
  describe(request: S3Request, version: ObjectVersion): Readonly<Record<string, string>> | undefined
  /** For plugins with customers' keys: see `S3Request.customerKey`. Throws the error for invalid headers. */
  customerKey?(request: S3Request, purpose: 'object' | 'copy-source'): KeyObject | undefined
  /** For plugins with keys of the key management: the key for a write that requests one without naming it. */
  defaultKmsKeyId?(): string | undefined
  /**
   * The access control list in the headers, if lists are on in the bucket: `none` for a list that allows nothing. Undefined if lists are
   * off. Throws, or rejects, for a list that is refused.
   */
  acceptAcl?(request: S3Request): MaybePromise<CannedAcl | 'none' | undefined>
  /** Headers of the answer to PutObject, CopyObject, CompleteMultipartUpload and PostObject. */
  describeWritten?(
    request: S3Request,
    written: WrittenVersion,
  ): MaybePromise<Readonly<Record<string, string>> | undefined>
  /**
   * Headers of the answers to CreateMultipartUpload and ListParts. Throws if the request has a wrong customer's key; operations that return
   * checksums of parts call it first.
   */
  describeUpload?(request: S3Request, upload: Upload): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Headers of the answers to UploadPart and UploadPartCopy. */
  describePart?(request: S3Request, upload: Upload): Readonly<Record<string, string>> | undefined
}

/**
 * Headers for every answer, including errors, to a request with the header `Origin`: names and values in turn. Called before the request is
 * authenticated, and not for requests without that header.
 */
export type OriginAnswer = (request: OriginRequest) => MaybePromise<readonly string[] | undefined>

export interface OriginRequest {
  readonly origin: string
  /** The method and headers of the preflight. For another request its own ones, because they select the rule. */
  readonly asked: { readonly method: string; readonly headers: string | undefined } | undefined
  readonly method: string
  /** Empty at service level. The bucket may not exist. */
  readonly bucket: string
}

/**
 * A page for people instead of the document of an error, for requests that a browser made of a link. Undefined for every other request: S3
 * clients read the document. The status and the headers stay. Must not throw.
 */
export type ErrorPage = (request: FailedRequest) => string | undefined

export interface FailedRequest {
  readonly method: string
  /** Path and query, as received. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly status: number
  /** The error code of S3. */
  readonly code: string
  readonly requestId: string
}

/** One finished request. Observers are called once after the answer; they must not throw. */
export interface S3RequestRecord {
  readonly operation: string
  readonly requestId: string
  readonly method: string
  readonly path: string
  /** Raw query without its question mark; audit and trace redact credentials in it. */
  readonly query?: string
  readonly bucket: string
  readonly key: string
  readonly identity: Identity | undefined
  readonly clientAddress: string
  readonly userAgent: string
  readonly status: number
  readonly errorCode: string | undefined
  /** Of a refused request `throttled`, `claimedAccessKey` (partial) and others (`auditTagsOf`); what the operation noted. */
  readonly tags?: Readonly<Record<string, string>>
  /** Milliseconds since 1970 when the request arrived. */
  readonly timeMs: number
  readonly durationMs: number
  readonly receivedBytes: number
  readonly sentBytes: number
  /** The request itself, for rare facts: other headers, the connection. Its body has ended. */
  readonly request?: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'socket'>
}

/**
 * Another AWS service on the same listener. Its requests are forms (`POST /`, `application/x-www-form-urlencoded`) that are signed for that
 * service. The dispatcher reads and verifies the form and writes the result; source: AWS "Making query requests".
 */
export interface S3QueryApi {
  /** The service in credential scopes: `sts`. */
  readonly service: string
  /** The namespace of its documents. */
  readonly namespace: string
  /** The value of the parameter `Version`. */
  readonly version: string
  /** By the parameter `Action`. Each resolves with the content of `<ActionResult>`, or rejects with catalogue errors. */
  readonly actions: ReadonlyMap<string, (request: QueryApiRequest) => MaybePromise<XmlValue>>
}

export interface QueryApiRequest {
  readonly identity: Identity
  /** Without `Action` and `Version`. */
  readonly parameters: ReadonlyMap<string, string>
}

declare module 'svc/kernel' {
  interface Services {
    s3: S3Service
  }
  interface Listed<Uses extends ServiceName> {
    's3.operation': S3OperationDefinition<Uses>
  }
  interface ExtensionPoints {
    's3.operation': S3Operation
    /** Another service whose requests are forms. One plugin. */
    's3.query-api': S3QueryApi
    's3.attribute': S3Attribute
    /** Observers of finished requests: metrics, audit, trace. */
    's3.observer': (record: S3RequestRecord) => void
    /** Headers of answers to pages of other origins. */
    's3.origin-answer': OriginAnswer
    /** A page for browsers that open a link which does not work. One plugin. */
    's3.error-page': ErrorPage
  }
}
