/** Acquires, renews, lists and releases locks, in any thread. The commit of the documents decides; the thread keeps no state. */
import { type Clock, isCatalogError, type Logger, type Ports } from 'svc/kernel'
import type { StoredDocument, StoreService, TransactionBuilder } from 'svc/plugins/store/api'
import type { HoldOptions, Lease, Lock, LockService } from './api.ts'
import type { LockDocument, LockDocuments } from './documents.ts'
import { lockErrors } from './errors.ts'

/** The interval of new attempts while waiting: releases on this node are signalled, those of other nodes may be seen late. */
const lookAgainMs = 500

export interface LocksOptions {
  readonly store: StoreService
  readonly documents: LockDocuments
  readonly ports: Ports
  readonly log: Logger
  /** The name of this node. */
  readonly owner: string
  readonly refreshMs: number
  readonly staleAfterMs: number
  /** Somebody did not get a lock in the time that it would wait. */
  onTimeout(): void
}

export function createLocks(options: LocksOptions): LockService {
  const { store, documents, ports, log, owner, onTimeout } = options
  const { locks, renewals } = documents
  const { clock, random } = ports
  const waitListeners = new Set<(resource: string, waitedMs: number) => void>()

  /** Undefined if another holder has it. */
  async function take(resource: string, source: string): Promise<Held | undefined> {
    const uid = Buffer.from(random.bytes(16)).toString('hex')
    try {
      await store.transaction(tx => {
        tx.put(locks, resource, { uid, owner, source, type: 'write', sinceMs: clock.now() }, { ifNoneMatch: '*' })
        tx.put(renewals, resource, { uid })
      })
    } catch (error) {
      if (isCatalogError(error) && error.code === 'precondition_failed') return undefined
      throw error
    }
    const document = await locks.get(resource)
    // Released in between: the release was meant for this lease, too.
    if (document?.value.uid !== uid) throw lost(resource)
    return { resource, uid, etag: document.etag }
  }

  async function takeWithin(resource: string, { source, waitMs = 0 }: HoldOptions): Promise<Held> {
    const startMs = milliseconds(clock)
    for (;;) {
      const held = await take(resource, source)
      const waitedMs = milliseconds(clock) - startMs
      if (held !== undefined || waitedMs >= waitMs) {
        for (const listener of waitListeners) listener(resource, waitedMs)
        if (held !== undefined) return held
        onTimeout()
        throw await refusal(resource)
      }
      await released(resource, Math.min(lookAgainMs, waitMs - waitedMs))
    }
  }

  /** Resolves when the lock was given back, at the latest after `delayMs`. */
  function released(resource: string, delayMs: number): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        cancel()
        unwatch()
        resolve()
      }
      const cancel = clock.after(delayMs, end)
      const unwatch = locks.watch(({ id, after }) => {
        if (id === resource && after === undefined) end()
      }, end)
    })
  }

  async function refusal(resource: string): Promise<Error> {
    const holder = await locks.get(resource)
    if (holder === undefined) return lockErrors.conflict()
    const { source, owner, sinceMs } = holder.value
    return lockErrors.conflict(
      `${source} holds the lock ${resource} on ${owner} since ${new Date(sinceMs).toISOString()}. Try again when it is done.`,
    )
  }

  async function giveBack({ resource, etag }: Held): Promise<void> {
    try {
      await store.transaction(tx => {
        tx.delete(locks, resource, { ifMatch: etag })
        tx.delete(renewals, resource)
      })
    } catch (error) {
      if (isCatalogError(error) && error.code === 'precondition_failed') return
      log.warn({ err: error, resource }, 'a lock could not be given back; it is released when it is stale')
    }
  }

  return {
    async hold(resource, hold, work) {
      const held = await takeWithin(resource, hold)
      const { lease, end } = keep(held, options)
      try {
        return await work(lease)
      } finally {
        end()
        await giveBack(held)
      }
    },
    list: async () => [...(await readAll(documents))].sort(byAge),
    async release(resources, uid) {
      const wanted = new Set(resources)
      const found: Lock[] = []
      for (const resource of wanted) {
        const document = await locks.get(resource)
        if (document === undefined) continue
        const lock = await describe(documents, document)
        if (uid !== undefined && lock.uid !== uid) throw heldByAnother(lock)
        await giveBack({ resource, uid: lock.uid, etag: document.etag })
        found.push(lock)
        log.warn({ resource, source: lock.source, owner: lock.owner }, 'a lock was released by an operator')
      }
      return found.sort(byAge)
    },
    watchWaits(listener) {
      waitListeners.add(listener)
      return () => waitListeners.delete(listener)
    },
  }
}

interface Held {
  readonly resource: string
  readonly uid: string
  /** The fencing token. */
  readonly etag: string
}

/** Renews and watches a lock until `end`, or until it is lost: released by an operator, or not renewed for so long that it counts as stale. */
function keep(held: Held, { store, documents, ports: { clock }, log, refreshMs, staleAfterMs }: LocksOptions) {
  const { locks, renewals } = documents
  const { resource, uid, etag } = held
  const abort = new AbortController()
  let renewedMs = milliseconds(clock)
  let hasEnded = false
  let cancel = () => {}

  const lose = () => {
    if (hasEnded || abort.signal.aborted) return
    log.warn({ resource, uid }, 'a lock is lost: the work under it stops before its next commit')
    abort.abort(lost(resource))
  }
  const renew = async () => {
    const sentMs = milliseconds(clock)
    try {
      await store.transaction(tx => {
        tx.require(locks, resource, { ifMatch: etag })
        tx.put(renewals, resource, { uid })
      })
      renewedMs = sentMs
    } catch (error) {
      if (isCatalogError(error) && error.code === 'precondition_failed') return lose()
      log.warn({ err: error, resource }, 'a lock could not be renewed; it is tried again')
    }
    // Before others may take it for stale, with any difference of clocks.
    if (milliseconds(clock) - renewedMs >= staleAfterMs - refreshMs) return lose()
    if (!hasEnded) schedule()
  }
  const schedule = () => {
    cancel = clock.after(refreshMs, () => void renew())
  }
  schedule()
  // A change may be told late, even that of the holder before: what is stored decides. One that is missed is seen by the renewal.
  const look = async () => {
    const found = await locks.get(resource)
    if (found?.etag !== etag) lose()
  }
  const unwatch = locks.watch(({ id, after }) => {
    if (id === resource && after?.etag !== etag) {
      look().catch(error =>
        log.warn({ err: error, resource }, 'a lock could not be read; its renewal tells whether it is held'),
      )
    }
  })

  const lease: Lease = {
    uid,
    signal: abort.signal,
    check() {
      abort.signal.throwIfAborted()
      const found = locks.get(resource)
      return found instanceof Promise ? found.then(requireOurs) : requireOurs(found)
    },
    fence: (tx: TransactionBuilder) => tx.require(locks, resource, { ifMatch: etag }),
  }
  function requireOurs(found: StoredDocument<LockDocument> | undefined): void {
    if (found?.etag !== etag) lose()
    abort.signal.throwIfAborted()
  }
  return {
    lease,
    end() {
      hasEnded = true
      cancel()
      unwatch()
    },
  }
}

function lost(resource: string): Error {
  return lockErrors.conflict(
    `The lock ${resource} was released while it was held. The changes until then are kept; the rest was not done.`,
  )
}

function heldByAnother({ resource, source, owner, sinceMs }: Lock): Error {
  return lockErrors.conflict(
    `The lock ${resource} was not released: by now another holder has it, ${source} on ${owner} since ${new Date(sinceMs).toISOString()}.`,
  )
}

function milliseconds(clock: Clock): number {
  return Number(clock.monotonicNs() / 1_000_000n)
}

async function readAll(documents: LockDocuments): Promise<Lock[]> {
  const found: Lock[] = []
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    const page: Awaited<ReturnType<typeof documents.locks.list>> = await documents.locks.list({ startAfter })
    for (const document of page.documents) found.push(await describe(documents, document))
    startAfter = page.next
  }
  return found
}

async function describe({ renewals }: LockDocuments, { id, value }: StoredDocument<LockDocument>): Promise<Lock> {
  const renewal = await renewals.get(id)
  const refreshedMs = renewal?.value.uid === value.uid ? renewal.modifiedMs : value.sinceMs
  return { resource: id, ...value, refreshedMs }
}

function byAge(a: Lock, b: Lock): number {
  return a.sinceMs - b.sinceMs || (a.resource < b.resource ? -1 : 1)
}
