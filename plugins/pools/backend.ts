/**
 * The storage backend `pools`: several sets as one storage. The *record set* (number 0) has all records; the others, the *blob sets*, have
 * blobs only. In the storage thread it runs commits in the record set, acquires references to blobs in other sets when a commit needs
 * them, and releases references that are no longer needed. The worker threads have a backend of their own (`worker-backend.ts`).
 */
import type { DrivesService } from 'svc/plugins/drive/api'
import type { ExecuteOptions, StorageBackend } from 'svc/plugins/storage/api'
import { isInDoubt, storageErrors } from 'svc/plugins/storage/api'
import { FreshReferences } from './fresh-references.ts'
import { createSets, type PoolsContext } from './named-sets.ts'
import { type Candidate, openPools, type PoolSet } from './opening.ts'
import { OrphanSweep } from './orphan-sweep.ts'
import { Placement } from './placement.ts'
import { type Commit, createPoolProcedures, newCommit, type TicketArgs } from './procedures.ts'
import { drivesOf } from './redundancy.ts'
import { ReferenceAcquirer } from './reference-acquirer.ts'
import { ReferenceReleaser } from './reference-releaser.ts'
import { Routing } from './routing.ts'
import { type ExecuteMessage, message, type PoolsAttachment } from './thread-messages.ts'
import { createWorkerPools } from './worker-backend.ts'

/** The open storage, for the background workers in `index.ts`. */
export interface OpenPools {
  /** By number; the first is the record set. */
  readonly sets: readonly PoolSet[]
  readonly placement: Placement
  readonly orphanSweep: OrphanSweep
  readonly releaser: ReferenceReleaser
}

export interface PoolsOptions extends PoolsContext {
  readonly drives: DrivesService
  /** Storage thread only: called with the open storage after the start, and with undefined at the stop. */
  onOpen(open: OpenPools | undefined): void
}

export function createBackend(options: PoolsOptions): StorageBackend {
  return options.threads.isMain ? createMainPools(options) : createWorkerPools(options)
}

interface Running extends OpenPools {
  readonly routing: Routing
  readonly acquirer: ReferenceAcquirer
}

/** How often a commit is tried again after acquiring references: each time, concurrent changes may make it need other ones. */
const acquireRoundsMax = 16

function createMainPools(options: PoolsOptions): StorageBackend {
  const { threads, ports, log, drives, procedures } = options
  const run = ports.random.bytes(16)
  const fresh = new FreshReferences()
  const commits = new Map<number, Commit>()
  const candidates: Candidate[] = createSets(options, index =>
    createPoolProcedures({
      procedures,
      fresh,
      commits,
      run,
      setNumber: () => candidates[index]!.number,
      onAbandoned: references => running?.releaser.add(references),
    }),
  ).map(each => ({ ...each, number: -1 }))
  let lastTicket = 0
  let running: Running | undefined
  const open = (): Running => {
    if (running === undefined) throw storageErrors.unavailable('The storage is not open.')
    return running
  }

  const execute = async <Result>(
    name: string,
    args: unknown,
    body?: Uint8Array,
    options?: ExecuteOptions,
  ): Promise<Result> => {
    const { acquirer, releaser } = open()
    const asked = new Set<string>()
    try {
      for (let rounds = 0; ; rounds++) {
        const commit = newCommit()
        try {
          return await executeOnce<Result>(commit, name, args, body, options)
        } catch (error) {
          if (commit.missing.length === 0 || rounds === acquireRoundsMax) throw error
        } finally {
          // While this commit ran, another one that had acquired them could not abandon them.
          for (const reference of commit.touched) if (!fresh.isByWriter(reference)) asked.add(reference)
        }
        await acquirer.acquire(commit.missing, asked)
      }
    } finally {
      releaser.add([...asked].filter(reference => fresh.abandon(reference)))
    }
  }

  const executeOnce = async <Result>(
    commit: Commit,
    name: string,
    args: unknown,
    body: Uint8Array | undefined,
    options: ExecuteOptions | undefined,
  ): Promise<Result> => {
    const { routing, releaser } = open()
    const ticket = ++lastTicket
    commits.set(ticket, commit)
    try {
      const ticketed: TicketArgs = { ticket, args }
      const result = await routing.records.execute<Result>(name, ticketed, body, options)
      releaser.add(fresh.onAcknowledged(commit.used))
      releaser.add(commit.dropped)
      return result
    } catch (error) {
      if (commit.hasThrown || !isInDoubt(error)) fresh.onRefused(commit.used, commit)
      else {
        releaser.add(fresh.onInDoubt(commit.used, commit), true)
        releaser.add(commit.dropped, true)
      }
      throw error
    } finally {
      commits.delete(ticket)
    }
  }

  if (threads.workerCount > 0) {
    threads.handle<void, PoolsAttachment>(message.attach, () => {
      const { sets, placement } = open()
      const order = sets.map(({ number }) => candidates.findIndex(candidate => candidate.number === number))
      return { order, cells: placement.cells.buffer as SharedArrayBuffer }
    })
    threads.handle<ExecuteMessage, unknown>(message.execute, ({ name, args, body, options }) =>
      execute(name, args, body, options),
    )
    threads.handle(message.status, () => drivesOf(open().sets))
  }

  return {
    get inlineBytesMax() {
      return candidates[0]!.set.inlineBytesMax
    },
    async start() {
      const sets = await openPools({ candidates, drives, log })
      try {
        const placement = new Placement(Placement.memoryFor(sets.length), ports.random)
        await placement.look(sets)
        const backends = sets.map(({ backend }) => backend)
        running = {
          sets,
          placement,
          orphanSweep: new OrphanSweep({ sets, run, log }),
          releaser: new ReferenceReleaser({ sets, clock: ports.clock, log }),
          routing: new Routing(backends, placement),
          acquirer: new ReferenceAcquirer(sets, fresh),
        }
        options.onOpen(running)
      } catch (error) {
        await Promise.all(sets.map(({ backend }) => backend.stop()))
        throw error
      }
    },
    async stop() {
      const closing = running
      running = undefined
      options.onOpen(undefined)
      if (closing === undefined) return
      await closing.releaser.close()
      await Promise.all(closing.sets.map(({ backend }) => backend.stop()))
    },
    execute,
    get: key => open().routing.records.get(key),
    scan: (start, end, visit) => open().routing.records.scan(start, end, visit),
    scanDerived: (start, end, visit) => open().routing.records.scanDerived(start, end, visit),
    counter: key => open().routing.records.counter(key),
    counters: (start, end, limit) => open().routing.records.counters(start, end, limit),
    readBody: ref => open().routing.records.readBody(ref),
    createBlob: (sizeHint, options) => open().routing.createBlob(sizeHint, options),
    pinBlobs: refs => open().routing.pinBlobs(refs),
    readBlob: (ref, start, length) => open().routing.readBlob(ref, start, length),
    drives: () => (running === undefined ? [] : drivesOf(running.sets)),
  }
}
