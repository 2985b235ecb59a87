/**
 * The file of one record, `ab/cd/<64 hexadecimal digits of its id>`. Numbers are little-endian:
 *
 *     0  "SVCC"
 *     4  version, 1
 *     5  kind, 1
 *     6  bytes of the head (16 bits)
 *     8  bytes of the body (32 bits)
 *     12 CRC-32 of the id and the head
 *     16 CRC-32 of the body
 *     20 head, body
 *
 * The file is written to `tmp/`, then renamed, and never synced. After a power cut it may hold anything; the checksums detect that.
 */
import { close, constants, open, read } from 'node:fs'
import { mkdir, open as openFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from '@node-rs/crc32'
import { type FoundRecord, type TierRecord, tierBodyBytesMax, tierHeadBytesMax } from 'svc/plugins/cache/api'
import { FreeBuffers } from 'svc/plugins/drive/api'

const magic = Buffer.from('SVCC')
const version = 1
const kind = 1
export const headerBytes = 20
export const fileBytesMax = headerBytes + tierHeadBytesMax + tierBodyBytesMax

export const fileBytesOf = ({ head, body }: TierRecord): number => headerBytes + head.length + body.length

/** The path of the file of `id` in the folder of the cache. */
export function pathOf(folder: string, id: Buffer): string {
  const name = id.toString('hex')
  return join(folder, name.slice(0, 2), name.slice(2, 4), name)
}

function headerOf(id: Buffer, { head, body }: TierRecord): Buffer {
  const header = Buffer.alloc(headerBytes)
  magic.copy(header)
  header[4] = version
  header[5] = kind
  header.writeUInt16LE(head.length, 6)
  header.writeUInt32LE(body.length, 8)
  header.writeUInt32LE(crc32(head, crc32(id)), 12)
  header.writeUInt32LE(crc32(body), 16)
  return header
}

interface Header {
  readonly headBytes: number
  readonly bodyBytes: number
  readonly headCrc: number
  readonly bodyCrc: number
}

function readHeader(bytes: Buffer): Header | undefined {
  if (bytes.length < headerBytes || !bytes.subarray(0, 4).equals(magic)) return undefined
  if (bytes[4] !== version || bytes[5] !== kind) return undefined
  return {
    headBytes: bytes.readUInt16LE(6),
    bodyBytes: bytes.readUInt32LE(8),
    headCrc: bytes.readUInt32LE(12),
    bodyCrc: bytes.readUInt32LE(16),
  }
}

/** On failure rejects with the system's error and leaves no file. `part`: a unique name in `tmp/`. */
export async function writeRecord(folder: string, part: string, id: Buffer, record: TierRecord): Promise<void> {
  const parts = join(folder, 'tmp', part)
  try {
    const file = await openFile(parts, 'wx', 0o600)
    try {
      const wanted = fileBytesOf(record)
      const { bytesWritten } = await file.writev([headerOf(id, record), record.head, record.body])
      if (bytesWritten !== wanted) throw new Error(`only ${bytesWritten} of ${wanted} bytes were written`)
    } finally {
      await file.close()
    }
    const path = pathOf(folder, id)
    await rename(parts, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
      await rename(parts, path)
    })
  } catch (error) {
    await rm(parts, { force: true }).catch(() => undefined)
    throw error
  }
}

const opened = promisify(open)
const readInto = promisify(read)
/** Links are not followed, and the open of a pipe does not wait for a writer. Windows has neither flag. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Reused buffers of this thread: the system provides new memory of this size page by page, and it makes V8 collect garbage. */
const free = new FreeBuffers()
const freeBytesMax = 32 * 1024 * 1024
/** A smaller record is copied, so that its buffer can be reused at once. */
const copiedBytesMax = 64 * 1024

/** Undefined if there is no file, `damaged` if it is no valid record of this id. Throws other errors of the system. */
export async function readRecord(folder: string, id: Buffer): Promise<FoundRecord | 'damaged' | undefined> {
  // One byte longer than any record, so that a file that is too long is noticed.
  const memory = free.take(fileBytesMax + 1) ?? Buffer.allocUnsafeSlow(fileBytesMax + 1)
  const release = () => free.keep(memory, freeBytesMax)
  let bytes: Buffer | 'damaged' | undefined
  try {
    bytes = await readBytes(folder, id, memory)
  } catch (error) {
    release()
    throw error
  }
  const found = bytes === undefined || bytes === 'damaged' ? bytes : recordIn(id, bytes)
  if (found === undefined || found === 'damaged') {
    release()
    return found
  }
  if (bytes!.length > copiedBytesMax) return { ...found, release }
  const { head, body, bodyCrc } = found
  const own = Buffer.concat([head, body])
  release()
  return { head: own.subarray(0, head.length), body: own.subarray(head.length), bodyCrc }
}

function recordIn(id: Buffer, bytes: Buffer): (TierRecord & { readonly bodyCrc: number }) | 'damaged' {
  const header = readHeader(bytes)
  if (header === undefined || bytes.length !== headerBytes + header.headBytes + header.bodyBytes) return 'damaged'
  const head = bytes.subarray(headerBytes, headerBytes + header.headBytes)
  const body = bytes.subarray(headerBytes + header.headBytes)
  const bodyCrc = crc32(body)
  if (crc32(head, crc32(id)) !== header.headCrc || bodyCrc !== header.bodyCrc) return 'damaged'
  return { head, body, bodyCrc }
}

export async function readHead(folder: string, id: Buffer): Promise<Buffer | undefined> {
  const bytes = await readBytes(folder, id, Buffer.allocUnsafeSlow(headerBytes + tierHeadBytesMax))
  if (bytes === undefined || bytes === 'damaged') return undefined
  const header = readHeader(bytes)
  if (header === undefined || bytes.length < headerBytes + header.headBytes) return undefined
  const head = bytes.subarray(headerBytes, headerBytes + header.headBytes)
  return crc32(head, crc32(id)) === header.headCrc ? head : undefined
}

/** Errors that mean: there is something, but no regular file. */
const damages = ['ELOOP', 'EISDIR', 'ESPIPE', 'EAGAIN', 'ENXIO']

/** Reads the file, or as much of it as fits into `memory`. */
async function readBytes(folder: string, id: Buffer, memory: Buffer): Promise<Buffer | 'damaged' | undefined> {
  let descriptor: number | undefined
  try {
    descriptor = await opened(pathOf(folder, id), readFlags)
    let at = 0
    let expected = memory.length
    // One read normally returns the whole file. Its header tells its length, which saves a second read to find the end.
    while (at < expected) {
      const { bytesRead } = await readInto(descriptor, memory, at, memory.length - at, at)
      if (bytesRead === 0) break
      at += bytesRead
      const header = readHeader(memory.subarray(0, at))
      if (header !== undefined) expected = Math.min(memory.length, headerBytes + header.headBytes + header.bodyBytes)
    }
    return memory.subarray(0, at)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (damages.includes(code ?? '')) return 'damaged'
    throw error
  } finally {
    if (descriptor !== undefined) close(descriptor, () => undefined)
  }
}
