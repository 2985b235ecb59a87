/**
 * Writes ZIP archives as a stream: without compression, and with only the central directory in memory. Source: PKWARE APPNOTE.TXT 6.3.10,
 * sections 4.3 to 4.5.
 *
 * Bytes in memory have their checksum in front of them; for streamed bytes it follows in a data descriptor. Sizes from 4 GiB on, larger
 * offsets, and counts from 65 535 on use ZIP64. Names are UTF-8. If a source fails, the archive ends without a directory: it is visibly
 * broken, never short and valid.
 */

import type { MaybePromise } from 'svc/kernel'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { ChunkSource } from 'svc/plugins/payload/api'
import type { BlobChunk } from 'svc/plugins/storage/api'

export interface ZipEntry {
  /** A relative path with slashes. */
  readonly name: string
  readonly modifiedMs: number
  readonly sizeBytes: number
  open(): MaybePromise<ObjectData>
}

/** Only the directory grows with the number of entries: about 900 000 entries with names of 100 bytes. */
const directoryBytesMax = 160 * 1024 * 1024
const batchBytes = 64 * 1024

const uint16Max = 0xffff
const uint32Max = 0xffffffff
const versionMade = (3 << 8) | 45
const versionPlain = 20
const version64 = 45
const flagDescriptor = 1 << 3
const flagUtf8 = 1 << 11
const extra64 = 0x0001
const extraTime = 0x5455
const regularFile = 0o100644 * 0x10000

/** At least one entry. `next` rejects with the error of an entry that cannot be read. */
export function createZipStream(
  entries: AsyncIterable<ZipEntry>,
  checksums: Pick<ChecksumsService, 'compute' | 'create'>,
): ChunkSource {
  const chunks = writeZip(entries, checksums)
  return {
    async next() {
      const { value } = await chunks.next()
      return value === undefined ? undefined : value
    },
    close() {
      // The entries are closed after the current step; errors of that have no receiver any more.
      chunks.return(undefined).catch(() => {})
    },
  }
}

const noRelease = () => {}
const ownChunk = (bytes: Buffer): BlobChunk => ({ bytes, release: noRelease })

async function* writeZip(
  entries: AsyncIterable<ZipEntry>,
  checksums: Pick<ChecksumsService, 'compute' | 'create'>,
): AsyncGenerator<BlobChunk, undefined> {
  const directory: Buffer[] = []
  let directoryBytes = 0
  let position = 0
  for await (const entry of entries) {
    const start = position
    const data = await entry.open()
    const name = Buffer.from(entry.name, 'utf8')
    let checksum: Buffer
    if (data.kind === 'whole') {
      requireSize(entry, data.bytes.length)
      checksum = checksums.compute('CRC32', data.bytes)
      const head = localHeader(entry, name, checksum)
      position += head.length + data.bytes.length
      yield ownChunk(data.bytes.length < batchBytes ? Buffer.concat([head, data.bytes]) : head)
      if (data.bytes.length >= batchBytes) yield ownChunk(data.bytes)
    } else {
      const crc = checksums.create('CRC32')
      try {
        const head = localHeader(entry, name, undefined)
        yield ownChunk(head)
        let sizeBytes = 0
        for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
          sizeBytes += chunk.bytes.length
          crc.update(chunk.bytes)
          yield chunk
        }
        requireSize(entry, sizeBytes)
        checksum = crc.digest()
        const descriptor = dataDescriptor(entry, checksum)
        position += head.length + sizeBytes + descriptor.length
        yield ownChunk(descriptor)
      } finally {
        data.close()
      }
    }
    const record = directoryRecord(entry, name, checksum, start, data.kind === 'stream')
    directory.push(record)
    directoryBytes += record.length
    if (directoryBytes > directoryBytesMax) throw new Error('the archive has too many entries for its directory')
  }
  for (let index = 0; index < directory.length; ) {
    const batch: Buffer[] = []
    for (let bytes = 0; index < directory.length && bytes < batchBytes; index++) {
      batch.push(directory[index]!)
      bytes += directory[index]!.length
    }
    yield ownChunk(Buffer.concat(batch))
  }
  yield ownChunk(directoryEnd(directory.length, directoryBytes, position))
  return undefined
}

function requireSize({ name, sizeBytes }: ZipEntry, readBytes: number): void {
  if (readBytes !== sizeBytes) throw new Error(`"${name}" has ${readBytes} bytes instead of ${sizeBytes}`)
}

const needs64 = ({ sizeBytes }: ZipEntry): boolean => sizeBytes >= uint32Max

/** Without a checksum, checksum and sizes follow the bytes. */
function localHeader(entry: ZipEntry, name: Buffer, checksum: Buffer | undefined): Buffer {
  const is64 = needs64(entry)
  const extras = [timeExtra(entry)]
  const isLater = checksum === undefined
  // In front of streamed bytes it announces sizes of eight bytes in the descriptor.
  if (is64) extras.push(sizesExtra(isLater ? [0, 0] : [entry.sizeBytes, entry.sizeBytes]))
  const extra = Buffer.concat(extras)
  const head = Buffer.alloc(30)
  const { time, date } = dosTime(entry.modifiedMs)
  const size = is64 ? uint32Max : isLater ? 0 : entry.sizeBytes
  head.writeUInt32LE(0x04034b50, 0)
  head.writeUInt16LE(is64 ? version64 : versionPlain, 4)
  head.writeUInt16LE(flagUtf8 | (isLater ? flagDescriptor : 0), 6)
  head.writeUInt16LE(time, 10)
  head.writeUInt16LE(date, 12)
  head.writeUInt32LE(checksum === undefined ? 0 : checksum.readUInt32BE(0), 14)
  head.writeUInt32LE(size, 18)
  head.writeUInt32LE(size, 22)
  head.writeUInt16LE(name.length, 26)
  head.writeUInt16LE(extra.length, 28)
  return Buffer.concat([head, name, extra])
}

function dataDescriptor(entry: ZipEntry, checksum: Buffer): Buffer {
  const is64 = needs64(entry)
  const bytes = Buffer.alloc(is64 ? 24 : 16)
  bytes.writeUInt32LE(0x08074b50, 0)
  bytes.writeUInt32LE(checksum.readUInt32BE(0), 4)
  if (is64) {
    bytes.writeBigUInt64LE(BigInt(entry.sizeBytes), 8)
    bytes.writeBigUInt64LE(BigInt(entry.sizeBytes), 16)
  } else {
    bytes.writeUInt32LE(entry.sizeBytes, 8)
    bytes.writeUInt32LE(entry.sizeBytes, 12)
  }
  return bytes
}

function directoryRecord(entry: ZipEntry, name: Buffer, checksum: Buffer, start: number, isLater: boolean): Buffer {
  const isLarge = needs64(entry)
  const isFar = start >= uint32Max
  const extras = [timeExtra(entry)]
  const large = [...(isLarge ? [entry.sizeBytes, entry.sizeBytes] : []), ...(isFar ? [start] : [])]
  if (large.length > 0) extras.push(sizesExtra(large))
  const extra = Buffer.concat(extras)
  const head = Buffer.alloc(46)
  const { time, date } = dosTime(entry.modifiedMs)
  const size = isLarge ? uint32Max : entry.sizeBytes
  head.writeUInt32LE(0x02014b50, 0)
  head.writeUInt16LE(versionMade, 4)
  head.writeUInt16LE(isLarge || isFar ? version64 : versionPlain, 6)
  head.writeUInt16LE(flagUtf8 | (isLater ? flagDescriptor : 0), 8)
  head.writeUInt16LE(time, 12)
  head.writeUInt16LE(date, 14)
  head.writeUInt32LE(checksum.readUInt32BE(0), 16)
  head.writeUInt32LE(size, 20)
  head.writeUInt32LE(size, 24)
  head.writeUInt16LE(name.length, 28)
  head.writeUInt16LE(extra.length, 30)
  head.writeUInt32LE(regularFile, 38)
  head.writeUInt32LE(isFar ? uint32Max : start, 42)
  return Buffer.concat([head, name, extra])
}

/** Preceded by the records of ZIP64 if a number is too large. */
function directoryEnd(count: number, directoryBytes: number, start: number): Buffer {
  const is64 = count >= uint16Max || directoryBytes >= uint32Max || start >= uint32Max
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(count, uint16Max), 8)
  end.writeUInt16LE(Math.min(count, uint16Max), 10)
  end.writeUInt32LE(Math.min(directoryBytes, uint32Max), 12)
  end.writeUInt32LE(Math.min(start, uint32Max), 16)
  if (!is64) return end
  const end64 = Buffer.alloc(56)
  end64.writeUInt32LE(0x06064b50, 0)
  end64.writeBigUInt64LE(44n, 4)
  end64.writeUInt16LE(versionMade, 12)
  end64.writeUInt16LE(version64, 14)
  end64.writeBigUInt64LE(BigInt(count), 24)
  end64.writeBigUInt64LE(BigInt(count), 32)
  end64.writeBigUInt64LE(BigInt(directoryBytes), 40)
  end64.writeBigUInt64LE(BigInt(start), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(BigInt(start + directoryBytes), 8)
  locator.writeUInt32LE(1, 16)
  return Buffer.concat([end64, locator, end])
}

function sizesExtra(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 8 * values.length)
  bytes.writeUInt16LE(extra64, 0)
  bytes.writeUInt16LE(8 * values.length, 2)
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 4 + 8 * index)
  return bytes
}

/** Seconds since 1970, because DOS times have neither odd seconds nor a time zone. */
function timeExtra({ modifiedMs }: ZipEntry): Buffer {
  const bytes = Buffer.alloc(9)
  bytes.writeUInt16LE(extraTime, 0)
  bytes.writeUInt16LE(5, 2)
  bytes.writeUInt8(1, 4)
  bytes.writeInt32LE(Math.min(Math.max(Math.floor(modifiedMs / 1000), 0), 0x7fffffff), 5)
  return bytes
}

function dosTime(timeMs: number): { readonly time: number; readonly date: number } {
  const at = new Date(timeMs)
  const year = Math.min(Math.max(at.getUTCFullYear(), 1980), 2107)
  return {
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    date: ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  }
}
