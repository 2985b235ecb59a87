/**
 * Limits the requests under way in all threads of the process: the setting `requests_max`. Further requests wait, in the order of arrival
 * within a thread, and are refused after `requests_deadline`.
 *
 * The counts are in shared memory: one for all threads, and one for each thread, which is subtracted if the thread dies. Requests are
 * counted only while there is a limit; those that were under way when it was set are not counted.
 */
import type { ServerResponse } from 'node:http'
import type { Clock, MaybePromise, Threads } from 'svc/kernel'
import { refusalDetails } from 'svc/plugins/http/api'
import type { Settings } from 'svc/plugins/settings/api'
import type { ApiSettings } from './api-settings.ts'
import { s3Errors } from './errors.ts'

/** Waiting requests of one thread; further ones are refused at once. */
const waitersMax = 10_000
/** Interval in which waiting requests check whether a request of another thread has ended. */
const lookMs = 10

/** A request that wants a place, or has one. */
export interface Visitor {
  readonly exchange: { readonly response: ServerResponse }
  readonly isClosed: boolean
  hasPlace: boolean
}

export interface RequestLimit {
  /**
   * Undefined: continue. Otherwise resolves when it is the request's turn; throws or rejects with SlowDown. While there is a place nothing is
   * waited for, and no listener is added: a small request is still answered in its turn of the event loop.
   */
  enter(visitor: Visitor): MaybePromise<void>
  /** To be called when the answer has ended, or the client has disconnected: gives the place back. */
  leave(visitor: Visitor): void
  /** To be called before the first request. */
  start(): Promise<void>
}

interface Waiter {
  readonly visitor: Visitor
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  readonly cancel: () => void
}

export interface RequestLimitOptions {
  readonly api: Settings<ApiSettings>
  readonly threads: Threads
  readonly clock: Clock
}

export function createRequestLimit({ api, threads, clock }: RequestLimitOptions): RequestLimit {
  // The main thread's memory is the one that all threads use: the others get it from there.
  let shared = new SharedArrayBuffer(4 * (threads.workerCount + 2))
  let counts = new Int32Array(shared)
  const own = threads.index + 1
  let max = 0
  const waiters = new Set<Waiter>()
  let isLooking = false

  threads.handle('s3.requests-under-way', () => shared)
  threads.onExit(index => {
    Atomics.sub(counts, 0, Atomics.exchange(counts, index + 1, 0))
  })

  const take = (visitor: Visitor): boolean => {
    // Nobody would give the place of a closed one back.
    if (max === 0 || visitor.isClosed) return true
    if (Atomics.add(counts, 0, 1) >= max) {
      Atomics.sub(counts, 0, 1)
      return false
    }
    Atomics.add(counts, own, 1)
    visitor.hasPlace = true
    return true
  }

  function admit(): void {
    for (const waiter of waiters) {
      if (!take(waiter.visitor)) return
      drop(waiter)
      waiter.resolve()
    }
  }

  function drop(waiter: Waiter): void {
    waiters.delete(waiter)
    waiter.cancel()
    waiter.visitor.exchange.response.off('close', waiter.reject)
  }

  /** Runs only while requests wait. */
  async function look(): Promise<void> {
    isLooking = false
    try {
      max = (await api.get()).requests_max
    } catch {
      // The last known limit stays in force; the next reader of the settings reports the problem.
    }
    admit()
    if (waiters.size > 0) lookSoon()
  }

  function lookSoon(): void {
    if (isLooking) return
    isLooking = true
    clock.after(lookMs, look)
  }

  const wait = (visitor: Visitor, deadlineMs: number): Promise<void> => {
    if (deadlineMs === 0 || waiters.size >= waitersMax) throw slowDown()
    return new Promise((resolve, reject) => {
      const refuse = () => {
        drop(waiter)
        reject(slowDown())
      }
      // A client that disconnects meanwhile is answered like any other, without an effect.
      const waiter: Waiter = { visitor, resolve, reject: refuse, cancel: clock.after(deadlineMs, refuse) }
      waiters.add(waiter)
      visitor.exchange.response.once('close', waiter.reject)
      lookSoon()
    })
  }

  function enter(visitor: Visitor, { requests_max, requests_deadline }: ApiSettings): MaybePromise<void> {
    max = requests_max
    if (waiters.size > 0) admit()
    // Waiting requests come first.
    if (waiters.size > 0 || !take(visitor)) return wait(visitor, requests_deadline)
  }

  return {
    enter(visitor) {
      const values = api.get()
      return values instanceof Promise ? values.then(read => enter(visitor, read)) : enter(visitor, values)
    },
    leave(visitor) {
      if (!visitor.hasPlace) return
      visitor.hasPlace = false
      Atomics.sub(counts, own, 1)
      Atomics.sub(counts, 0, 1)
      if (waiters.size > 0) admit()
    },
    async start() {
      if (threads.isMain) return
      shared = await threads.call<SharedArrayBuffer>(0, 's3.requests-under-way')
      counts = new Int32Array(shared)
    },
  }
}

function slowDown(): Error {
  return s3Errors.SlowDown(undefined, refusalDetails({ kind: 'concurrency', retryAfterSeconds: 1 }))
}
