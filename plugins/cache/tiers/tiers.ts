/**
 * The tiers behind the memory of a thread, in the order of the configuration. The first that has a record answers.
 *
 * - Only answers of objects are stored there, because only they can be confirmed: whole ones of at most 64 KiB; of larger ones an entry without
 *   the body, and blocks. Other answers are read from their origin again.
 * - A record is written when its answer is stored in memory, not when it leaves it, so that a crash loses little. It is written only while its
 *   fences hold, so it has every change that they count.
 * - Requests do not wait for writes. A record is not written if more than 16 MiB would then be under way.
 */
import type { MaybePromise } from 'svc/kernel'
import type { FoundRecord, TierRecord, TierUsage } from '../api.ts'
import type { Holds } from '../engine/storing.ts'
import type { StoredRecord, Variant } from '../engine/variant.ts'
import type { GuardedTier } from './guarded-tier.ts'
import { decodeBlock, decodeEntry, encodeBlock, encodeEntry } from './record.ts'
import type { Seal } from './seal.ts'

const writtenBytesMax = 16 * 1024 * 1024
/** Counted for each record that is being written, beside its head and body. */
const writeOverheadBytes = 512

/** A value that a tier had, and the tier's name. */
export interface FoundIn<T> {
  readonly value: T
  readonly source: string
}

/** `release`: set only if the bytes belong to the tier; call it when nobody reads them any more. */
export type FoundBlock = FoundIn<Buffer> & { readonly release: (() => void) | undefined }

export interface NamedUsage extends TierUsage {
  readonly tier: string
  readonly limitBytes: number
  readonly isPaused: boolean
}

export interface Tiers {
  readonly isEmpty: boolean
  entry(id: string): Promise<FoundIn<Variant> | undefined>
  block(id: string): Promise<FoundBlock | undefined>
  /** Resolves with the name of the first tier that has all of these blocks. */
  tierOfAll(ids: readonly string[]): MaybePromise<string | undefined>
  putEntry(id: string, variant: Variant): void
  /** `record`: the record of the entry that the block belongs to. */
  putBlock(id: string, bytes: Buffer, record: StoredRecord): void
  delete(id: string): void
  /** All tiers, for the sweeper. */
  readonly all: readonly GuardedTier[]
  /** Usage by this thread. The main thread alone reports tiers that threads share. */
  usage(): readonly NamedUsage[]
}

export interface TiersOptions {
  readonly tiers: readonly GuardedTier[]
  readonly seal: () => Seal
  readonly holds: Holds
}

/** Valid checksums do not prove that the fields are those of this release: a decoding error is a miss. */
function orNone<T>(decode: () => T | undefined): T | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}

const bytesOf = (id: string) => Buffer.from(id, 'latin1')

export const noTiers: Tiers = {
  isEmpty: true,
  entry: async () => undefined,
  block: async () => undefined,
  tierOfAll: () => undefined,
  putEntry() {},
  putBlock() {},
  delete() {},
  all: [],
  usage: () => [],
}

export function createTiers({ tiers, seal, holds }: TiersOptions): Tiers {
  let writtenBytes = 0

  async function find<T>(
    id: string,
    decode: (id: string, record: FoundRecord, seal: Seal) => T | undefined,
  ): Promise<(FoundIn<T> & Pick<FoundBlock, 'release'>) | undefined> {
    const idBytes = bytesOf(id)
    for (const tier of tiers) {
      const record = await tier.get(idBytes)
      if (record === undefined) continue
      const release = record.release?.bind(record)
      const value = orNone(() => decode(id, record, seal()))
      if (value !== undefined) return { value, source: tier.name, release }
      release?.()
      // The record is damaged, of another release, or encrypted by a process that is gone.
      void tier.delete(idBytes)
    }
    return undefined
  }

  async function write(id: string, record: TierRecord): Promise<void> {
    const bytes = record.head.length + record.body.length + writeOverheadBytes
    writtenBytes += bytes
    try {
      const idBytes = bytesOf(id)
      await Promise.all(tiers.map(tier => tier.put(idBytes, record)))
    } finally {
      writtenBytes -= bytes
    }
  }

  const mayWrite = (bytes: number, { fences }: StoredRecord) =>
    writtenBytes + bytes + writeOverheadBytes <= writtenBytesMax && fences.length > 0 && holds(fences)

  return {
    get isEmpty() {
      return tiers.length === 0
    },
    async entry(id) {
      const found = await find(id, decodeEntry)
      found?.release?.()
      return found
    },
    async block(id) {
      let isOfTier = false
      const found = await find(id, (id, record, seal) => {
        const plain = decodeBlock(id, record, seal)
        isOfTier = plain === record.body
        return plain
      })
      if (found === undefined || isOfTier) return found
      found.release?.()
      return { ...found, release: undefined }
    },
    async tierOfAll(ids) {
      const idBytes = ids.map(bytesOf)
      for (const tier of tiers) if (await tier.hasAll(idBytes)) return tier.name
      return undefined
    },
    putEntry(id, variant) {
      const { record, sizeBytes, body, vary } = variant
      // An empty object is not written: reading it from its origin is as quick.
      if (tiers.length === 0 || record === undefined || sizeBytes === 0 || vary.length > 0) return
      if (!mayWrite(body?.length ?? 0, record)) return
      const encoded = encodeEntry(id, variant, record, record.isEncrypted ? seal() : undefined)
      if (encoded !== undefined) void write(id, encoded)
    },
    putBlock(id, bytes, record) {
      if (tiers.length === 0 || !mayWrite(bytes.length, record)) return
      const encoded = encodeBlock(id, bytes, record.isEncrypted ? seal() : undefined)
      if (encoded !== undefined) void write(id, encoded)
    },
    delete(id) {
      for (const tier of tiers) void tier.delete(bytesOf(id))
    },
    all: tiers,
    usage: () =>
      tiers.map(tier => ({
        tier: tier.name,
        limitBytes: tier.budgetBytes,
        isPaused: tier.isPaused,
        ...tier.usage(),
      })),
  }
}
