/** Simulated time: a clock that a test advances, and turns of the event loop in which due timers run. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../ports.ts'
import type { SeededRandom } from './fake-ports.ts'

const startMs = 1_700_000_000_000
const ticksMax = 200_000

export class SimulatedTime {
  readonly #random: SeededRandom
  /** A tick takes less than so many milliseconds. */
  readonly #tickMsMax: number
  #nowMs = startMs
  #timers: { readonly atMs: number; readonly callback: () => void }[] = []

  constructor(random: SeededRandom, tickMsMax: number) {
    this.#random = random
    this.#tickMsMax = tickMsMax
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Runs nothing in between; timers that have become due run at the next tick. */
  pass(milliseconds: number): void {
    this.#nowMs += milliseconds
  }

  readonly clock: Clock = {
    now: () => this.#nowMs,
    monotonicNs: () => BigInt(this.#nowMs) * 1_000_000n,
    after: (delayMs, callback) => {
      const timer = { atMs: this.#nowMs + delayMs, callback }
      this.#timers.push(timer)
      return () => {
        this.#timers = this.#timers.filter(other => other !== timer)
      }
    },
  }

  /** Lets time pass and the event loop turn. */
  async tick(): Promise<void> {
    this.#nowMs += this.#random.integer(this.#tickMsMax)
    const due = this.#timers.filter(timer => timer.atMs <= this.#nowMs)
    this.#timers = this.#timers.filter(timer => timer.atMs > this.#nowMs)
    for (const timer of due) timer.callback()
    await turn()
  }

  /** Lets time pass until it is settled. */
  async until<T>(promise: Promise<T> | T, what: string): Promise<T> {
    let isSettled = false
    const done = () => {
      isSettled = true
    }
    Promise.resolve(promise).then(done, done)
    for (let ticks = 0; !isSettled; ticks++) {
      assert.ok(ticks < ticksMax, `${what} takes for ever`)
      await this.tick()
    }
    return promise
  }

  /** The process has ended: nothing waits any more. */
  forget(): void {
    this.#timers = []
  }
}
