/**
 * The worker threads of the process, seen from the main thread: starts them, carries messages among them, and replaces those
 * that die. Everything between two workers passes through here, which keeps the order of messages between any two threads.
 */
import { Worker } from 'node:worker_threads'
import { withDeadline } from '../lifecycle.ts'
import type { Logger, LogLevel } from '../log.ts'
import type { Clock } from '../ports.ts'
import { createThreadCalls, type Envelope, packError, threadErrors } from '../threads/calls.ts'
import type { Threads } from '../threads/threads.ts'
import type { PluginSelection } from './discover.ts'

/** The data with which a worker thread runs the same plugins. Secrets in the configuration stay within the process. */
export interface WorkerData {
  readonly index: number
  readonly workerCount: number
  readonly selection: PluginSelection
  readonly config: Readonly<Record<string, unknown>>
  readonly logLevel: LogLevel
  readonly startTimeoutMs: number
  readonly stopTimeoutMs: number
}

export interface ThreadPoolOptions extends Omit<WorkerData, 'index'> {
  readonly log: Logger
  readonly clock: Clock
  /** Takes finished log lines of workers. */
  readonly writeLog: (line: string) => void
}

export interface ThreadPool {
  readonly threads: Threads
  /** Sets up and starts the plugins in every worker. Rejects with the first failure; then call `stop`. */
  start(): Promise<void>
  serve(): Promise<void>
  /** From here on a worker that ends is not replaced. Resolves with the failures of all workers, as `stop` does. */
  drain(): Promise<Error[]>
  stop(): Promise<Error[]>
}

const REPLACE_MS_MIN = 100
const REPLACE_MS_MAX = 30_000
/** A worker that ran this long was no part of a crash loop. */
const STABLE_MS = 60_000
/** How long a worker may take to end by itself once its plugins have stopped. */
const EXIT_MS = 5000

export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const { log, clock, workerCount, writeLog, ...shared } = options
  const workers = new Map<number, Worker>()
  const replaceMs = new Map<number, number>()
  let stopping = false
  /** A whole phase of a worker: each of its plugins has a deadline, so this one is only for a thread that hangs. */
  const phaseMs = 2 * Math.max(options.startTimeoutMs, options.stopTimeoutMs)

  const post = (envelope: Envelope): boolean => {
    const worker = workers.get(envelope.to)
    // Before a thread runs, it receives the kernel's own calls, and answers to the calls of its plugins' starts.
    const isOwn = envelope.kind === 'call' && envelope.from === 0 && envelope.name.startsWith('kernel.')
    const isAnswer = envelope.kind === 'result' || envelope.kind === 'error'
    if (worker === undefined || !(isOwn || isAnswer || calls.running.has(envelope.to))) return false
    worker.postMessage(envelope, envelope.transfer as ArrayBuffer[] | undefined)
    return true
  }

  const calls = createThreadCalls({ index: 0, workerCount, log, send: post })
  const { threads } = calls
  threads.handle('kernel.log', (lines: readonly string[]) => {
    for (const line of lines) writeLog(line)
  })

  const receive = (envelope: Envelope): void => {
    if (envelope.to === 0) {
      calls.dispatch(envelope)
      return
    }
    if (post(envelope) || envelope.kind !== 'call') return
    const gone = packError(threadErrors.thread_gone(`Thread ${envelope.to} is not running.`))
    const { id, name, from, to } = envelope
    post({ kind: 'error', to: from, from: to, id, name, payload: gone, transfer: undefined })
  }

  const tellWhoRuns = (): void => {
    for (const index of calls.running) threads.post(index, 'kernel.running', [0, ...calls.running])
  }

  const spawn = async (index: number): Promise<void> => {
    const entry = new URL(`./worker-entry${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
    const data: WorkerData = { ...shared, index, workerCount }
    const worker = new Worker(entry, { workerData: data, name: `svc-${index}` })
    workers.set(index, worker)
    worker.on('message', receive)
    worker.on('messageerror', error => log.error({ err: error, thread: index }, 'a message could not be read'))
    worker.on('error', error => log.error({ err: error, thread: index }, 'worker thread failed'))
    worker.on('exit', code => ended(index, worker, code))
    await phase(index, 'kernel.start')
    calls.running.add(index)
    tellWhoRuns()
  }

  const phase = (index: number, name: string) =>
    withDeadline(() => threads.call<string[] | undefined>(index, name), phaseMs, clock)

  const ended = (index: number, worker: Worker, code: number): void => {
    if (workers.get(index) !== worker) return
    workers.delete(index)
    calls.forget(index)
    tellWhoRuns()
    if (stopping) return
    log.error({ thread: index, code }, 'worker thread ended')
    calls.exited(index)
    if (serving) replaceLater(index)
  }

  let serving = false
  const replaceLater = (index: number): void => {
    const delayMs = replaceMs.get(index) ?? REPLACE_MS_MIN
    replaceMs.set(index, Math.min(delayMs * 2, REPLACE_MS_MAX))
    clock.after(delayMs, () => {
      if (stopping) return
      log.info({ thread: index }, 'replacing worker thread')
      replace(index).catch(error => {
        log.error({ err: error, thread: index }, 'replacement of a worker thread failed')
        // Its end, if it has not come by itself, brings the next attempt.
        workers.get(index)?.terminate()
      })
    })
  }

  const replace = async (index: number): Promise<void> => {
    await spawn(index)
    await phase(index, 'kernel.serve')
    clock.after(STABLE_MS, () => {
      if (calls.running.has(index)) replaceMs.delete(index)
    })
  }

  /** The worker has logged the failures of its plugins. */
  const endPhase = async (index: number, name: string): Promise<Error[]> =>
    ((await phase(index, name)) ?? []).map(message => new Error(`thread ${index}: ${message}`))

  const stopOne = async (index: number, worker: Worker): Promise<Error[]> => {
    const exited = new Promise<void>(resolve => worker.once('exit', () => resolve()))
    const failures: Error[] = []
    try {
      failures.push(...(await endPhase(index, 'kernel.stop')))
      // A thread that ends by itself closes the resources of native code; a terminated thread may not.
      await withDeadline(() => exited, EXIT_MS, clock)
    } catch (error) {
      log.warn({ err: error, thread: index }, 'worker thread is ended by force')
      await worker.terminate()
    }
    return failures
  }

  const drainOne = async (index: number): Promise<Error[]> => {
    try {
      return await endPhase(index, 'kernel.drain')
    } catch (error) {
      log.error({ err: error, thread: index }, 'draining failed')
      return [error as Error]
    }
  }

  return {
    threads,
    async start() {
      if (stopping) throw new Error('stopped while starting')
      await Promise.all(Array.from({ length: workerCount }, (_, index) => spawn(index + 1)))
    },
    async serve() {
      serving = true
      // A worker that ended between its start and now has not been replaced.
      for (let index = 1; index <= workerCount; index++) if (!workers.has(index)) replaceLater(index)
      await Promise.all([...workers.keys()].map(index => phase(index, 'kernel.serve')))
    },
    async drain() {
      stopping = true
      return (await Promise.all([...workers.keys()].map(drainOne))).flat()
    },
    async stop() {
      stopping = true
      return (await Promise.all([...workers].map(([index, worker]) => stopOne(index, worker)))).flat()
    },
  }
}
