/** An index in memory that comes back older after a power loss: at its last flushed commit, or any that followed. */
import type { SeededRandom } from 'svc/testing'
import { type IndexRange, type IndexStore, type IndexTable, indexTables } from '../index-store.ts'

type Write = readonly [table: IndexTable, key: string, value: Buffer | undefined]

class Tables {
  readonly maps = Object.fromEntries(indexTables.map(name => [name, new Map<string, Buffer>()])) as Record<
    IndexTable,
    Map<string, Buffer>
  >
  #sorted: Partial<Record<IndexTable, string[]>> = {}

  apply(writes: readonly Write[]): void {
    for (const [table, key, value] of writes) {
      if (value === undefined) this.maps[table].delete(key)
      else this.maps[table].set(key, value)
    }
    this.#sorted = {}
  }

  sorted(table: IndexTable): readonly string[] {
    this.#sorted[table] ??= [...this.maps[table].keys()].sort()
    return this.#sorted[table]
  }
}

/** What lies on the simulated disk; `open` gives access to it for one life of the process. */
export class SimulatedIndex {
  readonly #random: SeededRandom
  #flushed = new Tables()
  #commits: Write[][] = []
  #current = new Tables()
  #life = 0
  failureRate = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  crash(): void {
    this.#life++
  }

  losePower(): void {
    this.crash()
    this.#commits.length = this.#random.integer(this.#commits.length + 1)
    this.#settle()
  }

  /** The folder is gone. */
  remove(): void {
    this.#flushed = new Tables()
    this.#commits = []
    this.#settle()
  }

  #settle(): void {
    for (const writes of this.#commits) this.#flushed.apply(writes)
    this.#commits = []
    this.#current = new Tables()
    for (const table of indexTables) {
      this.#current.apply([...this.#flushed.maps[table]].map(([key, value]) => [table, key, value] as const))
    }
  }

  /** Everything in the index, as text, to be compared. */
  dump(table: IndexTable): string[] {
    return this.#current.sorted(table).map(key => `${key}=${this.#current.maps[table].get(key)!.toString('latin1')}`)
  }

  open(): IndexStore {
    const life = this.#life
    return {
      get: (table, key) => {
        const value = this.#current.maps[table].get(Buffer.from(key).latin1Slice())
        return value === undefined ? undefined : Buffer.from(value)
      },
      range: (table, start, end) =>
        this.#range(table, Buffer.from(start).latin1Slice(), Buffer.from(end).latin1Slice()),
      commit: async fill => {
        const writes: Write[] = []
        fill((table, key, value) => {
          writes.push([table, Buffer.from(key).latin1Slice(), value === undefined ? undefined : Buffer.from(value)])
        })
        for (let turns = this.#random.integer(4); turns >= 0; turns--) {
          await new Promise<void>(resolve => {
            setImmediate(resolve)
          })
        }
        // A crash before the end may find the commit done, or not.
        if (life !== this.#life) return new Promise(() => undefined)
        if (this.#random.float() < this.failureRate) throw new Error('the index cannot be written')
        this.#current.apply(writes)
        this.#commits.push(writes)
      },
      flushed: async () => {
        await new Promise<void>(resolve => {
          setImmediate(resolve)
        })
        if (life !== this.#life) return new Promise(() => undefined)
        for (const writes of this.#commits) this.#flushed.apply(writes)
        this.#commits = []
      },
      refresh: () => undefined,
      close: async () => undefined,
    }
  }

  #range(table: IndexTable, start: string, end: string): IndexRange {
    const keys = this.#current.sorted(table)
    const map = this.#current.maps[table]
    let at = keys.findIndex(key => key >= start)
    if (at === -1) at = keys.length
    const range = {
      key: Buffer.alloc(0),
      value: Buffer.alloc(0),
      next: () => {
        const key = keys[at++]
        if (key === undefined || key >= end) return false
        range.key = Buffer.from(key, 'latin1')
        range.value = Buffer.from(map.get(key)!)
        return true
      },
      close: () => undefined,
    }
    return range
  }
}
