/**
 * Makes messages from stored events. Source: AWS S3 User Guide, "Event message structure"; `EventName`, `Key`,
 * `contentType`, `userMetadata` and `source` are additions that consumers of another server read.
 */
import type { NotifyMessage } from './api.ts'

/** A stored event: the facts of the commit. The rest of a message is the same for the whole deployment. */
export interface KeptEvent {
  /** Without `s3:`: `ObjectCreated:Put`. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly timeMs: number
  readonly bucket: string
  readonly key: string
  /** See `sequencerOf`. */
  readonly sequencer: string
  /** Undefined while versioning is off. */
  readonly versionId: string | undefined
  /** The new state; undefined for removals. */
  readonly object:
    | {
        readonly sizeBytes: number
        readonly etag: string
        readonly contentType: string | undefined
        readonly userMetadata: Readonly<Record<string, string>>
      }
    | undefined
  readonly origin: {
    readonly principalId: string
    readonly sourceAddress: string
    readonly requestId: string
    readonly userAgent: string
  }
}

/** The facts that all messages of a deployment share. */
export interface MessagePlace {
  readonly region: string
  /** Of the root user: every bucket is the deployment's. */
  readonly ownerId: string
  readonly node: string
  readonly deploymentId: string
}

/** Events that version 2.3 of the record added. */
const laterEvents = ['LifecycleExpiration:', 'ObjectTagging:', 'ObjectRetention:', 'ObjectLegalHold:']

/**
 * 18 hexadecimal digits from the sequence of the commit and the number of the event in it: the later event of a key always has the
 * larger sequencer.
 */
export function sequencerOf(sequence: number, numberInCommit: number): string {
  return (
    sequence.toString(16).padStart(14, '0').toUpperCase() + numberInCommit.toString(16).padStart(4, '0').toUpperCase()
  )
}

/** Whether the named object or version is no longer readable: a table of objects deletes its row. */
export function isRemoval(name: string): boolean {
  return name.startsWith('ObjectRemoved:') || name.startsWith('LifecycleExpiration:')
}

export function createMessage(event: KeptEvent, configurationId: string, place: MessagePlace): NotifyMessage {
  const { name, bucket, key, sequencer, versionId, object, origin } = event
  const eventTime = new Date(event.timeMs).toISOString()
  const record = {
    eventVersion: laterEvents.some(beginning => name.startsWith(beginning)) ? '2.3' : '2.1',
    eventSource: 'aws:s3',
    awsRegion: place.region,
    eventTime,
    eventName: name,
    userIdentity: { principalId: origin.principalId },
    requestParameters: { sourceIPAddress: origin.sourceAddress },
    responseElements: {
      'x-amz-request-id': origin.requestId,
      'x-amz-id-2': place.node,
      'x-svc-deployment-id': place.deploymentId,
    },
    s3: {
      s3SchemaVersion: '1.0',
      configurationId,
      bucket: { name: bucket, ownerIdentity: { principalId: place.ownerId }, arn: `arn:aws:s3:::${bucket}` },
      object: {
        key: encodeKey(key),
        ...(object && { size: object.sizeBytes, eTag: object.etag }),
        ...(versionId !== undefined && { versionId }),
        sequencer,
        ...(object?.contentType !== undefined && { contentType: object.contentType }),
        ...(object && { userMetadata: object.userMetadata }),
      },
    },
    source: { host: origin.sourceAddress, userAgent: origin.userAgent },
  }
  const eventName = `s3:${name}`
  return {
    eventName,
    eventTime,
    bucket,
    key,
    isRemoval: isRemoval(name),
    sequencer,
    record,
    body: Buffer.from(JSON.stringify({ EventName: eventName, Key: `${bucket}/${key}`, Records: [record] })),
  }
}

/** Form encoding: `+` is a space. Slashes stay, as on AWS. */
function encodeKey(key: string): string {
  // Keys are valid UTF-8, so this never throws.
  return encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/')
}
