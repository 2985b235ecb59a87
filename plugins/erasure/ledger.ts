/**
 * Reads the ledger: how many records, and bytes of data, have fewer shards than they should. Exact at any instant, because the counters
 * are derived in the commits (`set-derive.ts`). Used by `repair-loop.ts` and `redundancy.ts`.
 */
import type { RedundancyAmount, RedundancyReading } from './api.ts'
import type { ErasureSet } from './erasure-set.ts'
import { ledgerKey, totalKey } from './set-keys.ts'

const allGroups = Buffer.alloc(0)

export class Ledger {
  readonly #set: ErasureSet

  constructor(set: ErasureSet) {
    this.#set = set
  }

  /** `group`: see set-keys.ts. Default: all groups. */
  async read(group: Uint8Array = allGroups): Promise<RedundancyReading> {
    const set = this.#set
    const { drive } = set.leader()
    const whole = ledgerKey(
      group,
      Uint8Array.from(set.members, ({ generation }) => generation),
    )
    const total = amount(await drive.counter(totalKey(group)))
    // Every record has a shard in each slot: with a drive offline, none is complete.
    if (!set.isWhole) return { total, below: total }
    const complete = amount(await drive.counter(whole))
    return { total, below: { records: total.records - complete.records, bytes: total.bytes - complete.bytes } }
  }
}

function amount([records = 0, bytes = 0]: readonly number[]): RedundancyAmount {
  return { records, bytes }
}

export function sumOf(readings: readonly RedundancyReading[]): RedundancyReading {
  const sum = (which: keyof RedundancyReading): RedundancyAmount => ({
    records: readings.reduce((total, reading) => total + reading[which].records, 0),
    bytes: readings.reduce((total, reading) => total + reading[which].bytes, 0),
  })
  return { total: sum('total'), below: sum('below') }
}
