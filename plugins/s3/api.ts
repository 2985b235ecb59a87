/**
 * The S3 protocol: operations are declared, one per file, and contributed to `s3.operation`. The dispatcher finds the
 * operation, authenticates, authorizes, reads and validates the body, calls `handle`, writes the answer, and then writes
 * metrics, audit record and trace, once. A handler knows none of that.
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
export { listingText, readListSize, requireEncodingType } from './listing-parameters.ts'
export { metadataHeaders, readAttributes, readStorageClass } from './metadata.ts'
export { type ByteRange, readCopyRange, readRange } from './ranges.ts'
export { readRenameSource } from './rename-source.ts'
export { shownVersionId, versionHeader, writtenVersionId } from './version-header.ts'
export { childrenNamed, childText, childTexts, requireShape } from './xml-nodes.ts'
export { readXml } from './xml-reader.ts'
export { escapeXml, PreparedXml } from './xml-writer.ts'

export type Level = 'service' | 'bucket' | 'object'

/**
 * A tree for the XML writer: a string, number or boolean is text, an array repeats the element, undefined leaves it out. Under the
 * empty name lies an array of objects whose elements follow each other, where elements of several names have one order. A name
 * may carry constant attributes behind a space; they are written as they stand.
 */
export type XmlValue =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlValue[]
  | PreparedXml
  | { readonly [name: string]: XmlValue }

/** A parsed XML body: every element an array of nodes in document order, text exactly as it came. */
export interface XmlNode {
  readonly name: string
  readonly text: string
  readonly children: readonly XmlNode[]
}

/** What an element may hold: text, elements by name, or what the operation answers as not built, whatever it is. */
export type XmlShape = 'text' | 'anything' | { readonly [name: string]: XmlShape }

export interface S3Request {
  readonly requestId: string
  readonly method: string
  /** Empty at service level. */
  readonly bucket: string
  /** Decoded (and normalized, see SVC_KEY_NORMALIZATION); empty at bucket level. */
  readonly key: string
  /** Decoded parameters; a parameter without `=` has the empty string. */
  readonly query: ReadonlyMap<string, string>
  readonly headers: IncomingHttpHeaders
  /** Undefined: anonymous. */
  readonly identity: Identity | undefined
  readonly secure: boolean
  readonly host: string
  readonly clientAddress: string
  /** Who asks, and from where: for every change of an object. */
  readonly origin: ChangeOrigin
  /** The payload of an operation whose body is a stream. */
  readonly body: Body
  /** Algorithm of the payload's checksum that the client announced by header or trailer; known before the body. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  /** The root element of an operation whose body is XML; undefined when the body was empty and may be. */
  readonly xml: XmlNode | undefined
  /** For what a request touches beside its own resource: the source of a copy, each key of a bulk delete. */
  isAllowed(action: string, bucket: string, key: string, versionId?: string): boolean
  /** To be waited for before `isAllowed` is asked about a bucket that the request does not name: then every acknowledged change counts. */
  prepareAccess(bucket: string): MaybePromise<void>
  /**
   * Whether the request may write its object with the tags of a source that it copies or renames: policies have conditions on what is
   * written, whoever named it. True where the request names the tags itself.
   */
  mayCarryTags(source: ObjectVersion): boolean
  /**
   * Throws, or rejects, where headers ask for an access control list that does not hold anyway and is not to be ignored. Where lists of
   * objects are on, it is accepted instead, and `readAttributes` has it.
   */
  refuseAcl(level: 'bucket' | 'object'): MaybePromise<void>
  /** What a write's headers say of the object: what every object has, and what is contributed to `s3.attribute`. */
  readAttributes(): ObjectAttributes
  /**
   * Throws AccessDenied where nothing but the access control list of an object allows to read it, and that of the version that was found
   * does not: another may have been written meanwhile. `describeAttributes` asks this for the object of the request.
   */
  requireAcl(version: ObjectVersion, versionId: string | undefined): void
  /** The key that a customer sent for the object of the request, or for the source of its copy; undefined where none was sent. */
  customerKey(purpose: 'object' | 'copy-source'): KeyObject | undefined
  /** Headers of a read's answer that tell of contributed attributes. Throws where the request may not read without another key. */
  describeAttributes(version: ObjectVersion): Readonly<Record<string, string>> | undefined
  /** Headers of a write's answer that tell of what it made. */
  describeWritten(written: WrittenVersion): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Headers of the answers to CreateMultipartUpload and ListParts that tell of the upload. */
  describeUpload(upload: Upload): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Headers of the answers to UploadPart and UploadPartCopy that tell of the upload. */
  describePart(upload: Upload): Readonly<Record<string, string>> | undefined
  /** The dispatcher's part of an operation whose `authorization` is `form`: see there. Returns what the form claims of its file. */
  takeForm(form: PostForm): MaybePromise<ExpectedDigests>
  /** Brings a key, prefix or marker that came otherwise than in the path into the form of SVC_KEY_NORMALIZATION. */
  normalizeKey(key: string): string
}

/** What is known of a version right after it was written. */
export type WrittenVersion = Pick<ObjectVersion, 'bucket' | 'key' | 'modifiedMs' | 'sizeBytes' | 'tags' | 'encryption'>

/** A form says in its fields what other requests say in their head. */
export interface PostForm {
  /** By lower-case name, as they came: the signature is verified over these. */
  readonly fields: ReadonlyMap<string, string>
  readonly key: string
  /** Fields that stand for headers, by the header's name; a character for each byte. They replace the request's own, but for `referer` and `user-agent`. */
  readonly headers: IncomingHttpHeaders
}

/** What a handler returns; the declaration's `reply` says which parts it uses. */
export interface S3Result {
  /** Only where the declaration lists it in `statuses`; otherwise the declared status. */
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
       * What the root may hold. Whatever else stands there is refused with MalformedXML before the handler: what nobody reads may be all
       * that narrows a request. Left out only where the handler refuses it as exactly.
       */
      readonly elements?: Readonly<Record<string, XmlShape>>
      readonly maxBytes: number
      /** All elements together, the root among them; default 4000. */
      readonly elementsMax?: number
      readonly optional?: boolean
      readonly checksumRequired?: boolean
      /** The checksum headers tell of an object that results, not of this body. */
      readonly checksumOf?: 'object'
    }

export interface S3OperationDeclaration {
  /** The AWS name. */
  readonly name: string
  readonly summary: string
  readonly match: {
    readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'OPTIONS'
    readonly level: Level
    /** Parameters that must be present; `name=value` wants that value. */
    readonly query?: readonly string[]
    /** Header that must be present. */
    readonly header?: string
  }
  /** The policy action; undefined only where the operation is for everyone. */
  readonly action: string | undefined
  /** The action that replaces it when the request names a version. */
  readonly versionedAction?: string
  /**
   * `items`: the dispatcher only refuses anonymous requests, and the handler asks `isAllowed` for each item, because some
   * may be allowed and others not. `form`: the body says who asks, for which key and with which headers; the handler tells
   * the dispatcher by `takeForm`, which refuses what is not built, and then asks `isAllowed`. Default: the dispatcher decides.
   */
  readonly authorization?: 'items' | 'form'
  /** Parameters that the operation reads and that, alone, would mean another operation. */
  readonly parameters?: readonly string[]
  /** Lower-case request headers whose feature the operation itself serves: they are not refused as not built. */
  readonly features?: readonly string[]
  /** The answer may take long: the dispatcher then sends 200 and white space, and an error becomes the document. */
  readonly isSlow?: boolean
  readonly body: BodyKind
  readonly reply:
    | { readonly kind: 'empty'; readonly status: number }
    | { readonly kind: 'xml'; readonly root: string }
    | { readonly kind: 'data' }
  /** Other statuses of success that the handler may choose (206, 304). */
  readonly statuses?: readonly number[]
  /** Codes that the operation may answer, beside those of every operation. */
  readonly errors: readonly string[]
}

export interface S3Operation extends S3OperationDeclaration {
  before?(request: S3Request): MaybePromise<void>
  handle(request: S3Request): S3Result | Promise<S3Result>
}

/** An operation that a plugin lists in `contributes`: its services are given when the plugin is set up. */
export interface S3OperationDefinition<Uses extends ServiceName> extends S3OperationDeclaration {
  /** Services that `before` and `handle` need. */
  readonly uses?: readonly Uses[]
  /** Runs when the request is allowed and its body is still unread; throws where nothing in the body could make it succeed. */
  before?(request: S3Request, services: Pick<Services, Uses>): MaybePromise<void>
  handle(request: S3Request, services: Pick<Services, Uses>): S3Result | Promise<S3Result>
}

export function defineS3Operation<const Uses extends ServiceName = never>(
  definition: S3OperationDefinition<Uses>,
): S3OperationDefinition<Uses> {
  return Object.freeze(definition)
}

/** What the attributes of a write are read from: an S3 request, or another one that says the same in the same headers. */
export type AttributeRequest = Pick<S3Request, 'bucket' | 'key' | 'headers' | 'isAllowed'> & {
  /** Undefined where keys of customers are not taken. */
  readonly secure?: boolean
}

/** For other protocols that write the same objects. */
export interface S3Service {
  /**
   * What headers say of an object, as PutObject reads them: what every object has, and what is contributed to `s3.attribute`. Throws
   * what PutObject would answer, NotImplemented for what no loaded plugin does.
   */
  readAttributes(request: AttributeRequest): ObjectAttributes
  /** Where clients reach the S3 API, without a slash at the end: SVC_SERVER_URL, else the host that this request came to. */
  endpointFor(exchange: Pick<Exchange, 'host' | 'secure'>): string
  /** The subsystem `api` of the settings. */
  readonly apiSettings: Settings<ApiSettings>
  /** Whether these are credentials of root while `root_access` is off: nothing that they sign is served. */
  isRootDenied(identity: Identity | undefined): MaybePromise<boolean>
}

/** Attributes of objects that a feature adds: the headers that set them in writes and show them in reads. */
export interface S3Attribute {
  /** Lower-case headers of writes; without this contribution they are refused as not built. */
  readonly headers: readonly string[]
  /** What the headers of a write ask for; undefined where they ask for nothing. Throws what is the answer to wrong ones. */
  read(request: AttributeRequest): Partial<ObjectAttributes> | undefined
  /** Headers of the answer to GetObject and HeadObject; called for every read, so look before you build. */
  describe(request: S3Request, version: ObjectVersion): Readonly<Record<string, string>> | undefined
  /** Where the plugin knows keys of customers: see `S3Request.customerKey`. Throws what is the answer to wrong ones. */
  customerKey?(request: S3Request, purpose: 'object' | 'copy-source'): KeyObject | undefined
  /** Where the plugin knows keys of the key management: the one of a write that asks for such a key and names none. */
  defaultKmsKeyId?(): string | undefined
  /**
   * The access control list that the headers ask for, where lists are on in the bucket: `none` for one that grants nothing. Undefined
   * where they are off. Throws, or rejects, for one that is refused.
   */
  acceptAcl?(request: S3Request): MaybePromise<CannedAcl | 'none' | undefined>
  /** Headers of the answer to PutObject, CopyObject, CompleteMultipartUpload and PostObject. */
  describeWritten?(
    request: S3Request,
    written: WrittenVersion,
  ): MaybePromise<Readonly<Record<string, string>> | undefined>
  /**
   * Headers of the answers to CreateMultipartUpload and ListParts. Throws where a customer's key comes that is not that of the upload;
   * whoever tells checksums of a part, or of all together, asks this first.
   */
  describeUpload?(request: S3Request, upload: Upload): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Headers of the answers to UploadPart and UploadPartCopy. */
  describePart?(request: S3Request, upload: Upload): Readonly<Record<string, string>> | undefined
}

/**
 * Headers for every answer, errors among them, to a request that came from a page of some origin (it has the header `Origin`):
 * names and values in turn. Asked before the request is authenticated; requests without that header do not come here.
 */
export type OriginAnswer = (request: OriginRequest) => MaybePromise<readonly string[] | undefined>

export interface OriginRequest {
  readonly origin: string
  /** What a preflight would ask, where a request that is none has its headers, too: the rule is chosen by them. */
  readonly asked: { readonly method: string; readonly headers: string | undefined } | undefined
  readonly method: string
  /** Empty at service level. Whether it exists is not known. */
  readonly bucket: string
}

/** Called once per finished request, after the answer; must not throw. */
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
  /** Of a refused request: `throttled`, `claimedAccessKey` (in part) and others (`auditTagsOf`). */
  readonly tags?: Readonly<Record<string, string>>
  /** Milliseconds since 1970 when the request arrived. */
  readonly timeMs: number
  readonly durationMs: number
  readonly receivedBytes: number
  readonly sentBytes: number
  /** The request itself, for what is rarely asked: other headers, the connection. Its body is over. */
  readonly request?: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'socket'>
}

/**
 * Another service of AWS on the same listener, whose requests are forms (`POST /`, `application/x-www-form-urlencoded`) that are
 * signed for that service. The dispatcher reads and verifies the form and writes what comes of it; source: AWS "Making query
 * requests".
 */
export interface S3QueryApi {
  /** In credential scopes: `sts`. */
  readonly service: string
  /** Of its documents. */
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
  }
}
