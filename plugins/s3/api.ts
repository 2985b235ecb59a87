/**
 * The S3 protocol: operations are declared, one per file, and contributed to `s3.operation`. The dispatcher finds the
 * operation, authenticates, authorizes, reads and validates the body, calls `handle`, writes the answer, and then writes
 * metrics, audit record and trace, once. A handler knows none of that.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { ServiceName, Services } from 'svc/kernel'
import type { ChecksumAlgorithm } from 'svc/plugins/checksums/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { Body, ObjectData } from 'svc/plugins/objects/api'

export { checkBucketOwner } from './bucket-owner.ts'
export { requireChecksumAlgorithm } from './checksum-algorithm.ts'
export { checkCopyConditions, checkReadConditions, readDeleteConditions, readWriteConditions } from './conditions.ts'
export { type CopySource, readCopySource, requireCopySource } from './copy-source.ts'
export { s3Errors } from './errors.ts'
export { checksumFields, checksumHeaders, httpDate, isoTime, quoteEtag, unquoteEtag } from './formats.ts'
export { listingText, readListSize, requireEncodingType } from './listing-parameters.ts'
export { metadataHeaders, readAttributes, readStorageClass } from './metadata.ts'
export { type ByteRange, readCopyRange, readRange } from './ranges.ts'
export { childrenNamed, childText } from './xml-nodes.ts'

export type Level = 'service' | 'bucket' | 'object'

/** A tree for the XML writer: a string, number or boolean is text, an array repeats the element, undefined leaves it out. */
export type XmlValue =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlValue[]
  | { readonly [name: string]: XmlValue }

/** A parsed XML body: every element an array of nodes in document order, text exactly as it came. */
export interface XmlNode {
  readonly name: string
  readonly text: string
  readonly children: readonly XmlNode[]
}

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
  /** The payload of an operation whose body is a stream. */
  readonly body: Body
  /** Algorithm of the payload's checksum that the client announced by header or trailer; known before the body. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  /** The root element of an operation whose body is XML; undefined when the body was empty and may be. */
  readonly xml: XmlNode | undefined
  /** For what a request touches beside its own resource: the source of a copy, each key of a bulk delete. */
  isAllowed(action: string, bucket: string, key: string): boolean
  /** Brings a key, prefix or marker that came otherwise than in the path into the form of SVC_KEY_NORMALIZATION. */
  normalizeKey(key: string): string
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
      readonly maxBytes: number
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
   * may be allowed and others not. Default: the dispatcher decides.
   */
  readonly authorization?: 'items'
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
  handle(request: S3Request): S3Result | Promise<S3Result>
}

/** An operation whose services are still to be given: `bind` is called once, by the plugin that contributes it. */
export interface S3OperationDefinition<Uses extends ServiceName> extends S3OperationDeclaration {
  handle(request: S3Request, services: Pick<Services, Uses>): S3Result | Promise<S3Result>
}

export function defineS3Operation<Uses extends ServiceName = never>(
  definition: S3OperationDefinition<Uses>,
): S3OperationDefinition<Uses> {
  return Object.freeze(definition)
}

/** Gives an operation its services, for `contribute('s3.operation', definition.name, bindS3Operation(definition, services))`. */
export function bindS3Operation<Uses extends ServiceName>(
  definition: S3OperationDefinition<Uses>,
  services: Pick<Services, Uses>,
): S3Operation {
  return { ...definition, handle: request => definition.handle(request, services) }
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
  /** Milliseconds since 1970 when the request arrived. */
  readonly timeMs: number
  readonly durationMs: number
  readonly receivedBytes: number
  readonly sentBytes: number
}

declare module 'svc/kernel' {
  interface ExtensionPoints {
    's3.operation': S3Operation
    /** Observers of finished requests: metrics, audit, trace. */
    's3.observer': (record: S3RequestRecord) => void
  }
}
