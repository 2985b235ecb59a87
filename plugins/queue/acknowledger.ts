/**
 * Deletes the records of what has been sent. What ends while one commit is on its way goes into the next one together. What cannot be
 * deleted is tried again, for ever: until then it counts in the window, which bounds how much that is.
 */
import type { Clock } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import { procedure } from './commit.ts'
import type { Held } from './window.ts'

/** Entries of one commit. */
const entriesMax = 500
const retryFirstMs = 1000
const retryMaxMs = 60_000

export interface Acknowledger {
  add(entries: readonly Held[]): void
  /** Resolves when everything has been deleted, or could not be just now. Tries nothing again afterwards. */
  stop(): Promise<void>
}

export interface AcknowledgerOptions {
  readonly storage: StorageService
  readonly clock: Clock
  onGone(entries: readonly Held[]): void
  onFailure(error: unknown, retryInMs: number): void
}

export function createAcknowledger({ storage, clock, onGone, onFailure }: AcknowledgerOptions): Acknowledger {
  let waiting: Held[] = []
  let running: Promise<void> | undefined
  let isStopping = false
  let endPause: (() => void) | undefined

  const pause = (delayMs: number) =>
    new Promise<void>(resolve => {
      const cancel = clock.after(delayMs, resolve)
      endPause = () => {
        cancel()
        resolve()
      }
    })

  const run = async (): Promise<void> => {
    // What ends in the same turn goes together.
    await new Promise(resolve => setImmediate(resolve))
    let retryMs = retryFirstMs
    while (waiting.length > 0) {
      const entries = waiting.slice(0, entriesMax)
      try {
        const keys = entries.map(({ recordKey }) => recordKey)
        await storage.execute(procedure.remove, keys)
      } catch (error) {
        onFailure(error, retryMs)
        if (isStopping) return
        await pause(retryMs)
        retryMs = Math.min(retryMs * 2, retryMaxMs)
        if (isStopping) return
        continue
      }
      retryMs = retryFirstMs
      waiting = waiting.slice(entries.length)
      onGone(entries)
    }
  }

  const begin = (): void => {
    running ??= run().finally(() => {
      running = undefined
      if (waiting.length > 0 && !isStopping) begin()
    })
  }

  return {
    add(entries) {
      waiting.push(...entries)
      begin()
    },
    async stop() {
      isStopping = true
      endPause?.()
      await running
    },
  }
}
