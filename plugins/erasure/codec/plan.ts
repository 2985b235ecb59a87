/**
 * Plans how to compute wanted shards from present ones: which kernels run, and the tables of their coefficients in the codec's memory. Made
 * once per pattern (some ten microseconds) and cached, least recently used last. Used by `ErasureCode`.
 */
import { LRUCache } from 'lru-cache'
import { multiply } from './galois-field.ts'
import { kernelOutputsMax } from './kernels.ts'
import { parityCountMax, reconstructionRows, shardCountMax } from './matrix.ts'

const tableBytes = 32
/** Inputs times outputs, where both together are at most 16 shards and the outputs at most 8. */
const coefficientCountMax = (shardCountMax - parityCountMax) * parityCountMax
const slotBytes = coefficientCountMax * tableBytes
/**
 * Two drives of 16 that are down are 16 patterns where the shards of an object begin on any drive, times what is wanted of
 * them: all patterns of an ordinary day, in 256 KiB.
 */
const slotCount = 128

/** One pass over the inputs. */
export interface KernelRun {
  readonly hasSum: boolean
  readonly productCount: number
  /** 1 when the first input has the coefficient 1 in all outputs. */
  readonly plain: number
  readonly firstOutput: number
  readonly tables: number
}

export interface Plan {
  /** Numbers of shards, in the order in which the kernels want them. */
  readonly inputs: readonly number[]
  readonly outputs: readonly number[]
  readonly runs: readonly KernelRun[]
  readonly slot: number
}

export class PlanCache {
  static readonly bytes = slotCount * slotBytes
  readonly #bytes: Uint8Array
  readonly #address: number
  readonly #plans: LRUCache<number, Plan>
  readonly #freeSlots = Array.from({ length: slotCount }, (_, index) => index)

  /** Tables are stored in `bytes` from `address` on. */
  constructor(bytes: Uint8Array, address: number) {
    this.#bytes = bytes
    this.#address = address
    this.#plans = new LRUCache({ max: slotCount, dispose: ({ slot }) => this.#freeSlots.push(slot) })
  }

  get count(): number {
    return this.#plans.size
  }

  /**
   * Sets are bit masks, bit i for shard i; `present` has at least `dataCount` members, `wanted` at least one, none of them in
   * `present`. Data shards are used before parity shards, parity shards in their order: the first one costs least.
   */
  get(dataCount: number, present: number, wanted: number): Plan {
    const used = firstMembers(present, dataCount)
    const key = used + wanted * 0x1_0000 + dataCount * 0x1_0000_0000
    const plan = this.#plans.get(key)
    return plan ?? this.#make(key, dataCount, used, wanted)
  }

  #make(key: number, dataCount: number, used: number, wanted: number): Plan {
    const inputs = membersOf(used)
    const rows = reconstructionRows(dataCount, inputs, membersOf(wanted))
    const outputs = membersOf(wanted).map((shard, index) => ({ shard, row: rows[index] }))
    const sum = outputs.findIndex(({ row }) => row.every(coefficient => coefficient === 1))
    if (sum > 0) outputs.unshift(...outputs.splice(sum, 1))
    // When full, evicts the oldest: its slot must be free before this plan is entered.
    if (this.#freeSlots.length === 0) this.#plans.pop()
    const slot = this.#freeSlots.pop()!
    const runs: KernelRun[] = []
    let address = this.#address + slot * slotBytes
    for (let first = 0; first < outputs.length; first += kernelOutputsMax) {
      const group = outputs.slice(first, first + kernelOutputsMax)
      const hasSum = first === 0 && sum >= 0
      const products = hasSum ? group.slice(1) : group
      runs.push({
        hasSum,
        productCount: products.length,
        plain: group.every(({ row }) => row[0] === 1) ? 1 : 0,
        firstOutput: first,
        tables: address,
      })
      for (let input = 0; input < inputs.length; input++) {
        for (const { row } of products) {
          this.#writeTable(address, row[input])
          address += tableBytes
        }
      }
    }
    const plan = { inputs, outputs: outputs.map(({ shard }) => shard), runs, slot }
    this.#plans.set(key, plan)
    return plan
  }

  #writeTable(address: number, coefficient: number): void {
    for (let half = 0; half < 16; half++) {
      this.#bytes[address + half] = multiply(coefficient, half)
      this.#bytes[address + 16 + half] = multiply(coefficient, half << 4)
    }
  }
}

/** The mask of the first `count` members. */
function firstMembers(mask: number, count: number): number {
  let rest = mask
  for (let index = 0; index < count; index++) rest &= rest - 1
  return mask ^ rest
}

export function membersOf(mask: number): number[] {
  const members: number[] = []
  for (let shard = 0; shard < shardCountMax; shard++) if ((mask >> shard) & 1) members.push(shard)
  return members
}
