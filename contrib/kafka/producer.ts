/** Sends records to a topic, each acknowledged by every in-sync replica. See client-thread.ts for the reason of the thread. */
import { Worker } from 'node:worker_threads'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import { PermanentDeliveryError } from 'svc/plugins/notify/api'
import type { ThreadAnswer, ThreadData, ThreadRequest } from './client-thread.ts'
import type { KafkaSettings } from './settings.ts'

export interface KafkaRecord {
  /** Records with the same key are in one partition, and keep their order there. Undefined: any partition. */
  readonly key: string | undefined
  readonly value: Uint8Array
}

export interface KafkaProducer {
  /**
   * Resolves when the brokers have all records, in the order of each key. Rejects within the timeout of the settings, and as soon as the
   * signal is aborted; the brokers may have some records then. A call that does not end in time fails the other calls under way, too.
   */
  send(records: readonly KafkaRecord[], signal: AbortSignal): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/** Per request. The default of brokers is 1 MiB (`message.max.bytes`) per partition. */
const requestBytesMax = 512 * 1024
const heapMbMax = 256
const compileCache = process.env.NODE_COMPILE_CACHE

interface Thread {
  readonly worker: Worker
  /** Resolves when the thread ends early, too. */
  readonly ready: Promise<void>
  isEnded: boolean
}

interface Attempt {
  resolve(): void
  reject(error: Error): void
}

export function createKafkaProducer(settings: KafkaSettings, guard: AddressGuard): KafkaProducer {
  const attempts = new Map<number, Attempt>()
  let lastId = 0
  let threads = 0
  let isClosed = false
  let thread = startThread()

  /** Starts early, because on a busy machine a thread starts more slowly than brokers answer. */
  function startThread(): Thread {
    const entry = new URL(`./client-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
    const worker = new Worker(entry, {
      name: 'svc-kafka',
      workerData: {
        settings: { ...settings, brokers: [...settings.brokers] },
        httpClient: import.meta.resolve('svc/plugins/http-client/api'),
        reach: guard.reach,
        allowedNetworks: [...guard.allowedNetworks],
        thread: threads++,
      } satisfies ThreadData,
      // Without the options of the process (loaders, conditions, debuggers). Most of its start is compilation.
      env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    const started: Thread = { worker, ready: promise, isEnded: false }
    worker.on('message', ({ id, failure }: ThreadAnswer) => {
      if (id === 0) return void resolve()
      const attempt = attempts.get(id)
      if (failure === undefined) attempt?.resolve()
      else attempt?.reject(failure.isPermanent ? new PermanentDeliveryError(failure.reason) : new Error(failure.reason))
    })
    // Does not quote the error, which may repeat the answer of a broker.
    worker.on('error', () => end(started, 'The brokers give answers that cannot be read.'))
    worker.on('exit', () => {
      end(started, 'The client of Kafka ended.')
      resolve()
    })
    return started
  }

  /** Rejects all attempts in this thread; the next call starts another thread. */
  function end(ended: Thread, reason: string): void {
    if (ended.isEnded) return
    ended.isEnded = true
    for (const attempt of [...attempts.values()]) attempt.reject(new Error(reason))
  }

  const stopThread = async (reason: string): Promise<void> => {
    const stopped = thread
    end(stopped, reason)
    await stopped.worker.terminate()
  }

  const post = (records: readonly KafkaRecord[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      const settle = (run: () => void) => {
        attempts.delete(id)
        run()
      }
      attempts.set(id, { resolve: () => settle(resolve), reject: error => settle(() => reject(error)) })
      // One transferred buffer instead of copies of the pools below small buffers.
      const bytes = new Uint8Array(records.reduce((sum, { value }) => sum + value.byteLength, 0))
      let offset = 0
      for (const { value } of records) {
        bytes.set(value, offset)
        offset += value.byteLength
      }
      const keys = records.map(({ key }) => key)
      const request: ThreadRequest = { id, keys, lengths: records.map(({ value }) => value.byteLength), bytes }
      thread.worker.postMessage(request, [bytes.buffer])
    })

  return {
    async send(records, signal) {
      let ended = isClosed ? 'The target is closed.' : signal.aborted ? 'The attempt was ended.' : undefined
      if (ended !== undefined) throw new Error(ended)
      if (thread.isEnded) thread = startThread()
      const stop = (reason: string) => {
        ended = reason
        void stopThread(reason)
      }
      const abort = () => stop('The attempt was ended.')
      signal.addEventListener('abort', abort, { once: true })
      let timer: NodeJS.Timeout | undefined
      try {
        await thread.ready
        timer = setTimeout(stop, settings.timeout, 'The brokers do not answer in time.')
        for (const part of partsOf(records)) {
          if (ended !== undefined || thread.isEnded) throw new Error(ended ?? 'The client of Kafka ended.')
          await post(part)
        }
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
      }
    },

    async close() {
      isClosed = true
      await stopThread('The target is closed.')
    },
  }
}

/** In order, in as few parts as possible. */
function partsOf(records: readonly KafkaRecord[]): readonly (readonly KafkaRecord[])[] {
  const parts: KafkaRecord[][] = []
  let partBytes = Number.POSITIVE_INFINITY
  for (const record of records) {
    const recordBytes = record.value.byteLength + Buffer.byteLength(record.key ?? '')
    if (partBytes + recordBytes > requestBytesMax) {
      parts.push([])
      partBytes = 0
    }
    parts.at(-1)!.push(record)
    partBytes += recordBytes
  }
  return parts
}
