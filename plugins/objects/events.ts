/**
 * Events for observers, emitted inside the commit of the change. Guarantee: the records that an observer writes become durable
 * together with the change, or not at all. For a bucket without interested observers the cost is one function call.
 */
import type { Transaction } from 'svc/plugins/storage/api'
import type { VersionChange } from './api.ts'
import { decodeVersion, type StoredVersion } from './record.ts'

/** The cause of a change and its origin. Stored with the event; not interpreted here. */
export interface ChangeOrigin {
  /** User name; empty for anonymous requests. */
  readonly principalId: string
  /** Client address without port; empty if no request was involved. */
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
  /** The version id for S3; undefined while versioning has never been enabled. */
  readonly versionId: string | undefined
  /** The version after the change; undefined if it was removed or is a delete marker. Each call decodes the record. */
  version(): StoredVersion | undefined
  readonly origin: ChangeOrigin
}

/** Runs in the storage thread, under the commit lock: synchronous, without I/O, and fast. A throw rolls back the change. */
export interface ObjectObserver {
  /** Called first, so that events nobody needs are not created. */
  wants(bucket: string): boolean
  /**
   * Called once per change, in commit order. A procedure may run again after a failed commit, so an observer must keep state only
   * in the transaction.
   */
  observe(tx: Transaction, event: ObjectEvent): void
}

/** Packed for the message to the storage thread: one string costs less than an object of four. */
export type PackedOrigin = string

const userAgentLengthMax = 512
const separator = '\n'

/** For changes made by the server itself. */
const serverOrigin: ChangeOrigin = { principalId: 'svc', sourceAddress: '', requestId: '', userAgent: '' }

/** The origin of a request of any protocol. */
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
  // The user agent is last because it may contain the separator.
  return principalId + separator + sourceAddress + separator + requestId + separator + userAgent
}

function unpackOrigin(packed: PackedOrigin | undefined): ChangeOrigin {
  if (packed === undefined) return serverOrigin
  const [principalId = '', sourceAddress = '', requestId = '', ...rest] = packed.split(separator)
  return { principalId, sourceAddress, requestId, userAgent: rest.join(separator) }
}

/** How procedures emit events. They call `tell` only if `wants` returned true. */
export interface ObjectEvents {
  wants(bucket: string): boolean
  /** `value`: the record of the version, if there is one. */
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

/** The events of a change in place. A change of the data key alone has no event. */
export function eventsOfChange({ tags, retention, legalHold }: VersionChange): readonly ObjectEventName[] {
  const names: ObjectEventName[] = []
  if (tags !== undefined) names.push(tags.size === 0 ? 'ObjectTagging:Delete' : 'ObjectTagging:Put')
  if (retention !== undefined) names.push('ObjectRetention:Put')
  if (legalHold !== undefined) names.push('ObjectLegalHold:Put')
  return names
}
