/**
 * All sets together, as the service `redundancy` offers them to `heal`. The shards of a record are its own shards, in the record set, and
 * the shards of its remote references in blob sets.
 */
import type { HealCounts, HealOutcome, PlacedSet, RedundantStorage, ShardState } from 'svc/plugins/erasure/api'
import { sumOf } from 'svc/plugins/erasure/api'
import type { DriveStatus, RecordKey } from 'svc/plugins/storage/api'
import { idInSet, setOfBlob } from './blob-ids.ts'
import { groupOf } from './blob-references.ts'
import type { PoolSet } from './opening.ts'
import { decodeReferences, type ReferenceEntry, referencesKey } from './record-references.ts'
import {
  remoteReferenceEnd,
  remoteReferenceKey,
  remoteReferenceStart,
  remoteReferencesOf,
} from './remote-references.ts'

/** Tables from here on are reserved for backends. */
const usersEnd = Buffer.from([0xfe])
/** Prefix of scrub positions in blob sets, which no record key has. The number of the set follows, then a key. */
const positionMark = Buffer.from([0xff, 0xff])

/** From best to worst: if several blobs of a record have shards on a drive, the worst state counts. */
const order: readonly ShardState[] = ['ok', 'offline', 'missing', 'corrupt']

type States = (ShardState | undefined)[]

export function createRedundantStorage(pools: readonly PoolSet[]): RedundantStorage {
  // They are open: this storage exists from the start to the stop only.
  const sets = pools.map(({ backend, pool, set, number }) => ({ backend, pool, set, number, of: backend.redundant! }))
  const records = sets[0]!
  // Positions are by pool, set and slot.
  const inOrder = [...sets].sort((a, b) => a.pool - b.pool || a.set - b.set)
  const offsets = new Map<number, number>()
  let driveCount = 0
  for (const { number, of } of inOrder) {
    offsets.set(number, driveCount)
    driveCount += of.driveCount
  }
  const placed: readonly PlacedSet[] = inOrder.map(({ pool, set, of }) => ({ pool, set, redundant: of }))
  const sum = (count: keyof HealCounts) => sets.reduce((total, { of }) => total + of.counts[count], 0)

  const referencesOf = async (key: RecordKey): Promise<readonly ReferenceEntry[]> => {
    const place = referencesKey(key)
    const found = await records.backend.get(place)
    return found === undefined ? [] : decodeReferences(place, found.value)
  }
  /** Makes each set check that its folders still hold its drives. */
  const askFolders = () => Promise.all(sets.map(({ of }) => of.drives()))
  const remoteReferenceOf = ({ reference }: ReferenceEntry) => ({
    set: sets[setOfBlob(reference)]!,
    key: remoteReferenceKey(idInSet(reference)),
  })

  return {
    sets: placed,
    get isWhole() {
      return sets.every(({ of }) => of.isWhole)
    },
    get canWrite() {
      return sets.every(({ of }) => of.canWrite)
    },
    get failingCount() {
      return sets.reduce((count, { of }) => count + of.failingCount, 0)
    },
    get unmarkedShardCount() {
      return sets.reduce((count, { of }) => count + of.unmarkedShardCount, 0)
    },
    get foundShardCount() {
      return sets.reduce((count, { of }) => count + of.foundShardCount, 0)
    },
    counts: {
      get healed() {
        return sum('healed')
      },
      get failed() {
        return sum('failed')
      },
      get scrubbed() {
        return sum('scrubbed')
      },
      get damaged() {
        return sum('damaged')
      },
    },
    async drives() {
      await askFolders()
      return drivesOf(pools)
    },
    async amounts(some) {
      const remoteReferences = some && [...new Set(some.map(groupOf))].map(remoteReferencesOf)
      const readings = await Promise.all(
        sets.map(({ of, number }) => of.amounts(number === 0 ? some : remoteReferences)),
      )
      return sumOf(readings)
    },
    page: (start, end) => records.of.page(start, Buffer.compare(end, usersEnd) > 0 ? usersEnd : end),
    async heal(key, options) {
      const gathered = new Gathering(driveCount)
      gathered.add(await records.of.heal(key, options), offsets.get(0)!)
      for (const entry of await referencesOf(key)) {
        const remoteReference = remoteReferenceOf(entry)
        const outcome = await remoteReference.set.of.heal(remoteReference.key, options)
        // The record may have been deleted in the meantime; otherwise the blob is lost.
        const isLost = outcome === undefined && (await isReferred(key, entry))
        if (isLost) gathered.onLost()
        else gathered.add(outcome, offsets.get(remoteReference.set.number)!)
      }
      return gathered.outcome
    },
    async isLost(key) {
      if (await records.of.isLost(key)) return true
      for (const entry of await referencesOf(key)) {
        const { set, key: remoteReference } = remoteReferenceOf(entry)
        const isThere = (await set.backend.get(remoteReference)) !== undefined
        if (!isThere) await askFolders()
        const isOneLost = isThere ? await set.of.isLost(remoteReference) : set.of.isWhole
        if (isOneLost && (await isReferred(key, entry))) return true
      }
      return false
    },
    async scrubSome(from, signal) {
      if (from === undefined || from.compare(positionMark, 0, 2, 0, Math.min(2, from.length)) !== 0) {
        return (await records.of.scrubSome(from, signal)) ?? positionIn(1)
      }
      const number = from[2] ?? 1
      const set = sets[number]
      if (set === undefined) return undefined
      const next = await set.of.scrubSome(from.subarray(3), signal)
      return next === undefined || Buffer.compare(next, remoteReferenceEnd) >= 0
        ? positionIn(number + 1)
        : Buffer.concat([positionMark, Buffer.from([number]), next])
    },
  }

  /** Undefined after the last set. */
  function positionIn(number: number): Buffer | undefined {
    return number < sets.length ? Buffer.concat([positionMark, Buffer.from([number]), remoteReferenceStart]) : undefined
  }

  async function isReferred(key: RecordKey, { id }: ReferenceEntry): Promise<boolean> {
    return (await referencesOf(key)).some(entry => entry.id === id)
  }
}

/** Combines the outcomes of one record in several sets. */
class Gathering {
  readonly #before: States
  readonly #after: States
  #isAnything = false
  #isReadable = true
  #error: string | undefined
  #dataBytes = 0

  constructor(driveCount: number) {
    this.#before = new Array(driveCount).fill(undefined)
    this.#after = new Array(driveCount).fill(undefined)
  }

  add(outcome: HealOutcome | undefined, offset: number): void {
    if (outcome === undefined) return
    this.#isAnything = true
    mix(this.#before, outcome.before, offset)
    mix(this.#after, outcome.after, offset)
    this.#isReadable &&= outcome.isReadable
    this.#error ??= outcome.error
    this.#dataBytes += outcome.dataBytes
  }

  onLost(): void {
    this.#isAnything = true
    this.#isReadable = false
    this.#error ??= 'A blob that the record refers to is not in its set.'
  }

  get outcome(): HealOutcome | undefined {
    if (!this.#isAnything) return undefined
    const [before, after] = [this.#before, this.#after]
    return { before, after, isReadable: this.#isReadable, error: this.#error, dataBytes: this.#dataBytes }
  }
}

function mix(states: States, more: readonly (ShardState | undefined)[], offset: number): void {
  for (const [slot, state] of more.entries()) {
    const present = states[offset + slot]
    if (state !== undefined && (present === undefined || order.indexOf(state) > order.indexOf(present))) {
      states[offset + slot] = state
    }
  }
}

/** Drives of all sets, with their places in the storage. */
export async function drivesOf(pools: readonly PoolSet[]): Promise<readonly DriveStatus[]> {
  const inOrder = [...pools].sort((a, b) => a.pool - b.pool || a.set - b.set)
  const statuses = await Promise.all(
    inOrder.map(async ({ backend, pool, set }) => {
      const drives = await backend.drives()
      return drives.map(drive =>
        drive.place === undefined ? drive : { ...drive, place: { ...drive.place, pool, set } },
      )
    }),
  )
  return statuses.flat()
}
