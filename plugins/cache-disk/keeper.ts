/**
 * The index of the folder, in the main thread. It knows which records exist, chooses which are evicted, and decides whether a new one is
 * admitted. Every thread reads and writes the files itself.
 *
 * Invariant: stored records, records that are being written, and files that are being deleted together never exceed the budget.
 */
import { rm } from 'node:fs/promises'
import type { Clock, Logger, MaybePromise, Random } from 'svc/kernel'
import type { TierUsage } from 'svc/plugins/cache/api'
import { blockBytes, blocksOf, DiskIndex } from './disk-index.ts'
import { openFolder } from './folder.ts'
import { pathOf, readHead } from './record-file.ts'
import { readSnapshot, writeSnapshot } from './snapshot.ts'
import { createSpace } from './space.ts'
import { createWalk, type Walk } from './walk.ts'

const snapshotMs = 60_000
const deletesAtOnce = 64

/** Calls from any thread. Callers do not change the bytes of an id afterwards. */
export interface Keeper {
  /** False only if the record certainly does not exist. */
  mayHave(id: Buffer): boolean
  /** Makes room for a file of so many bytes. After true the caller must call `written`. */
  reserve(fileBytes: number): MaybePromise<boolean>
  /** With `error` nothing was written. */
  written(id: Buffer, fileBytes: number, error?: string): void
  used(id: Buffer): void
  /** A read found no file. */
  missing(id: Buffer): void
  hasAll(ids: readonly Buffer[]): MaybePromise<boolean>
  /** Removes the record and its file. */
  remove(id: Buffer): MaybePromise<void>
}

export interface OwnKeeper extends Keeper {
  /** The calls of the thread with this number. */
  of(thread: number): Keeper
  /** The thread has ended: its reservations are released. */
  ended(thread: number): void
  heads(after: Buffer | undefined, limit: number): Promise<readonly { readonly id: Buffer; readonly head: Buffer }[]>
  usage(): TierUsage
  /** Resolves when the walk has read every folder. */
  walked(): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

export interface KeeperOptions {
  readonly dir: string
  readonly deploymentId: string
  readonly budgetBytes: number
  readonly clock: Clock
  readonly log: Logger
  readonly random: Random
}

/** Throws an error for the operator if the folder cannot be used. */
export async function openKeeper(options: KeeperOptions): Promise<OwnKeeper> {
  const { dir, deploymentId, budgetBytes, clock, log, random } = options
  const folder = await openFolder(dir, deploymentId)
  const { path } = folder
  const index = new DiskIndex(budgetBytes, random.bytes(4).readInt32LE())
  const space = createSpace(path, clock, log)
  const isKnown = folder.isNew || (await readSnapshot(path, index))
  await space.start()
  /** Room reserved for records that threads are writing, by thread. */
  const reserved = new Map<number, { blocks: number; records: number }>()
  /** Changes of the index run one after the other: a reservation waits until the files evicted for it are deleted. */
  let queue: Promise<unknown> = Promise.resolve()
  let isChanged = false
  let isOpen = true
  let walk: Walk | undefined
  let listing: { readonly last: string; readonly slot: number } | undefined
  let cancelSnapshot: (() => void) | undefined
  let snapshot: Promise<void> = Promise.resolve()

  const discard = async (ids: readonly Buffer[]): Promise<void> => {
    for (let at = 0; at < ids.length; at += deletesAtOnce) {
      const some = ids.slice(at, at + deletesAtOnce)
      await Promise.all(some.map(id => rm(pathOf(path, id), { force: true })))
    }
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => undefined)
    return done
  }

  /** Resolves when the evicted files are deleted. */
  async function makeRoom(blocks: number): Promise<boolean> {
    let taken = blocks
    let records = 1
    for (const one of reserved.values()) {
      taken += one.blocks
      records += one.records
    }
    const evicted = index.makeRoom(taken, records)
    if (evicted === undefined) return false
    await discard(evicted)
    return true
  }

  async function reserve(thread: number, blocks: number): Promise<boolean> {
    if (!(await makeRoom(blocks))) return false
    const mine = reserved.get(thread) ?? { blocks: 0, records: 0 }
    reserved.set(thread, { blocks: mine.blocks + blocks, records: mine.records + 1 })
    return true
  }

  /** False if nothing was reserved. */
  function release(thread: number, blocks: number): boolean {
    const mine = reserved.get(thread)
    if (mine === undefined || mine.records === 0) return false
    reserved.set(thread, { blocks: mine.blocks - blocks, records: mine.records - 1 })
    return true
  }

  function take(id: Buffer, blocks: number): void {
    const slot = index.set(id, blocks)
    walk?.entered(slot)
  }

  /** Adds a file that the walk has found. */
  const enter = (id: Buffer, blocks: number) =>
    inTurn(async () => {
      index.delete(id)
      if (!(await makeRoom(blocks))) return discard([id])
      take(id, blocks)
    })

  function keeperOf(thread: number): Keeper {
    return {
      mayHave: id => walk !== undefined || index.has(id),
      async reserve(fileBytes) {
        // Until the walk has read the folder, its free room is unknown.
        if (!isOpen || !space.isOpen || (walk !== undefined && !isKnown)) return false
        try {
          return await inTurn(() => reserve(thread, blocksOf(fileBytes)))
        } catch (error) {
          space.failed(error)
          return false
        }
      },
      written(id, fileBytes, error) {
        const blocks = blocksOf(fileBytes)
        const wasReserved = release(thread, blocks)
        if (error !== undefined) return space.failed(new Error(error))
        if (!isOpen) return
        // The thread was taken for dead and its reservation released.
        if (!wasReserved) return void discard([id]).catch(() => undefined)
        isChanged = true
        // Room was reserved for all of it, though it may replace a record.
        take(id, blocks)
        space.written(fileBytes)
      },
      used: id => index.mark(id),
      missing(id) {
        if (index.has(id)) void this.remove(id)
      },
      hasAll: ids => ids.every(id => index.has(id)),
      remove: id =>
        inTurn(async () => {
          if (index.delete(id)) isChanged = true
          await discard([id])
        }),
    }
  }

  function snapshotLater(): void {
    cancelSnapshot = clock.after(snapshotMs, () => {
      if (isChanged) {
        isChanged = false
        snapshot = writeSnapshot(path, index, false).catch((error: unknown) => space.failed(error))
      }
      void snapshot.then(() => isOpen && snapshotLater())
    })
  }

  walk = createWalk(path, index, enter)
  const walking = walk
    .run()
    .catch((error: unknown) => log.warn({ err: error, path }, 'SVC_CACHE_DIR could not be looked through'))
    .then(() => {
      walk = undefined
    })
  snapshotLater()

  return {
    ...keeperOf(0),
    of: keeperOf,
    ended: thread => void reserved.delete(thread),
    async heads(after, limit) {
      const last = after?.toString('hex')
      let slot = after === undefined ? 0 : listing?.last === last ? listing?.slot : index.slotOf(after)
      // The record is gone, and the last listing did not end with it: a listing cannot go on after it.
      if (slot === undefined || (after !== undefined && slot === 0)) return []
      const ids: Buffer[] = []
      for (slot = index.slotAfter(slot); slot !== 0 && ids.length < limit; slot = index.slotAfter(slot)) {
        ids.push(index.idOf(slot))
        listing = { last: (ids.at(-1) as Buffer).toString('hex'), slot }
      }
      const found: { readonly id: Buffer; readonly head: Buffer }[] = []
      for (const id of ids)
        found.push({ id, head: (await readHead(path, id).catch(() => undefined)) ?? Buffer.alloc(0) })
      return found
    },
    usage: () => ({ entries: index.size, bytes: index.blocks * blockBytes, evictions: index.evictions }),
    walked: () => walking,
    async close() {
      if (!isOpen) return
      isOpen = false
      cancelSnapshot?.()
      space.stop()
      walk?.stop()
      const isWalked = walk === undefined
      await walking
      await snapshot
      await writeSnapshot(path, index, isWalked).catch((error: unknown) =>
        log.warn(
          { err: error, path },
          'the index of SVC_CACHE_DIR could not be written: the next start looks through it',
        ),
      )
      folder.release()
    },
  }
}
