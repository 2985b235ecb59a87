/**
 * What observers are told of changes, inside the commit that makes them: what an observer writes becomes durable with the change, or
 * neither does. Buckets that nobody wants to hear of cost a question.
 */
import type { Transaction } from 'svc/plugins/storage/api'
import type { VersionChange } from './api.ts'
import { decodeVersion, type StoredVersion } from './record.ts'

/** Who caused a change, and from where: kept with what is told of it, and never looked at here. */
export interface ChangeOrigin {
  /** Name of the user; empty for anonymous requests. */
  readonly principalId: string
  /** Without port; empty where it came from no request. */
  readonly sourceAddress: string
  readonly requestId: string
  /** At most 512 characters. */
  readonly userAgent: string
}

export type ObjectEventName =
  | 'ObjectCreated:Put'
  | 'ObjectCreated:Post'
  | 'ObjectCreated:Copy'
  | 'ObjectCreated:CompleteMultipartUpload'
  | 'ObjectRemoved:Delete'
  | 'ObjectRemoved:DeleteMarkerCreated'
  | 'ObjectTagging:Put'
  | 'ObjectTagging:Delete'
  | 'ObjectRetention:Put'
  | 'ObjectLegalHold:Put'
  | 'LifecycleExpiration:Delete'
  | 'LifecycleExpiration:DeleteMarkerCreated'
  | 'ReducedRedundancyLostObject'

export interface ObjectEvent {
  readonly name: ObjectEventName
  readonly bucket: string
  readonly key: string
  /** As S3 shows it; undefined where versioning is off. */
  readonly versionId: string | undefined
  /** The version as it is now; undefined where it went, and for delete markers. Decoded when it is asked for: ask once. */
  version(): StoredVersion | undefined
  readonly origin: ChangeOrigin
}

/** Runs in the storage thread, under the commit lock: synchronous, without I/O, and fast. A throw undoes the change. */
export interface ObjectObserver {
  /** Asked before an event is put together. */
  wants(bucket: string): boolean
  /**
   * Once for each change, in their order. A procedure may be run again after a commit that failed, so that nothing but the
   * transaction may remember what was told.
   */
  observe(tx: Transaction, event: ObjectEvent): void
}

/** As it crosses to the storage thread: one string costs less than an object of four. */
export type PackedOrigin = string

const userAgentLengthMax = 512
const separator = '\n'

/** For changes that no request asked for. */
const serverOrigin: ChangeOrigin = { principalId: 'svc', sourceAddress: '', requestId: '', userAgent: '' }

/** What a request of any protocol says of itself. */
export function changeOrigin(request: {
  readonly identity: { readonly accessKey: string; readonly userName?: string } | undefined
  readonly clientAddress: string
  readonly requestId: string
  readonly userAgent: string | undefined
}): ChangeOrigin {
  const { identity, clientAddress, requestId, userAgent = '' } = request
  return {
    principalId: identity === undefined ? '' : (identity.userName ?? identity.accessKey),
    sourceAddress: clientAddress,
    requestId,
    userAgent: userAgent.length > userAgentLengthMax ? userAgent.slice(0, userAgentLengthMax) : userAgent,
  }
}

export function packOrigin(origin: ChangeOrigin | undefined): PackedOrigin | undefined {
  if (origin === undefined) return undefined
  const { principalId, sourceAddress, requestId, userAgent } = origin
  // The last may hold anything.
  return principalId + separator + sourceAddress + separator + requestId + separator + userAgent
}

function unpackOrigin(packed: PackedOrigin | undefined): ChangeOrigin {
  if (packed === undefined) return serverOrigin
  const [principalId = '', sourceAddress = '', requestId = '', ...rest] = packed.split(separator)
  return { principalId, sourceAddress, requestId, userAgent: rest.join(separator) }
}

/** How procedures tell observers. `tell` is asked for only where `wants` said so. */
export interface ObjectEvents {
  wants(bucket: string): boolean
  /** `value`: the record of the version, where one is there. */
  tell(
    tx: Transaction,
    event: Omit<ObjectEvent, 'origin' | 'version'>,
    origin: PackedOrigin | undefined,
    value?: Uint8Array,
  ): void
}

export function createObjectEvents(observers: () => readonly ObjectObserver[]): ObjectEvents {
  return {
    wants(bucket) {
      for (const observer of observers()) if (observer.wants(bucket)) return true
      return false
    },
    tell(tx, { name, bucket, key, versionId }, origin, value) {
      const event: ObjectEvent = {
        name,
        bucket,
        key,
        versionId,
        version: () => (value === undefined ? undefined : decodeVersion(bucket, key, { value, body: undefined })),
        origin: unpackOrigin(origin),
      }
      for (const observer of observers()) if (observer.wants(bucket)) observer.observe(tx, event)
    },
  }
}

/** The events of a change in place; a change of the data key alone is none. */
export function eventsOfChange({ tags, retention, legalHold }: VersionChange): readonly ObjectEventName[] {
  const names: ObjectEventName[] = []
  if (tags !== undefined) names.push(Object.keys(tags).length === 0 ? 'ObjectTagging:Delete' : 'ObjectTagging:Put')
  if (retention !== undefined) names.push('ObjectRetention:Put')
  if (legalHold !== undefined) names.push('ObjectLegalHold:Put')
  return names
}
