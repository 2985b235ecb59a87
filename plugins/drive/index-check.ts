/**
 * Whether an index has what was written: walks all of it in one snapshot and compares with the digest of the last checkpoint. It
 * may meet anything, a crash of LMDB included, so it runs in a process of its own (`index-check-process.ts`).
 */
import { crc32 } from 'node:zlib'
import { entryHash, RunningDigest } from './index-digest.ts'
import { positionKey, readPosition } from './index-position.ts'
import { type IndexStore, type IndexTable, indexTables } from './index-store.ts'
import { checksum } from './record-checksum.ts'

const first = Buffer.from([0])
/** Behind every key. */
const last = Buffer.alloc(3901, 0xff)
const progressEveryEntries = 1000

/** Whether LMDB can read the beginning and the end at all: for an index that is too large to be walked while somebody waits. */
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

/** What is wrong, or undefined. `onProgress` is called now and then. */
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
      // A damaged tree may lead in a circle.
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
