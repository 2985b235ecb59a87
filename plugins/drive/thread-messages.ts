/** What travels between the thread that owns the drive and the workers. */
import { CatalogError } from 'svc/kernel'

export const message = {
  attach: 'drive.attach',
  execute: 'drive.execute',
  get: 'drive.get',
  counter: 'drive.counter',
  flush: 'drive.flush',
  status: 'drive.status',
  forgetSegment: 'drive.forgetSegment',
} as const

export interface Attachment {
  readonly path: string
  readonly state: SharedArrayBuffer
  /** For this worker's bodies. */
  readonly arena: SharedArrayBuffer
  readonly startMs: number
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
