/** What travels between the thread that commits and the workers, apart from what each set has of its own. */
import type { ExecuteOptions } from 'svc/plugins/storage/api'

export const message = {
  attach: 'pools.attach',
  execute: 'pools.execute',
  status: 'pools.status',
} as const

export interface PoolsAttachment {
  /** By the number of a set: its place among those that were named. */
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
