/**
 * Keeps the books of the folder, in the main thread: which records are there, which give way, whether anything is admitted. Every thread
 * reads and writes the files itself.
 *
 * Invariant: the blocks of all records, of those that are being written, and of files that are being deleted never exceed the budget.
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

/** What the threads ask of it. Ids are bytes that nobody changes. */
export interface Keeper {
  /** False: there certainly is no such record. */
  mayHave(id: Buffer): boolean
  /** Makes room for a file of so many bytes. True: it has to be followed by `written`. */
  reserve(fileBytes: number): MaybePromise<boolean>
  /** `error`: nothing was written. */
  written(id: Buffer, fileBytes: number, error?: string): void
  used(id: Buffer): void
  /** There is no file of it. */
  missing(id: Buffer): void
  hasAll(ids: readonly Buffer[]): MaybePromise<boolean>
  /** The file, too. */
  remove(id: Buffer): MaybePromise<void>
}

export interface OwnKeeper extends Keeper {
  /** For a thread with this number. */
  of(thread: number): Keeper
  /** A thread has ended: nothing that it was writing is written. */
  ended(thread: number): void
  heads(after: Buffer | undefined, limit: number): Promise<readonly { readonly id: Buffer; readonly head: Buffer }[]>
  usage(): TierUsage
  /** Resolves when every folder was looked into. */
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

/** Throws a sentence where the folder cannot be used. */
export async function openKeeper(options: KeeperOptions): Promise<OwnKeeper> {
  const { dir, deploymentId, budgetBytes, clock, log, random } = options
  const folder = await openFolder(dir, deploymentId)
  const { path } = folder
  const index = new DiskIndex(budgetBytes, random.bytes(4).readInt32LE())
  const space = createSpace(path, clock, log)
  const isKnown = folder.isNew || (await readSnapshot(path, index))
  await space.start()
  /** What threads are writing. */
  const reserved = new Map<number, { blocks: number; records: number }>()
  /** One after the other: whoever needs room waits until the files are gone that gave way to others. */
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

  /** Resolves when the files that had to give way are gone. */
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

  /** False: nothing was reserved. */
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

  /** A file that is there already. */
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
        // Before the folder is known, nobody knows how much room there is.
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
        // Of a thread that was taken for dead.
        if (!wasReserved) return void discard([id]).catch(() => undefined)
        isChanged = true
        // Room was made for it; what it replaces gives more.
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
      // A record that has gone, and is not where the last listing has ended: nobody goes on from there.
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
