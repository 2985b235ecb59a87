/** What travels between the thread that owns the drive and the workers. */
import { CatalogError } from 'svc/kernel'
import type { PackedEntries } from './cursor.ts'

/** Names within the scope of a drive: see `createThreadScopes`. */
export const message = {
  attach: 'attach',
  execute: 'execute',
  get: 'get',
  counter: 'counter',
  flush: 'flush',
  memtable: 'memtable',
  status: 'status',
  spareBlob: 'spareBlob',
  discardBlob: 'discardBlob',
  forgetSegment: 'forgetSegment',
} as const

export interface Attachment {
  readonly path: string
  readonly driveId: string
  readonly state: SharedArrayBuffer
  /** For this worker's bodies. */
  readonly arena: SharedArrayBuffer
  /** For what this worker reads. */
  readonly pins: SharedArrayBuffer
  readonly marks: SharedArrayBuffer
  readonly startMs: number
  /** Of the folder of blobs: see `Place`. */
  readonly device: number | undefined
}

/** Asks for what the index does not have of start <= key < end. */
export interface MemtableQuestion {
  readonly table: 'records' | 'derived'
  readonly start: Uint8Array
  readonly end: Uint8Array
}

export interface MemtableAnswer {
  /** Positions of the index, as it encodes them, that the entries go with. */
  readonly positions: readonly Uint8Array[]
  readonly entries: PackedEntries
}

/** One turn's changes travel together and are answered together. `body` is copied where the arena had no room; else it lies there. */
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
  /** Where the body went, so that the worker can cache it. */
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
