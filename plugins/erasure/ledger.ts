/** How many records, and how many bytes of data, have fewer shards than they should: exact at any instant, because it is derived. */
import type { ErasureSet } from './erasure-set.ts'
import { ledgerKey, totalKey } from './set-keys.ts'

export interface Amount {
  readonly records: number
  readonly bytes: number
}

export interface LedgerReading {
  /** What is kept in shards. */
  readonly total: Amount
  /** Of it, what lacks a shard, or has one on a drive that is away. */
  readonly below: Amount
}

const allGroups = Buffer.alloc(0)

export class Ledger {
  readonly #set: ErasureSet

  constructor(set: ErasureSet) {
    this.#set = set
  }

  /** `group`: see set-keys.ts; all of them by default. */
  async read(group: Uint8Array = allGroups): Promise<LedgerReading> {
    const set = this.#set
    const { drive } = set.leader()
    const whole = ledgerKey(
      group,
      Uint8Array.from(set.members, ({ generation }) => generation),
    )
    const total = amount(await drive.counter(totalKey(group)))
    // Every record has a shard in each slot: with one of them away, none has all.
    if (!set.isWhole) return { total, below: total }
    const complete = amount(await drive.counter(whole))
    return { total, below: { records: total.records - complete.records, bytes: total.bytes - complete.bytes } }
  }
}

function amount([records = 0, bytes = 0]: readonly number[]): Amount {
  return { records, bytes }
}
