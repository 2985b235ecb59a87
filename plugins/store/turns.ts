/**
 * Turns for updates of a document (read, change, compare and swap), first come, first served, over all threads. Without them a thread that
 * is closer to the storage thread would always be faster, and the others could starve. The main thread keeps the queues. A turn is no lock:
 * only the precondition of the commit protects the document.
 */
import type { Threads } from 'svc/kernel'
import { storeErrors } from './errors.ts'

const main = 0
const waitingMax = 4096
const message = { take: 'store.takeTurn', end: 'store.endTurn' } as const

export interface Turns {
  /** Runs `work` when its turn has come. Rejects with `busy` if too many updates wait. */
  run<T>(place: string, work: () => Promise<T>): Promise<T>
  /** Reports each turn in this thread that had to wait. Returns a function that ends the reports. */
  watchWaits(listener: WaitListener): () => void
}

export type WaitListener = (place: string, waitedMs: number) => void

interface Waiter {
  readonly thread: number
  readonly go: () => void
}

/** Registers handlers: during set-up. */
export function createTurns(threads: Threads): Turns {
  const listeners = new Set<WaitListener>()
  /** By place: the thread that has the turn, and those that wait. */
  const queues = new Map<string, { holder: number; readonly waiters: Waiter[] }>()
  let waiting = 0

  /** Resolves with `true` when the turn has come; undefined if it has come at once. */
  const take = (place: string, thread: number): Promise<true> | undefined => {
    const queue = queues.get(place)
    if (queue === undefined) {
      queues.set(place, { holder: thread, waiters: [] })
      return undefined
    }
    if (waiting === waitingMax) throw storeErrors.busy()
    waiting++
    return new Promise(resolve => queue.waiters.push({ thread, go: () => resolve(true) }))
  }

  const end = (place: string): void => {
    const queue = queues.get(place)
    if (queue === undefined) return
    const next = queue.waiters.shift()
    if (next === undefined) {
      queues.delete(place)
      return
    }
    waiting--
    queue.holder = next.thread
    next.go()
  }

  threads.handle(message.take, take)
  threads.handle(message.end, (place: string) => end(place))
  threads.onExit(thread => {
    for (const [place, queue] of queues) {
      const left = queue.waiters.filter(waiter => waiter.thread !== thread)
      waiting -= queue.waiters.length - left.length
      queue.waiters.splice(0, queue.waiters.length, ...left)
      if (queue.holder === thread) end(place)
    }
  })

  return {
    async run(place, work) {
      const startMs = listeners.size > 0 ? performance.now() : 0
      const hasWaited = await (threads.isMain
        ? take(place, main)
        : threads.call<true | undefined>(main, message.take, place))
      if (hasWaited) for (const listener of listeners) listener(place, performance.now() - startMs)
      try {
        return await work()
      } finally {
        if (threads.isMain) end(place)
        else threads.post(main, message.end, place)
      }
    },
    watchWaits(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
