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

export interface RequestLimit {
  /**
   * Undefined: continue. Otherwise resolves when it is the request's turn, or rejects with SlowDown. The place is given back at the end of
   * the answer.
   */
  enter(response: ServerResponse): MaybePromise<void>
  /** To be called before the first request. */
  start(): Promise<void>
}

interface Waiter {
  readonly response: ServerResponse
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

  const take = (response: ServerResponse): boolean => {
    if (max !== 0 && Atomics.add(counts, 0, 1) >= max) {
      Atomics.sub(counts, 0, 1)
      return false
    }
    if (max === 0) return true
    Atomics.add(counts, own, 1)
    response.once('close', release)
    return true
  }

  function release(): void {
    Atomics.sub(counts, own, 1)
    Atomics.sub(counts, 0, 1)
    if (waiters.size > 0) admit()
  }

  function admit(): void {
    for (const waiter of waiters) {
      if (!take(waiter.response)) return
      leave(waiter)
      waiter.resolve()
    }
  }

  function leave(waiter: Waiter): void {
    waiters.delete(waiter)
    waiter.cancel()
    waiter.response.off('close', waiter.reject)
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

  const wait = (response: ServerResponse, deadlineMs: number): Promise<void> => {
    if (deadlineMs === 0 || waiters.size >= waitersMax) throw slowDown()
    return new Promise((resolve, reject) => {
      const refuse = () => {
        leave(waiter)
        reject(slowDown())
      }
      // A client that disconnects meanwhile is answered like any other, without an effect.
      const waiter: Waiter = { response, resolve, reject: refuse, cancel: clock.after(deadlineMs, refuse) }
      waiters.add(waiter)
      response.once('close', waiter.reject)
      lookSoon()
    })
  }

  async function enter(response: ServerResponse, values: MaybePromise<ApiSettings>): Promise<void> {
    const { requests_max, requests_deadline } = await values
    max = requests_max
    if (waiters.size > 0) admit()
    // Waiting requests come first.
    if (waiters.size > 0 || !take(response)) await wait(response, requests_deadline)
  }

  return {
    enter(response) {
      const values = api.get()
      const isUnlimited = waiters.size === 0 && !(values instanceof Promise) && values.requests_max === 0
      return isUnlimited ? undefined : enter(response, values)
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
