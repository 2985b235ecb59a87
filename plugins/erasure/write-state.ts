/** Tells operators when a set cannot be written and when it can be again: once at the change, and every few minutes as long as it lasts. */
import type { Clock, Logger } from 'svc/kernel'

/** Time between two reminders. */
const reminderMs = 5 * 60_000

export interface WriteStateOptions {
  readonly set: { readonly currentCount: number; readonly writeQuorum: number; readonly slotCount: number }
  readonly clock: Clock
  readonly log: Logger
}

export class WriteState {
  readonly #options: WriteStateOptions
  /** When it was last told that the set cannot be written; undefined while it can. */
  #toldMs: number | undefined

  constructor(options: WriteStateOptions) {
    this.#options = options
  }

  /** To be called when drives came or went, and now and then in between. */
  look(): void {
    const { set, clock, log } = this.#options
    const { currentCount: drives, writeQuorum: needed, slotCount: of } = set
    const nowMs = clock.now()
    if (drives >= needed) {
      if (this.#toldMs !== undefined) log.info({ drives, of }, 'the set can be written again')
      this.#toldMs = undefined
      return
    }
    if (this.#toldMs !== undefined && nowMs - this.#toldMs < reminderMs) return
    this.#toldMs = nowMs
    log.error({ drives, of, needed }, 'the set cannot be written: too few of its drives have all records')
  }
}
