/** The messages between the storage thread and the workers. They stay within one process, so they have no stable format. */
import { CatalogError } from 'svc/kernel'
import type { PackedEntries } from './memtable-walk.ts'

/** Message names within a drive's scope: see `createThreadScopes`. */
export const message = {
  attach: 'attach',
  execute: 'execute',
  get: 'get',
  counter: 'counter',
  counters: 'counters',
  flush: 'flush',
  memtable: 'memtable',
  status: 'status',
  spareBlob: 'spareBlob',
  discardBlob: 'discardBlob',
  noteDamage: 'noteDamage',
  indexLost: 'indexLost',
  release: 'release',
  forgetSegment: 'forgetSegment',
} as const

export interface Attachment {
  readonly path: string
  readonly driveId: string
  readonly state: SharedArrayBuffer
  /** Memory for the bodies this worker submits. */
  readonly arena: SharedArrayBuffer
  /** Counters of the blobs this worker reads: see `BlobPins`. */
  readonly pins: SharedArrayBuffer
  readonly marks: SharedArrayBuffer
  readonly startMs: number
  /** Device of the blobs folder: see `Place`. */
  readonly device: number | undefined
}

/** Asks for the memtable entries with start <= key < end. */
export interface MemtableQuestion {
  readonly table: 'records' | 'derived'
  readonly start: Uint8Array
  readonly end: Uint8Array
}

export interface MemtableAnswer {
  /** Encoded index positions that the entries may be laid over. */
  readonly positions: readonly Uint8Array[]
  readonly entries: PackedEntries
}

/**
 * The calls of one event-loop turn travel, and are answered, in one message. `body` is a copy when the arena had no room;
 * otherwise it lies in the arena.
 */
export interface ExecuteMessage {
  readonly procedure: string
  readonly args: unknown
  readonly body: Uint8Array | undefined
  readonly bodyOffset: number
  readonly bodySize: number
}

export interface AnswerMessage {
  readonly result: unknown
  readonly error: PackedError | undefined
  /** Where the body was written, so that the worker can cache it. */
  readonly place: { readonly segment: number; readonly offset: number } | undefined
}

/** An error as plain data; structured clone would drop its class. */
export interface PackedError {
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
  readonly status: number | undefined
  readonly extra: Readonly<Record<string, string>> | undefined
}

export function packError(error: unknown): PackedError {
  const { message, stack, code, status, extra } = error as Error & Partial<PackedError>
  const isDeclared = error instanceof CatalogError
  return {
    message: message ?? String(error),
    stack: isDeclared ? undefined : stack,
    code: typeof code === 'string' ? code : undefined,
    status: isDeclared ? status : undefined,
    extra: isDeclared ? extra : undefined,
  }
}

export function unpackError(packed: PackedError): Error {
  if (packed.status !== undefined) {
    return new CatalogError(packed.code!, packed.status, packed.message, { extra: packed.extra })
  }
  const error = new Error(packed.message)
  if (packed.stack !== undefined) error.stack = packed.stack
  return error
}
