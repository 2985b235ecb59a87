/** Messages between the storage thread and the worker threads, in addition to those of each set. */
import type { ExecuteOptions } from 'svc/plugins/storage/api'

export const message = {
  attach: 'pools.attach',
  execute: 'pools.execute',
  status: 'pools.status',
} as const

export interface PoolsAttachment {
  /** By the number of a set: its position among those that were named. */
  readonly order: readonly number[]
  /** See `Placement`. */
  readonly cells: SharedArrayBuffer
}

export interface ExecuteMessage {
  readonly name: string
  readonly args: unknown
  readonly body: Uint8Array | undefined
  readonly options: ExecuteOptions | undefined
}
