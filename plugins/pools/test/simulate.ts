/**
 * Runs random schedules over simulated pools. Started as a worker of simulation.slow.test.ts, where no test runner tracks each promise, or by
 * hand: `node --conditions=svc-src plugins/pools/test/simulate.ts SEED ROUNDS`.
 */
import assert from 'node:assert/strict'
import { runSchedules, type SeededRandom } from 'svc/testing'
import { type Counts, SimulatedPools } from './simulated-pools.ts'

export interface Totals extends Counts {
  cutShort: number
  absent: number
  added: number
}

class Schedule {
  readonly #random: SeededRandom
  readonly #pools: SimulatedPools
  readonly #totals: Totals

  constructor(random: SeededRandom, totals: Totals) {
    this.#random = random
    this.#totals = totals
    this.#pools = new SimulatedPools(random, totals)
  }

  async run(): Promise<void> {
    const pools = this.#pools
    await this.#start()
    for (let lives = 2 + this.#random.integer(3); lives > 0; lives--) {
      await this.#live()
      await this.#end()
      this.#afflict()
      await this.#start()
      await pools.verify()
    }
    await pools.stop()
    for (const drive of pools.pools.flat()) drive.isAbsent = false
    await this.#start()
    await pools.verify()
    await pools.settle()
  }

  /** Starts may be interrupted before one succeeds. */
  async #start(): Promise<void> {
    const pools = this.#pools
    while (this.#random.float() < 0.25) {
      const error = await pools.start(this.#random.integer(120))
      if (error === false) this.#totals.cutShort++
      else if (error !== undefined) throw error
      pools.crash([this.#random.pick(['power', 'process'] as const)])
    }
    const error = await pools.start()
    if (error !== undefined) throw error
  }

  async #live(): Promise<void> {
    const pools = this.#pools
    const clients = new Set<Promise<unknown>>()
    let working: Promise<unknown> | undefined
    for (let step = 10 + this.#random.integer(150); step > 0; step--) {
      if (this.#random.float() < 0.4 && clients.size < 12) {
        const client: Promise<unknown> = pools.change().finally(() => clients.delete(client))
        clients.add(client)
      }
      if (working === undefined && this.#random.float() < 0.2) {
        working = pools.work().finally(() => {
          working = undefined
        })
      }
      if (this.#random.float() < 0.01) pools.fail()
      await pools.tick()
    }
    if (this.#random.float() > 0.3) return
    for (let ticks = 0; clients.size > 0; ticks++) {
      assert.ok(ticks < 20_000, 'every client is answered')
      await pools.tick()
    }
    if (working !== undefined) await pools.ticking(working, 'work')
    await pools.quiet()
  }

  async #end(): Promise<void> {
    const pools = this.#pools
    const luck = this.#random.float()
    if (luck < 0.1) await pools.stop()
    else if (luck < 0.5) pools.crash(['power'])
    else if (luck < 0.75) pools.crash(['process'])
    else pools.crash(pools.pools.flat().map(() => this.#random.pick(['power', 'process'] as const)))
  }

  /** One drive of a pool, always the same, may be offline; a pool may be added. */
  #afflict(): void {
    const pools = this.#pools
    for (const pool of pools.pools) {
      pool[0]!.isAbsent = this.#random.float() < 0.15
      if (pool[0]!.isAbsent) this.#totals.absent++
    }
    if (pools.pools.length < 4 && this.#random.float() < 0.15) {
      pools.addPool(2 + this.#random.integer(2))
      this.#totals.added++
    }
  }
}

const totals: Totals = {
  acknowledged: 0,
  rejected: 0,
  verified: 0,
  collected: 0,
  exact: 0,
  quiet: 0,
  decided: 0,
  failed: 0,
  elsewhere: 0,
  cutShort: 0,
  absent: 0,
  added: 0,
}

await runSchedules(totals, random => new Schedule(random, totals).run())
