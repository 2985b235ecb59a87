/** The codes of one set: all have the same number of shards and differ in parity. Each is created when it is first needed. */
import { ErasureCode } from './erasure-code.ts'
import type { ShardMemory } from './shard-memory.ts'

export class Codes {
  readonly #memory: ShardMemory
  readonly #shardCount: number
  readonly #byParity: (ErasureCode | undefined)[] = []

  constructor(memory: ShardMemory, shardCount: number) {
    this.#memory = memory
    this.#shardCount = shardCount
  }

  of(parityCount: number): ErasureCode {
    this.#byParity[parityCount] ??= new ErasureCode(this.#memory, this.#shardCount - parityCount, parityCount)
    return this.#byParity[parityCount]
  }
}
