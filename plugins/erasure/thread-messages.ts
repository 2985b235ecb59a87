/** Messages and shared memory between the storage thread and the worker threads of a set. */
import type { ExecuteOptions } from 'svc/plugins/storage/api'
import type { KnownBlob } from './set-transaction.ts'
import type { MissingShard } from './set-view.ts'

export const message = {
  attach: 'erasure.attach',
  execute: 'erasure.execute',
  fresh: 'erasure.fresh',
  missingShard: 'erasure.missingShard',
  faulty: 'erasure.faulty',
  suspect: 'erasure.suspect',
  status: 'erasure.status',
} as const

/**
 * Shared memory, written by the storage thread: slot of the leader (-1: none); then for each slot how often its drive was opened (0: it
 * cannot be used) and its generation; then how many drives have all records; at last the time of the last request, which every
 * thread writes.
 */
export class SharedMembers {
  readonly cells: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.cells = new Int32Array(memory)
  }

  static create(slotCount: number): SharedMembers {
    return new SharedMembers(new SharedArrayBuffer((2 * slotCount + 3) * 4))
  }

  get leader(): number {
    return Atomics.load(this.cells, 0)
  }

  set leader(slot: number) {
    Atomics.store(this.cells, 0, slot)
  }

  get currentCount(): number {
    return Atomics.load(this.cells, this.cells.length - 2)
  }

  set currentCount(count: number) {
    Atomics.store(this.cells, this.cells.length - 2, count)
  }

  /** Called at each request of a client. */
  noteRequest(nowMs: number): void {
    // The lower 32 bits: only differences are used.
    Atomics.store(this.cells, this.cells.length - 1, nowMs | 0)
  }

  msSinceRequest(nowMs: number): number {
    return ((nowMs | 0) - Atomics.load(this.cells, this.cells.length - 1)) >>> 0
  }

  openingOf(slot: number): number {
    return Atomics.load(this.cells, 2 * slot + 1)
  }

  setOpening(slot: number, opening: number): void {
    Atomics.store(this.cells, 2 * slot + 1, opening)
  }

  generationOf(slot: number): number {
    return Atomics.load(this.cells, 2 * slot + 2)
  }

  setGeneration(slot: number, generation: number): void {
    Atomics.store(this.cells, 2 * slot + 2, generation)
  }
}

export interface SetAttachment {
  /** By slot: position of its drive among the paths that the operator named. */
  readonly indexes: readonly number[]
  readonly parityCount: number
  readonly unitBytes: number
  readonly members: SharedArrayBuffer
}

export interface ExecuteMessage {
  readonly name: string
  readonly args: unknown
  readonly body: Uint8Array | undefined
  readonly options: ExecuteOptions | undefined
}

export interface FreshMessage {
  readonly id: string
  readonly blob: KnownBlob
}

export interface FaultyMessage {
  readonly slot: number
  readonly message: string
}

/** A worker waits for the drive: see `SlowDriveDetector.suspect`. */
export interface SuspectMessage {
  readonly slot: number
}

export type MissingShardMessage = MissingShard
