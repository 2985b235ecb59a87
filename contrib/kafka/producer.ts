/** Sends records to a topic, each acknowledged by every replica that is in sync. See client-thread.ts for why there is a thread. */
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
   * Resolves when the brokers have all of them, in the order of each key. Rejects within the settings' timeout, and as soon as the
   * signal is aborted; some may have been taken then. A send that does not
   * end in time takes others that are under way with it.
   */
  send(records: readonly KafkaRecord[], signal: AbortSignal): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/** Of one request. Brokers take 1 MiB (`message.max.bytes`) of one partition unless they are told otherwise. */
const requestBytesMax = 512 * 1024
const heapMbMax = 256

interface Thread {
  readonly worker: Worker
  /** Resolves also when it ends before. */
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

  /** Starts at once, so that an attempt seldom waits for it: on a busy machine it takes longer than brokers do. */
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
      // What the process was started with (loaders, conditions, debuggers) is not for it.
      env: {},
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
    // Its words may have what a broker sent.
    worker.on('error', () => end(started, 'The brokers answer what cannot be read.'))
    worker.on('exit', () => {
      end(started, 'The client of Kafka ended.')
      resolve()
    })
    return started
  }

  /** Everybody who waits for this thread is told; the next one who sends gets another. */
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
      // One buffer that changes hands, not a copy of each pool that a small buffer lies in.
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

/** In their order, as few as may be. */
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
