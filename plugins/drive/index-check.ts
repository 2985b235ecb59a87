/**
 * Compares an index with the digest of its last checkpoint, by walking all entries of one snapshot. Runs in the separate process
 * of `index-check-process.ts`, since a damaged index can crash LMDB.
 */
import { crc32 } from '@node-rs/crc32'
import { entryHash, RunningDigest } from './index-digest.ts'
import { positionKey, readPosition } from './index-position.ts'
import { type IndexStore, type IndexTable, indexTables } from './index-store.ts'
import { checksum } from './record-checksum.ts'

const first = Buffer.from([0])
/** Sorts behind every key. */
const last = Buffer.alloc(3901, 0xff)
const progressEveryEntries = 1000

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

/** The problem found, or undefined. `onProgress` is called regularly. */
export function checkIndex(index: IndexStore, onProgress: () => void): string | undefined {
  const found = readPosition(index)
  if (found === 'damaged') return 'its position does not verify'
  const expected = found?.digest ?? { count: 0, sum: 0 }
  const digest = new RunningDigest()
  for (const table of indexTables) {
    const problem = checkTable(index, table, digest, expected.count, onProgress)
    if (problem !== undefined) return problem
  }
  if (digest.count !== expected.count) return `it has ${digest.count} entries instead of ${expected.count}`
  return digest.sum === expected.sum ? undefined : 'its entries do not match their digest'
}

function checkTable(
  index: IndexStore,
  table: IndexTable,
  digest: RunningDigest,
  countMax: number,
  onProgress: () => void,
): string | undefined {
  const range = index.range(table, first, last)
  let before = Buffer.alloc(0)
  try {
    while (range.next()) {
      const { key, value } = range
      if (table === 'internal' && positionKey.equals(key)) continue
      if (before.compare(key) >= 0) return `the keys of ${table} are not in order`
      before = Buffer.from(key)
      // A damaged tree may contain a cycle.
      if (digest.count >= countMax) return `it has more than ${countMax} entries`
      const check = table === 'records' ? recordCheck(value) : crc32(value)
      if (check === undefined) return 'a record does not match its checksum'
      digest.add(entryHash(table, key, check))
      if (digest.count % progressEveryEntries === 0) onProgress()
    }
    return undefined
  } finally {
    range.close()
  }
}

function recordCheck(value: Buffer): number | undefined {
  if (value.length < 4) return undefined
  const copy = Buffer.from(value)
  const expected = copy.readUInt32LE(0)
  return checksum(copy) === expected ? expected : undefined
}
