/**
 * Encodings of what each drive stores about its set: the set document (which drive has which slot), the drive's progress, epochs, and
 * the ring of recent changes. The keys are in set-keys.ts. Slots keep their numbers for ever; paths are not stored.
 */

import { storageErrors } from 'svc/plugins/storage/api'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

export const SetDocument = Type.Object(
  {
    version: Type.Literal(1),
    /** 32 hexadecimal digits. */
    setId: Type.String({ pattern: '^[0-9a-f]{32}$' }),
    parityCount: Type.Integer({ minimum: 0, maximum: 8 }),
    unitBytes: Type.Integer({ minimum: 4096 }),
    slots: Type.Array(
      Type.Object(
        {
          driveId: Type.String(),
          /** 1 to 255; increases with each drive that takes the slot. */
          generation: Type.Integer({ minimum: 1, maximum: 255 }),
        },
        { additionalProperties: false },
      ),
      { minItems: 2, maxItems: 16 },
    ),
  },
  { additionalProperties: false },
)

export type SetDocument = Static<typeof SetDocument>

/** Starts again after 255 replacements of one slot: by then no record mentions the first drive any more. */
export function nextGeneration(generation: number): number {
  return generation === 255 ? 1 : generation + 1
}

export function encodeSetDocument(document: SetDocument): Buffer {
  return Buffer.from(JSON.stringify(document))
}

/** Throws `corrupt`. */
export function decodeSetDocument(bytes: Uint8Array): SetDocument {
  let document: unknown
  try {
    document = JSON.parse(Buffer.from(bytes).toString())
  } catch (error) {
    throw storageErrors.corrupt('The document of the set is not valid JSON.', { cause: error })
  }
  if (!Value.Check(SetDocument, document)) {
    throw storageErrors.corrupt(
      'The document of the set has unknown or invalid fields. A newer release may have written it.',
    )
  }
  if (new Set(document.slots.map(({ driveId }) => driveId)).size < document.slots.length) {
    throw storageErrors.corrupt('The document of the set names a drive twice.')
  }
  return document
}

/** A drive's position in the order of changes of its set. */
export interface Progress {
  /** Epoch of the leader that made the last change: increases with each start and each new leader. */
  readonly epoch: number
  /** Of the last change; numbered without gaps. */
  readonly index: number
  /** Sequence of the last change's transaction: see `Transaction.sequence`. */
  readonly sequence: number
}

export const noProgress: Progress = { epoch: 0, index: 0, sequence: 0 }

const progressBytes = 24

function writeProgress({ epoch, index, sequence }: Progress, bytes: Buffer): void {
  bytes.writeDoubleLE(epoch, 0)
  bytes.writeDoubleLE(index, 8)
  bytes.writeDoubleLE(sequence, 16)
}

export function encodeProgress(progress: Progress): Buffer {
  const bytes = Buffer.allocUnsafe(progressBytes)
  writeProgress(progress, bytes)
  return bytes
}

export function decodeProgress(bytes: Uint8Array): Progress {
  const view = Buffer.from(bytes)
  return { epoch: view.readDoubleLE(0), index: view.readDoubleLE(8), sequence: view.readDoubleLE(16) }
}

export function encodeEpoch(epoch: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleLE(epoch)
  return bytes
}

export function decodeEpoch(bytes: Uint8Array): number {
  return Buffer.from(bytes).readDoubleLE(0)
}

/** Positive if `a` is more advanced. */
export function compareProgress(a: Progress, b: Progress): number {
  return a.epoch - b.epoch || a.index - b.index
}

/** A drive that may lead. */
export interface Candidate {
  readonly progress: Progress
  /** It was catching up: it has more than its progress says. */
  readonly isUnfinished: boolean
}

/** Positive if `a` is the better leader. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return compareProgress(a.progress, b.progress) || Number(b.isUnfinished) - Number(a.isUnfinished)
}

/** One of the recent changes: which keys it wrote. */
export interface RingEntry extends Progress {
  readonly keys: readonly Buffer[]
  /** Id under which the shards of its body were staged; empty if it had none. */
  readonly staged: string
}

export function encodeRingEntry(progress: Progress, keys: readonly Uint8Array[], staged: string): Buffer {
  let size = progressBytes + 1 + staged.length
  for (const key of keys) size += 2 + key.length
  const bytes = Buffer.allocUnsafe(size)
  writeProgress(progress, bytes)
  bytes[progressBytes] = staged.length
  bytes.latin1Write(staged, progressBytes + 1)
  let at = progressBytes + 1 + staged.length
  for (const key of keys) {
    bytes.writeUInt16LE(key.length, at)
    bytes.set(key, at + 2)
    at += 2 + key.length
  }
  return bytes
}

export function decodeRingEntry(value: Uint8Array): RingEntry {
  const bytes = Buffer.from(value)
  const keysStart = progressBytes + 1 + bytes[progressBytes]!
  const keys: Buffer[] = []
  for (let at = keysStart; at < bytes.length; ) {
    const end = at + 2 + bytes.readUInt16LE(at)
    keys.push(bytes.subarray(at + 2, end))
    at = end
  }
  return { ...decodeProgress(bytes), keys, staged: bytes.latin1Slice(progressBytes + 1, keysStart) }
}
