/** The store of keyv, loaded and connected in the background: until it is there, everything is a miss. */
import type Keyv from 'keyv'
import type { KeyvStoreAdapter } from 'keyv'
import type { Clock, Logger } from 'svc/kernel'
import type { CacheKeyvConfig } from './config.ts'

const retryMs = 10_000
const namespace = 'svc-cache'
const redisAdapter = '@keyv/redis'
const connectMsMax = 5000

export interface Connection {
  /** Undefined before it is connected. */
  readonly store: Keyv | undefined
  /** Resolves when it is connected, or closed. */
  connected(): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/** A driver of the operator's choice. */
async function openStore({ adapter, url = '' }: CacheKeyvConfig): Promise<Keyv> {
  const [{ default: Keyv }, { default: Adapter }] = await Promise.all([import('keyv'), import(adapter)])
  const store: KeyvStoreAdapter =
    adapter === redisAdapter
      ? new Adapter(
          // Nothing waits for a server that is away: each call connects anew, and rejects at once where that fails.
          { url, disableOfflineQueue: true, socket: { connectTimeout: connectMsMax, reconnectStrategy: false } },
          { throwOnErrors: true, throwOnConnectError: true },
        )
      : new Adapter(url)
  // Each call rejects with its error; without a listener the event would end the process.
  store.on('error', () => undefined)
  const keyv = new Keyv({ store, namespace, useKeyPrefix: false, throwOnErrors: true, emitErrors: false })
  keyv.on('error', () => undefined)
  return keyv
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Errors of drivers may have the URL with its password. */
function withoutSecrets(error: unknown, url: string): string {
  const text = String((error as Error)?.message ?? error)
  const password = URL.canParse(url) ? new URL(url).password : ''
  const secrets = [url, password, decoded(password)].filter(one => one !== '')
  return secrets.reduce((told, secret) => told.replaceAll(secret, '***'), text)
}

export function connect(config: CacheKeyvConfig, clock: Clock, log: Logger): Connection {
  const { promise, resolve } = Promise.withResolvers<void>()
  let opened: Keyv | undefined
  let store: Keyv | undefined
  let isClosed = false
  let wasTold = false
  let cancel: (() => void) | undefined

  async function attempt(): Promise<void> {
    try {
      opened ??= await openStore(config)
      await opened.has('connected')
      if (isClosed) return
      store = opened
      log.info({ adapter: config.adapter }, 'the cache has a tier behind keyv')
      resolve()
    } catch (error) {
      if (isClosed) return
      const reason = withoutSecrets(error, config.url ?? '')
      if (!wasTold)
        log.warn({ reason, adapter: config.adapter }, 'the tier behind keyv does not answer: it is tried every 10 s')
      wasTold = true
      cancel = clock.after(retryMs, () => void attempt())
    }
  }

  const first = attempt()
  return {
    get store() {
      return store
    },
    connected: () => promise,
    async close() {
      isClosed = true
      store = undefined
      cancel?.()
      resolve()
      const closing = opened
      opened = undefined
      // What is being opened is closed when it is there.
      void first.then(() => opened?.disconnect().catch(() => undefined))
      await closing?.disconnect().catch(() => undefined)
    },
  }
}
