/** The service `store` in one thread: its collections, and the messages from and to the other threads. */
import type { Findings, Logger, Random, Threads } from 'svc/kernel'
import type { Cursor, Derive, Procedure, StorageService } from 'svc/plugins/storage/api'
import type { QuarantinedDocument, StoreService } from './api.ts'
import { type CollectionContext, DocumentCollection } from './collection.ts'
import { type CommitResult, createProcedures } from './commit.ts'
import { declareCollection } from './declaration.ts'
import { checkDeploymentKey, openDeploymentKey, type SealingCredentials } from './deployment-key.ts'
import { Generations, generationsBytes } from './generations.ts'
import { allDocuments, countKey, deploymentKeyKey, parseDocumentKey } from './keys.ts'
import { createPublisher, type Notice } from './publisher.ts'
import { createQuarantine } from './quarantine.ts'
import { asBuffer, isSealedRecord } from './record.ts'
import { createSealer, noSealer } from './sealer.ts'
import { collectSteps } from './transaction.ts'
import { createTurns } from './turns.ts'

const main = 0
/** Documents that are read or compared in one turn of the event loop. */
const sliceMax = 200

const message = {
  attach: 'store.attach',
  sync: 'store.sync',
  notice: 'store.notice',
  unreadable: 'store.unreadable',
  quarantined: 'store.quarantined',
} as const

interface Attachment {
  readonly memory: SharedArrayBuffer
  readonly deploymentKey: Uint8Array | undefined
}

export interface StoreOptions {
  readonly storage: StorageService
  readonly threads: Threads
  readonly random: Random
  readonly log: Logger
  readonly cacheBytes: number
  readonly credentials: SealingCredentials
}

export interface Store {
  readonly service: StoreService
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly derive: Derive
  /** For a dry run: whether the configured credentials open the secrets at rest. */
  inspect(): Promise<Findings>
  /** The same of the credentials of the next start, while this store is open. */
  inspectRestart(next: SealingCredentials): Promise<Findings>
  start(): Promise<void>
  /** Catches up with changes from before this thread was running. */
  serve(): Promise<void>
  stop(): void
  /** Compares one slice of this thread's caches with the stored documents. */
  resync(signal: AbortSignal): Promise<'more' | 'idle'>
  /** Checks one slice of all stored documents for unreadable ones. In the main thread. */
  scan(): Promise<'more' | 'done'>
}

/** Registers handlers: during set-up. */
export function createStore({ storage, threads, random, log, cacheBytes, credentials }: StoreOptions): Store {
  const collections = new Map<string, DocumentCollection>()
  const quarantine = createQuarantine(log)
  let isOpen = true
  let deploymentKey: Buffer | undefined
  let lastNotice = 0
  let toVerify: { readonly collection: DocumentCollection; readonly id: string }[] = []
  let isResyncing = false
  let scanFrom: Buffer | undefined

  const context: CollectionContext = {
    storage,
    log,
    cacheBytes,
    turns: createTurns(threads),
    generations: new Generations(new SharedArrayBuffer(generationsBytes)),
    sealer: noSealer,
    onUnreadable(document) {
      if (threads.isMain) quarantine.add(document)
      else threads.post(main, message.unreadable, document)
    },
  }

  const receive = ({ number, changes }: Notice): void => {
    if (number !== ((lastNotice + 1) | 0)) tellResync()
    lastNotice = number
    for (const { key, before, after } of changes) {
      const place = parseDocumentKey(asBuffer(key))
      const collection = place && collections.get(place.collection)
      if (collection === undefined) continue
      const { id } = place!
      if (threads.isMain) quarantine.remove(collection.declared.name, id)
      // The main thread decodes the documents even without a watcher, to find unreadable ones.
      if (!collection.isWatched && !threads.isMain) continue
      const now = after && collection.decodeAgain(id, after).document
      if (collection.isWatched) collection.tell({ id, before: before && collection.former(id, before), after: now })
    }
  }

  const tellResync = (): void => {
    for (const collection of collections.values()) collection.tellResync()
  }

  const publisher = createPublisher({
    storage,
    generations: context.generations,
    log,
    deliver(notice) {
      for (let worker = 1; worker <= threads.workerCount; worker++) threads.post(worker, message.notice, notice)
      receive(notice)
    },
  })

  threads.handle(message.notice, receive)
  // The document may have been replaced since the other thread read it: reading it again here reports it if it is still unreadable.
  threads.handle(message.unreadable, async ({ collection, id }: QuarantinedDocument) => {
    await collections.get(collection)?.problem(id)
  })
  threads.handle(message.quarantined, () => quarantine.list())
  threads.handle(message.sync, () => context.generations.published)
  threads.handle<void, Attachment>(message.attach, () => ({ memory: context.generations.memory, deploymentKey }))

  const hasSecrets = (): boolean => [...collections.values()].some(({ declared }) => declared.secrets.length > 0)

  const isKeyNeeded = async (): Promise<boolean> => {
    for (const name of collections.keys()) if (((await storage.counter(countKey(name)))[1] ?? 0) > 0) return true
    return false
  }

  const inspectCredentials = async (
    credentials: SealingCredentials,
    read: () => Promise<{ readonly stored: Uint8Array | undefined; readonly isNeeded: boolean }>,
  ): Promise<Findings> => {
    if (!hasSecrets()) return {}
    let found: Awaited<ReturnType<typeof read>>
    try {
      found = await read()
    } catch (error) {
      const why = (error as Error).message
      return { notLookedAt: [`whether the configured credentials open the secrets at rest: ${why}`] }
    }
    await checkDeploymentKey(found.stored, credentials, async () => found.isNeeded)
    return {}
  }

  const openKey = async (): Promise<Buffer> => {
    const record = await storage.get(deploymentKeyKey)
    const stored = record && Buffer.from(record.value)
    return openDeploymentKey({
      credentials,
      stored,
      random,
      log,
      isNeeded: isKeyNeeded,
      store: after => storage.execute('store.putDeploymentKey', { before: stored, after }),
    })
  }

  const catchUp = async (): Promise<void> => {
    // Messages of one thread arrive in order: every notice up to this number was received or missed.
    const published = threads.isMain ? lastNotice : await threads.call<number>(main, message.sync)
    if (((published - lastNotice) | 0) <= 0) return
    lastNotice = published
    tellResync()
  }

  const service: StoreService = {
    collection(declaration) {
      if (!isOpen) throw new Error('store: collections are declared during set-up')
      const declared = declareCollection(declaration)
      if (collections.has(declared.name)) throw new Error(`store: the collection ${declared.name} is declared twice`)
      const collection = new DocumentCollection(declared, context)
      collections.set(declared.name, collection)
      return collection as never
    },
    collections: () =>
      [...collections.values()].map(({ declared: { name, scope, archiveNote } }) => ({
        name,
        scope,
        ...(archiveNote !== undefined && { archiveNote }),
      })),
    async transaction(fill) {
      const { sequence, modifiedMs } = await storage.execute<CommitResult>('store.commit', collectSteps(fill))
      return { sequence, modifiedMs }
    },
    watchWaits: listener =>
      context.turns.watchWaits((place, waitedMs) => {
        const [collection = '', ...id] = place.split('\0')
        listener({ collection, id: id.join('\0') }, waitedMs)
      }),
    quarantined: () => (threads.isMain ? quarantine.list() : threads.call(main, message.quarantined)),
  }

  return {
    service,
    derive: publisher.derive,
    procedures: createProcedures(
      (collection, id, record) => collections.get(collection)?.decodeAgain(id, record).problem,
    ),

    inspect: () =>
      inspectCredentials(credentials, async () => {
        const record = await storage.peek(deploymentKeyKey)
        const isNeeded = record === undefined && (await storage.peekScan(...allDocuments(), hasSealed)) === true
        return { stored: record?.value, isNeeded }
      }),

    inspectRestart: next =>
      inspectCredentials(next, async () => {
        const record = await storage.get(deploymentKeyKey)
        return { stored: record && Buffer.from(record.value), isNeeded: await isKeyNeeded() }
      }),

    async start() {
      isOpen = false
      if (threads.isMain) {
        if (hasSecrets()) deploymentKey = await openKey()
        publisher.open()
      } else {
        const attachment = await threads.call<Attachment>(main, message.attach)
        context.generations = new Generations(attachment.memory)
        deploymentKey = attachment.deploymentKey && asBuffer(attachment.deploymentKey)
        lastNotice = context.generations.published
      }
      if (deploymentKey !== undefined) context.sealer = createSealer(deploymentKey, random)
    },

    serve: catchUp,

    stop() {
      publisher.close()
      context.sealer = noSealer
      deploymentKey?.fill(0)
      deploymentKey = undefined
    },

    async resync(signal) {
      if (!isResyncing) {
        isResyncing = true
        publisher.retry()
        await catchUp()
        toVerify = [...collections.values()].flatMap(collection => collection.cachedIds.map(id => ({ collection, id })))
      }
      for (let count = 0; count < sliceMax && !signal.aborted; count++) {
        const next = toVerify.pop()
        if (next === undefined) break
        const isRight = await next.collection.verify(next.id)
        if (isRight) continue
        log.error(
          { collection: next.collection.declared.name, id: next.id },
          'the cached entry of a document differed from the stored one; it was read again',
        )
      }
      if (toVerify.length > 0) return 'more'
      isResyncing = false
      tellResync()
      return 'idle'
    },

    async scan() {
      const [first, end] = allDocuments()
      const start = scanFrom ?? first
      scanFrom = await storage.scan(start, end, cursor => {
        let count = 0
        for (let more = cursor.next(); more; more = cursor.next()) {
          const key = asBuffer(cursor.key)
          if (++count > sliceMax) return Buffer.from(key)
          const place = parseDocumentKey(key)
          const collection = place && collections.get(place.collection)
          collection?.decodeAgain(place!.id, cursor.value)
        }
        return undefined
      })
      return scanFrom === undefined ? 'done' : 'more'
    },
  }
}

/** Whether any of these documents has sealed fields. */
function hasSealed(cursor: Cursor): boolean {
  const [start] = allDocuments()
  for (let isThere = cursor.seek(start); isThere; isThere = cursor.next()) {
    if (isSealedRecord(cursor.value)) return true
  }
  return false
}
