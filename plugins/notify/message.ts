/**
 * The message that goes out, from an event as it is kept. Source: AWS S3 User Guide, "Event message structure"; `EventName`, `Key`,
 * `contentType`, `userMetadata` and `source` are what consumers of another server read beside it.
 */
import type { NotifyMessage } from './api.ts'

/** An event as it is queued: what the commit knew. Everything else of the message is the same for the whole deployment. */
export interface KeptEvent {
  /** Without `s3:`: `ObjectCreated:Put`. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly timeMs: number
  readonly bucket: string
  readonly key: string
  /** See `sequencerOf`. */
  readonly sequencer: string
  /** Undefined where versioning is off. */
  readonly versionId: string | undefined
  /** What is there now; undefined where the event is that something went. */
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

/** What every message of a deployment says alike. */
export interface MessagePlace {
  readonly region: string
  /** Of the root user: every bucket is the deployment's. */
  readonly ownerId: string
  readonly node: string
  readonly deploymentId: string
}

/** The families that came with version 2.3 of the record. */
const laterFamilies = ['LifecycleExpiration:', 'ObjectTagging:', 'ObjectRetention:', 'ObjectLegalHold:']

/**
 * 18 hexadecimal digits that grow with the sequence of commits, and within a commit with the number of the event in it: the later
 * event of a key always has the larger one.
 */
export function sequencerOf(sequence: number, numberInCommit: number): string {
  return (
    sequence.toString(16).padStart(14, '0').toUpperCase() + numberInCommit.toString(16).padStart(4, '0').toUpperCase()
  )
}

/** Whether nothing readable is left of what the event names: whoever keeps a table of objects deletes its row. */
export function isRemoval(name: string): boolean {
  return name.startsWith('ObjectRemoved:') || name.startsWith('LifecycleExpiration:')
}

export function createMessage(event: KeptEvent, configurationId: string, place: MessagePlace): NotifyMessage {
  const { name, bucket, key, sequencer, versionId, object, origin } = event
  const eventTime = new Date(event.timeMs).toISOString()
  const record = {
    eventVersion: laterFamilies.some(family => name.startsWith(family)) ? '2.3' : '2.1',
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

/** As in a form: `+` is a space. Slashes stay, as AWS leaves them. */
function encodeKey(key: string): string {
  // A key is UTF-8, always: nothing in it has no encoding.
  return encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/')
}
