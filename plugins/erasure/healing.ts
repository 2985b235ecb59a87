/**
 * Rebuilds missing and corrupt shards, record by record, from the shards of other drives. Once a drive confirms that it has stored its
 * shard, the record says so; the shard counts as present when a write quorum of drives has stored the changed record. A drive that fails
 * does not hinder the others: its shard stays missing until the repair loop or a heal job tries again.
 *
 * Also marks shards as missing: those that a deep check, a reader or a drive found missing or corrupt (`markMissingShards`).
 *
 * `RepairLoop` calls it in the background; `redundancy.ts` calls it for heal jobs.
 */
import type { Clock } from 'svc/kernel'
import { anyBlobCheck } from 'svc/plugins/drive/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { RecordHealth, ShardState } from './api.ts'
import { SetBlobReader } from './blob-reading.ts'
import { readShards } from './body-reading.ts'
import type { ErasureSet } from './erasure-set.ts'
import { shardBytesOf } from './layout.ts'
import type { Member } from './member.ts'
import { keyOfOwner, ownerRange } from './set-keys.ts'
import { type Mark, procedure } from './set-procedures.ts'
import { type BlobEntry, hasShards, headOf, type RecordHead } from './set-record.ts'
import { checkOfBlob, idInSlot, isAboutShard, type MissingShard, rotationOfBlob, type SetView } from './set-view.ts'
import type { StripeWindow } from './stripe-window.ts'

export interface HealOptions {
  /** Also reads every shard that the record says is there. */
  readonly deep: boolean
  readonly dryRun: boolean
}

/** Whether the shard has to be rebuilt. */
export function needsRebuild(state: ShardState | undefined): boolean {
  return state === 'missing' || state === 'corrupt'
}

/** The drive that needs a shard, fixed when the healing begins: by its end another drive may have the slot. */
type Target = Pick<Member, 'slot' | 'drive' | 'generation'>
type Place = Pick<Member, 'slot' | 'drive'>

function targetOf({ slot, drive, generation }: Member): Target {
  return { slot, drive, generation }
}

/**
 * A large blob is healed in windows. While clients use the set, healing pauses after each window for twice the window's duration, at most half a
 * second.
 */
const restTimes = 2
const restMsMax = 500
/** Clients use the set if the last request was less than this long ago. */
const foregroundMsMax = 100

export interface Foreground {
  readonly clock: Clock
  msSinceRequest(): number
}

export class Healing {
  readonly #set: ErasureSet
  readonly #newId: () => string
  readonly #foreground: Foreground
  /** Records that are being healed, by key as latin1: one record is healed by one caller at a time. */
  readonly #busy = new Map<string, Promise<unknown>>()
  /** Missing shards that are about to be marked, by record. */
  #marking = new Map<string, PendingMark>()

  constructor(set: ErasureSet, newId: () => string, foreground: Foreground) {
    this.#set = set
    this.#newId = newId
    this.#foreground = foreground
  }

  /** Undefined if there is no such record, or it has no shards. Calls for the same record run one after the other. */
  async heal(key: Buffer, options: HealOptions): Promise<RecordHealth | undefined> {
    const name = key.latin1Slice()
    for (let other = this.#busy.get(name); other !== undefined; other = this.#busy.get(name)) await other
    const healing = this.#healAlone(key, options).finally(() => this.#busy.delete(name))
    this.#busy.set(
      name,
      healing.catch(() => undefined),
    )
    return healing
  }

  async #healAlone(key: Buffer, { deep, dryRun }: HealOptions): Promise<RecordHealth | undefined> {
    const found = await this.#set.leader().drive.get(key)
    if (found === undefined) return undefined
    const head = headOf(found.value)
    if (!hasShards(head)) return undefined
    const before = this.#statesOf(head)
    if (deep) await this.#verify(key, head, before, dryRun)
    const targets = this.#set.members.filter(({ slot }) => needsRebuild(before[slot])).map(targetOf)
    const { dataBytes } = head
    const dataCount = this.#set.dataCount + head.lessParity
    if (targets.length === 0 || dryRun) return { before, after: before, error: undefined, dataBytes, dataCount }
    let error: string | undefined
    try {
      if (head.body === 'sharded') await this.#healBody(key, head, targets)
      else await this.#healBlobs(key, head, targets)
    } catch (cause) {
      error = String((cause as Error).message ?? cause)
    }
    // The outcome is what the record says now.
    const now = await this.#set.leader().drive.get(key)
    if (now === undefined) return undefined
    const changed = headOf(now.value)
    return { before, after: hasShards(changed) ? this.#statesOf(changed) : [], error, dataBytes, dataCount }
  }

  #statesOf({ generations }: RecordHead): ShardState[] {
    return this.#set.members.map(({ slot, generation, takesWrites }) =>
      !takesWrites ? 'offline' : generations[slot] === generation ? 'ok' : 'missing',
    )
  }

  /**
   * Reads every shard that should be there. Unless `dryRun`, marks missing and corrupt ones so that the ledger counts them; without a write quorum it
   * reports them to be marked later.
   */
  async #verify(key: Buffer, head: RecordHead, states: ShardState[], dryRun: boolean): Promise<void> {
    const lost = new Map<number, number>()
    for (const member of this.#set.members) {
      const { slot } = member
      if (states[slot] !== 'ok') continue
      const state = await this.lookAtShards(member, key, head)
      if (state === 'ok') continue
      states[slot] = state
      lost.set(slot, 0)
    }
    if (lost.size === 0 || dryRun) return
    if (this.#set.currentCount >= this.#set.writeQuorum) {
      await this.#set.mark([{ key, identity: head.identity, changes: lost }])
    } else for (const slot of lost.keys()) this.#set.onMissingShard({ slot, key, identity: head.identity })
  }

  /** Reads the drive's shards of a record, whatever the record says of them. Reports 'ok' if the drive itself fails. */
  async lookAtShards(member: Member, key: Buffer, head: RecordHead): Promise<'ok' | 'missing' | 'corrupt'> {
    try {
      if (head.body === 'sharded') {
        const record = await member.drive.get(key)
        // The drive is about to get this record or has a newer one: nothing can be said.
        if (record === undefined || headOf(record.value).identity !== head.identity) return 'ok'
        if (record.body === undefined) return 'missing'
        await member.drive.readBody(record.body)
        return 'ok'
      }
      for (const blob of head.blobs) await readWhole(member, blob, shardBytesOfBlob(this.#set, blob))
      return 'ok'
    } catch (error) {
      if (isAboutShard(error)) return (error as { code?: unknown }).code === 'corrupt' ? 'corrupt' : 'missing'
      this.#set.onDriveError(member.slot, error)
      return 'ok'
    }
  }

  /**
   * Whether a drive has the blobs of a record after all that it has noted as missing: it had no record of them, and files stay for a while
   * without one. Bodies in its journal it knows itself.
   */
  async hasNoted(
    { drive, slot }: Member,
    { key, identity }: { readonly key: Buffer; readonly identity: number },
  ): Promise<boolean> {
    const record = await this.#set.leader().drive.get(key)
    const head = record && headOf(record.value)
    if (head === undefined || head.identity !== identity || head.body === 'sharded') return false
    try {
      for (const blob of head.blobs) {
        await drive.syncBlob(idInSlot(blob.id, slot))
        await readEnd({ drive, slot }, blob, shardBytesOfBlob(this.#set, blob))
      }
      return true
    } catch {
      return false
    }
  }

  async #healBody(key: Buffer, head: RecordHead, targets: readonly Target[]): Promise<void> {
    const set = this.#set
    const { shards, present } = await readShards(set, key, head)
    const length = shards.find(shard => shard !== undefined)!.length
    let wanted = 0
    for (const { slot } of targets) wanted |= 1 << this.#shardOf(slot, head.rotation)
    for (let shard = 0; shard < set.slotCount; shard++) {
      if ((wanted & (1 << shard)) !== 0 && shards[shard] === undefined) shards[shard] = Buffer.allocUnsafe(length)
    }
    set.codeOf(head.parityCount).reconstruct(shards, present, wanted)
    const id = this.#newId()
    const staged: Target[] = []
    await Promise.all(
      targets.map(async member => {
        try {
          await member.drive.execute(procedure.stage, { id }, shards[this.#shardOf(member.slot, head.rotation)]!)
          staged.push(member)
        } catch (error) {
          set.onDriveError(member.slot, error)
        }
      }),
    )
    if (staged.length === 0) throw storageErrors.unavailable('No drive took its shard.')
    await this.#mark(key, head, staged, { id, slots: staged.map(({ slot }) => slot) })
  }

  #shardOf(slot: number, rotation: number): number {
    const { slotCount } = this.#set
    return (slot - rotation + slotCount) % slotCount
  }

  async #mark(key: Buffer, head: RecordHead, targets: readonly Target[], staged?: Mark['staged']): Promise<void> {
    const changes = new Map(targets.map(({ slot, generation }) => [slot, generation]))
    this.#dropMissingShards(key, head, targets)
    const count = await this.#set.mark([{ key, identity: head.identity, changes, staged }])
    if (count > 0 || staged === undefined) return
    // The record was replaced in the meantime: nothing will use the staged shards.
    await Promise.all(targets.map(({ drive }) => drive.execute(procedure.unstage, [staged.id]).catch(() => undefined)))
  }

  /** A shard that was reported missing before it was rebuilt must not be marked as missing afterwards. */
  #dropMissingShards(key: Buffer, head: RecordHead, targets: readonly Target[]): void {
    const blobIds = head.blobs.map(({ id }) => id)
    const mark = this.#marking.get(nameOf(key, head.identity))
    for (const { slot } of targets) {
      this.#set.missingShards.remove(slot, key, blobIds)
      mark?.changes.delete(slot)
    }
  }

  /** A drive has a record's blobs only when it has each of them. */
  async #healBlobs(key: Buffer, head: RecordHead, targets: readonly Target[]): Promise<void> {
    const done = new Set(targets)
    let error: unknown
    for (const blob of head.blobs) {
      const missing: Target[] = []
      for (const member of done) {
        try {
          await readWhole(member, blob, shardBytesOfBlob(this.#set, blob))
          // The shard is there, but may not be on stable storage yet: its record does not count it.
          await member.drive.syncBlob(idInSlot(blob.id, member.slot))
        } catch {
          missing.push(member)
        }
      }
      if (missing.length === 0) continue
      try {
        for (const [member, cause] of await this.#writeShards(blob, missing)) {
          done.delete(member)
          error ??= cause
        }
      } catch (cause) {
        error ??= cause
        for (const member of missing) done.delete(member)
      }
      if (done.size === 0) break
    }
    if (done.size > 0) await this.#mark(key, head, [...done])
    if (error !== undefined) throw error
  }

  /** Resolves with the drives that failed, and their errors. */
  async #writeShards(blob: BlobEntry, targets: readonly Target[]): Promise<Map<Target, unknown>> {
    const set = this.#set
    const rotation = rotationOfBlob(blob.id, set.slotCount)
    const shardBytes = shardBytesOfBlob(this.#set, blob)
    const missing = targets.reduce((mask, { slot }) => mask | (1 << this.#shardOf(slot, rotation)), 0)
    const parityCount = blob.parityCount ?? set.parityCount
    const ref = { ...blob, check: checkOfBlob(set, parityCount) }
    const reader = new SetBlobReader(set, ref, 0, blob.size, missing)
    const writers = targets.map(member => ({
      member,
      shard: this.#shardOf(member.slot, rotation),
      writer: member.drive.createBlob(shardBytes, { id: idInSlot(blob.id, member.slot) }),
      error: undefined as unknown,
    }))
    const dataMask = (1 << (set.slotCount - parityCount)) - 1
    let wanted = 0
    for (const { shard } of writers) wanted |= 1 << shard
    const write = async (each: (typeof writers)[number], window: StripeWindow, stripe: number): Promise<void> => {
      if (each.error !== undefined) return
      try {
        await each.writer.write(window.unitAt(each.shard, stripe))
      } catch (error) {
        each.error = error
        // Not awaited: it may hang. From here on it does not use the window's memory any more.
        each.writer.abort().catch(() => undefined)
      }
    }
    try {
      let beganMs = this.#foreground.clock.now()
      for (let window = await reader.readStripes(); window !== undefined; window = await reader.readStripes()) {
        window.reconstruct(dataMask, wanted)
        for (let stripe = 0; stripe < window.stripeCount; stripe++) {
          await Promise.all(writers.map(each => write(each, window!, stripe)))
        }
        window.release()
        await this.#yieldToForeground(beganMs)
        beganMs = this.#foreground.clock.now()
      }
      await Promise.all(
        writers.map(async each => {
          try {
            if (each.error === undefined) await each.writer.finish()
          } catch (error) {
            each.error = error
          }
        }),
      )
    } catch (error) {
      await Promise.all(writers.map(({ writer }) => writer.abort().catch(() => undefined)))
      throw error
    } finally {
      reader.close()
    }
    const failed = new Map<Target, unknown>()
    for (const { member, writer, error } of writers) {
      if (error === undefined) continue
      await writer.abort().catch(() => undefined)
      set.onDriveError(member.slot, error)
      failed.set(member, error)
    }
    return failed
  }

  /** `beganMs`: when the healing of the last window began. */
  async #yieldToForeground(beganMs: number): Promise<void> {
    const { clock, msSinceRequest } = this.#foreground
    if (msSinceRequest() > foregroundMsMax) return
    const restMs = Math.min(restMsMax, restTimes * (clock.now() - beganMs))
    await new Promise<void>(resolve => {
      clock.after(restMs, resolve)
    })
  }

  /** Marks shards that readers and drives found missing. Resolves with how many records were marked. */
  async markMissingShards(missingShards: readonly MissingShard[]): Promise<number> {
    const marks = new Map<string, PendingMark>()
    this.#marking = marks
    for (const { slot, key, identity, blobId } of missingShards) {
      if (key !== undefined && identity !== undefined) addMark(marks, key, identity, slot)
      else if (blobId !== undefined) {
        for (const owner of await this.#ownersOf(blobId)) addMark(marks, owner.key, owner.identity, slot)
      }
    }
    const left = [...marks.values()].filter(({ changes }) => changes.size > 0)
    return left.length === 0 ? 0 : this.#set.mark(left)
  }

  /** Whether a record of the leader references the blob. */
  async isOwned(blobId: string): Promise<boolean> {
    return this.#set.leader().drive.scanDerived(...ownerRange(blobId), cursor => cursor.next())
  }

  async #ownersOf(blobId: string): Promise<{ readonly key: Buffer; readonly identity: number }[]> {
    const { drive } = this.#set.leader()
    const keys = await drive.scanDerived(...ownerRange(blobId), cursor => {
      const found: Buffer[] = []
      while (cursor.next()) found.push(keyOfOwner(Buffer.from(cursor.key)))
      return found
    })
    const owners: { key: Buffer; identity: number }[] = []
    for (const key of keys) {
      const record = await drive.get(key)
      if (record !== undefined) owners.push({ key, identity: headOf(record.value).identity })
    }
    return owners
  }
}

/** Length of each of the blob's shards. */
export function shardBytesOfBlob(
  { slotCount, parityCount, unitBytes }: Pick<SetView, 'slotCount' | 'parityCount' | 'unitBytes'>,
  blob: BlobEntry,
): number {
  const dataCount = slotCount - (blob.parityCount ?? parityCount)
  return shardBytesOf({ bodyBytes: blob.size, dataCount, unitBytes })
}

interface PendingMark {
  readonly key: Buffer
  readonly identity: number
  readonly changes: Map<number, number>
}

function nameOf(key: Buffer, identity: number): string {
  return `${identity} ${key.latin1Slice()}`
}

function addMark(marks: Map<string, PendingMark>, key: Buffer, identity: number, slot: number): void {
  const name = nameOf(key, identity)
  const mark = marks.get(name) ?? { key, identity, changes: new Map() }
  mark.changes.set(slot, 0)
  marks.set(name, mark)
}

function readWhole(target: Place, blob: BlobEntry, shardBytes: number): Promise<void> {
  return readFrom(0, target, blob, shardBytes)
}

/** Of a file that was cut off, the end is missing, and so is its table of checksums. */
function readEnd(target: Place, blob: BlobEntry, shardBytes: number): Promise<void> {
  return readFrom(Math.max(0, shardBytes - 1), target, blob, shardBytes)
}

async function readFrom(start: number, { drive, slot }: Place, { id }: BlobEntry, shardBytes: number): Promise<void> {
  const ref = { id: idInSlot(id, slot), size: shardBytes, check: anyBlobCheck }
  const reader = drive.readBlob(ref, start, shardBytes - start)
  try {
    if (shardBytes === 0) return
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) chunk.release()
  } finally {
    reader.close()
  }
}
