/**
 * Saves the index to a file, so that a start knows the records before the walk has read every folder. The file may be older than the
 * folder: a record that is gone is a miss, and the walk finds records that the file lacks.
 *
 *     0 "SVCI"  4 version, 1  5 1 after a clean stop, else 0  6 count (32 bits)  10 CRC-32 of the records  14 records: 32 bytes of the id,
 *     16 bits of blocks and of the mark
 */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { type DiskIndex, idBytes } from './disk-index.ts'

const magic = Buffer.from('SVCI')
const version = 1
const headerBytes = 14
const recordBytes = idBytes + 2
const recordsPerChunk = 4096
const cleanAt = 5
const nameOf = (path: string) => join(path, 'index')

/** Writes some records at a time, so that it never blocks the thread for long. */
export async function writeSnapshot(path: string, index: DiskIndex, isClean: boolean): Promise<void> {
  const part = join(path, 'tmp', 'index')
  await rm(part, { force: true })
  const file = await open(part, 'wx', 0o600)
  try {
    let at = headerBytes
    let count = 0
    let crc = 0
    let chunk = Buffer.alloc(recordsPerChunk * recordBytes)
    let used = 0
    const flush = async () => {
      const bytes = chunk.subarray(0, used)
      crc = crc32(bytes, crc)
      await file.write(bytes, 0, used, at)
      at += used
      chunk = Buffer.alloc(recordsPerChunk * recordBytes)
      used = 0
    }
    for (let slot = index.slotAfter(0); slot !== 0; slot = index.slotAfter(slot)) {
      const blocks = index.blocksOf(slot)
      index.idOf(slot).copy(chunk, used)
      chunk.writeUInt16LE(blocks | (index.isMarked(slot) ? 0x8000 : 0), used + idBytes)
      used += recordBytes
      count++
      if (used === chunk.length) await flush()
    }
    await flush()
    const header = Buffer.alloc(headerBytes)
    magic.copy(header)
    header[4] = version
    header[cleanAt] = isClean ? 1 : 0
    header.writeUInt32LE(count, 6)
    header.writeUInt32LE(crc, 10)
    await file.write(header, 0, headerBytes, 0)
  } finally {
    await file.close()
  }
  await rename(part, nameOf(path))
}

/**
 * Fills an empty index, some records at a time. True if the snapshot is that of a clean stop: the folder is then as it says. Marks the file as
 * unclean, because the folder changes from now on.
 */
export async function readSnapshot(path: string, index: DiskIndex): Promise<boolean> {
  let bytes: Buffer
  try {
    bytes = await readFile(nameOf(path))
  } catch {
    return false
  }
  const isWhole =
    bytes.length >= headerBytes &&
    bytes.subarray(0, 4).equals(magic) &&
    bytes[4] === version &&
    bytes.length === headerBytes + bytes.readUInt32LE(6) * recordBytes &&
    crc32(bytes.subarray(headerBytes)) === bytes.readUInt32LE(10)
  const isClean = isWhole && bytes[cleanAt] === 1
  if (!isWhole) return false
  for (let at = headerBytes, left = recordsPerChunk; at < bytes.length; at += recordBytes, left--) {
    if (left === 0) {
      left = recordsPerChunk
      await nextTurn()
    }
    const facts = bytes.readUInt16LE(at + idBytes)
    const blocks = facts & 0x7fff
    const id = bytes.subarray(at, at + idBytes)
    // The budget was larger when it was written: the walk deletes records beyond it.
    if (blocks === 0 || index.size >= index.capacity || index.blocks + blocks > index.budgetBlocks) continue
    index.set(id, blocks, facts > 0x7fff)
  }
  if (isClean) await forgetCleanStop(path)
  return isClean
}

async function forgetCleanStop(path: string): Promise<void> {
  const file = await open(nameOf(path), 'r+')
  try {
    await file.write(Buffer.alloc(1), 0, 1, cleanAt)
  } finally {
    await file.close()
  }
}
