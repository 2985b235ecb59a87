/** The codes of one set: as many shards for each, of which more or fewer are parity. Each is made when it is first asked for. */
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
