/**
 * Stored events: the facts of the commit, as compact JSON. An entry of a queue also has the id of the rule that matched. Unknown
 * elements at the end are ignored (a later release wrote them).
 */
import type { QueueEntry } from 'svc/plugins/queue/api'
import { type NotifyMessage, PermanentDeliveryError } from './api.ts'
import { createMessage, type KeptEvent, type MessagePlace } from './message.ts'

type Packed = readonly [
  name: string,
  timeMs: number,
  bucket: string,
  key: string,
  sequencer: string,
  versionId: string | null,
  object:
    | readonly [
        sizeBytes: number,
        etag: string,
        contentType: string | null,
        userMetadata: Readonly<Record<string, string>>,
      ]
    | null,
  origin: readonly [principalId: string, sourceAddress: string, requestId: string, userAgent: string],
  configurationId?: string,
]

export function encodeEvent(event: KeptEvent, configurationId?: string): Buffer {
  const { name, timeMs, bucket, key, sequencer, versionId, object, origin } = event
  const packed: Packed = [
    name,
    timeMs,
    bucket,
    key,
    sequencer,
    versionId ?? null,
    object === undefined ? null : [object.sizeBytes, object.etag, object.contentType ?? null, object.userMetadata],
    [origin.principalId, origin.sourceAddress, origin.requestId, origin.userAgent],
  ]
  return Buffer.from(JSON.stringify(configurationId === undefined ? packed : [...packed, configurationId]))
}

/** Throws SyntaxError or TypeError for damaged events. */
export function decodeEvent(bytes: Uint8Array): { readonly event: KeptEvent; readonly configurationId: string } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const [name, timeMs, bucket, key, sequencer, versionId, object, origin, configurationId = ''] = JSON.parse(
    text,
  ) as Packed
  const [principalId, sourceAddress, requestId, userAgent] = origin
  return {
    event: {
      name,
      timeMs,
      bucket,
      key,
      sequencer,
      versionId: versionId ?? undefined,
      object:
        object === null
          ? undefined
          : { sizeBytes: object[0], etag: object[1], contentType: object[2] ?? undefined, userMetadata: object[3] },
      origin: { principalId, sourceAddress, requestId, userAgent },
    },
    configurationId,
  }
}

/** The message of an entry of the queue. An entry that cannot be read becomes a dead letter, so that it does not block later ones. */
export function decodeMessage({ payload }: QueueEntry, place: MessagePlace): NotifyMessage {
  try {
    const { event, configurationId } = decodeEvent(payload)
    return createMessage(event, configurationId, place)
  } catch (cause) {
    throw new PermanentDeliveryError('The event cannot be read.', { cause })
  }
}
