/**
 * Deletes the records of delivered entries. Entries that are delivered during one commit are deleted together by the next one. A delete
 * that fails is tried again without end; meanwhile its entries count in the window, so their number is bounded.
 */
import type { Clock } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import { procedure } from './commit.ts'
import type { LoadedEntry } from './window.ts'

/** Entries of one commit. */
const entriesMax = 500
const retryFirstMs = 1000
const retryMaxMs = 60_000

export interface Acknowledger {
  add(entries: readonly LoadedEntry[]): void
  /** Resolves after the last attempt to delete; starts no other. */
  stop(): Promise<void>
}

export interface AcknowledgerOptions {
  readonly storage: StorageService
  readonly clock: Clock
  onDeleted(entries: readonly LoadedEntry[]): void
  onFailure(error: unknown, retryInMs: number): void
}

export function createAcknowledger({ storage, clock, onDeleted, onFailure }: AcknowledgerOptions): Acknowledger {
  let waiting: LoadedEntry[] = []
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
    // Entries that are delivered in the same turn share a commit.
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
      onDeleted(entries)
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
