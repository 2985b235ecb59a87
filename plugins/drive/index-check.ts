/**
 * Compares an index with the digest of its last checkpoint: all entries of one snapshot, and the checksum of each record. Runs in the separate
 * process of `index-check-process.ts`, since a damaged index can crash LMDB.
 */
import { crc32 } from '@node-rs/crc32'
import { emptyDigest, entryHash, RunningDigest } from './index-digest.ts'
import { decodePosition, type IndexPosition, positionKey, readPosition } from './index-position.ts'
import { type IndexStore, type IndexTable, indexTables } from './index-store.ts'
import { checkStructure } from './index-structure.ts'
import { checksum } from './record-checksum.ts'

const first = Buffer.from([0])
/** Sorts behind every key. */
const last = Buffer.alloc(3901, 0xff)

/** Reads the first and the last entry: for an index that is too large to walk at a start. */
export function probeIndex(index: IndexStore): string | undefined {
  const found = readPosition(index)
  if (found === 'damaged') return 'its position does not verify'
  for (const table of indexTables) {
    const range = index.range(table, first, last)
    range.next()
    range.close()
  }
  return undefined
}

/**
 * The problem with the file of an LMDB index, or undefined: with its structure and with its entries, in one walk over its pages. `onProgress` is
 * called regularly.
 */
export function checkIndexFile(file: string, onProgress: () => void): string | undefined {
  const check = new EntryCheck()
  const onEntry = (table: string, key: Buffer, value: Buffer) =>
    isIndexTable(table) ? check.add(table, key, value) : undefined
  return checkStructure(file, onProgress, onEntry) ?? check.end()
}

/** The same for the entries of any index. */
export function checkIndex(index: IndexStore): string | undefined {
  const check = new EntryCheck()
  for (const table of indexTables) {
    const range = index.range(table, first, last)
    let before: Buffer = Buffer.alloc(0)
    while (range.next()) {
      const { key, value } = range
      if (before.compare(key) >= 0) return `the keys of ${table} are not in order`
      before = key
      const problem = check.add(table, key, Buffer.from(value))
      if (problem !== undefined) return problem
    }
    range.close()
  }
  return check.end()
}

class EntryCheck {
  readonly #digest = new RunningDigest()
  #position: IndexPosition | undefined

  /** The value is changed. Returns the problem with the entry, or undefined. */
  add(table: IndexTable, key: Buffer, value: Buffer): string | undefined {
    if (table === 'internal' && positionKey.equals(key)) {
      const position = decodePosition(value)
      if (position === 'damaged') return 'its position does not verify'
      this.#position = position
      return undefined
    }
    const check = table === 'records' ? recordCheck(value) : crc32(value)
    if (check === undefined) return 'a record does not match its checksum'
    this.#digest.add(entryHash(table, key, check))
    return undefined
  }

  /** The problem with all entries together. */
  end(): string | undefined {
    const { count, sum } = this.#position?.digest ?? emptyDigest
    if (this.#digest.count !== count) return `it has ${this.#digest.count} entries instead of ${count}`
    return this.#digest.sum === sum ? undefined : 'its entries do not match their digest'
  }
}

function isIndexTable(name: string): name is IndexTable {
  return (indexTables as readonly string[]).includes(name)
}

function recordCheck(value: Buffer): number | undefined {
  if (value.length < 4) return undefined
  const expected = value.readUInt32LE(0)
  return checksum(value) === expected ? expected : undefined
}
