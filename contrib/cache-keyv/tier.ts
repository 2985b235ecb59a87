/**
 * The tier `keyv` in one thread. It knows the records that it has put or found, and lets them give way within its part of the budget;
 * records of threads and processes that are gone leave by their lifetime.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { CacheTier, TierRecord } from 'svc/plugins/cache/api'
import { Sieve } from 'svc/plugins/cache/api'
import type { CacheKeyvConfig } from './config.ts'
import { type Connection, connect } from './connection.ts'
import { decodeValue, encodeValue, valueBytesOf } from './value.ts'

/** What a server needs for a key beside its value, about. */
const keyOverheadBytes = 256

export interface KeyvTier extends CacheTier {
  /** For tests: resolves when it is connected. */
  connected(): Promise<void>
}

export interface KeyvTierOptions {
  readonly config: CacheKeyvConfig
  /** Budget of this thread. */
  readonly budgetBytes: number
  readonly deploymentId: string
  readonly clock: Clock
  readonly log: Logger
}

export function createKeyvTier({ config, budgetBytes, deploymentId, clock, log }: KeyvTierOptions): KeyvTier {
  let connection: Connection | undefined
  let leaving: string[] = []
  const known = new Sieve<true>({ budgetBytes, onEvict: key => leaving.push(key) })
  const keyOf = (id: Buffer) => `${deploymentId}:${id.toString('hex')}`
  const costOf = (record: TierRecord) => valueBytesOf(record) + keyOverheadBytes

  /** False: larger than the budget. Resolves when what gave way is gone. */
  async function enter(key: string, bytes: number): Promise<boolean> {
    const isTaken = known.set(key, true, bytes)
    const gone = leaving
    leaving = []
    if (gone.length > 0) await connection?.store?.deleteMany(gone)
    return isTaken
  }

  async function find(id: Buffer): Promise<TierRecord | undefined> {
    const key = keyOf(id)
    let value: unknown
    try {
      value = await connection?.store?.get(key)
    } catch (error) {
      // No JSON: somebody has changed it.
      if (!(error instanceof SyntaxError)) throw error
      value = null
    }
    if (value === undefined) {
      known.delete(key)
      return undefined
    }
    const record = decodeValue(id, value)
    if (record === undefined) {
      known.delete(key)
      await connection?.store?.delete(key)
      return undefined
    }
    // Of another thread, or of an earlier process.
    if (known.get(key) === undefined) await enter(key, costOf(record))
    return record
  }

  return {
    async start() {
      connection = connect(config, clock, log)
    },
    async stop() {
      const closing = connection
      connection = undefined
      known.clear()
      await closing?.close()
    },
    connected: async () => connection?.connected(),
    get: id => (connection?.store === undefined ? undefined : find(id)),
    async put(id, record) {
      const store = connection?.store
      if (store === undefined || valueBytesOf(record) > config.valueSize) return false
      const key = keyOf(id)
      if (!(await enter(key, costOf(record)))) return false
      try {
        await store.set(key, encodeValue(id, record), config.ttl)
        return true
      } catch (error) {
        known.delete(key)
        throw error
      }
    },
    async hasAll(ids) {
      const store = connection?.store
      return store !== undefined && (await store.hasMany(ids.map(keyOf))).every(Boolean)
    },
    async delete(id) {
      known.delete(keyOf(id))
      await connection?.store?.delete(keyOf(id))
    },
    // It cannot list without reading all values; what was purged is compared when it is read.
    heads: () => [],
    usage: () => ({ entries: known.size, bytes: known.bytes, evictions: known.evictions }),
  }
}
