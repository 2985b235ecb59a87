/** ZIP files in memory, with bounds against archives that decompress to huge sizes or have a huge number of files. */
import { buffer } from 'node:stream/consumers'
import type { Entry, ZipFile as OpenZip } from 'yauzl'
import { archiveErrors, shownName } from './errors.ts'

/** Maximum size of the archive, and of its contents. */
export const archiveBytesMax = 256 * 1024 * 1024
/** Also of the names in its manifest, which is parsed before anything shows who made it. */
export const filesMax = 50_000

export async function writeZip(files: ReadonlyMap<string, Buffer>, modified: Date): Promise<Buffer> {
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  for (const [name, bytes] of files) zip.addBuffer(bytes, name, { mtime: modified, mode: 0o100600 })
  zip.end()
  return buffer(zip.outputStream)
}

export interface ZipContents {
  /** Without folders. */
  readonly names: readonly string[]
  /** Bytes of a file when it is unpacked; undefined: there is no such file. */
  sizeOf(name: string): number | undefined
  /** Unpacks a file; empty: there is no such file. Throws `invalid_archive`. */
  read(name: string): Promise<Buffer>
}

/**
 * Reads the directory, and no file. Throws `invalid_archive`. `take` is told of the bytes of each file before it is unpacked, and may
 * refuse.
 */
export async function openZip(bytes: Buffer, take: (bytes: number) => void = () => {}): Promise<ZipContents> {
  const { fromBuffer } = await import('yauzl')
  const zip = await new Promise<OpenZip>((resolve, reject) => {
    fromBuffer(bytes, { lazyEntries: true, strictFileNames: true, autoClose: false }, (error, opened) => {
      if (error === null) resolve(opened)
      else reject(refusal(`It is no ZIP file that can be read: ${error.message}`))
    })
  })
  if (zip.entryCount > filesMax) throw refusal(`It has more than ${filesMax} files`)
  const entries = await entriesOf(zip)
  return {
    names: [...entries.keys()].filter(name => !name.endsWith('/')),
    sizeOf: name => entries.get(name)?.uncompressedSize,
    async read(name) {
      const entry = entries.get(name)
      if (entry === undefined) return Buffer.alloc(0)
      take(entry.uncompressedSize)
      try {
        return await readEntry(zip, entry)
      } catch (error) {
        throw refusal(`${shownName(name)}: ${(error as Error).message}`)
      }
    },
  }
}

function entriesOf(zip: OpenZip): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  let roomBytes = archiveBytesMax
  return new Promise((resolve, reject) => {
    zip.on('entry', entry => {
      const { fileName, uncompressedSize } = entry
      if (entries.has(fileName)) return reject(refusal(`${shownName(fileName)} is there twice`))
      // The directory names the size; yauzl ends a file that has more.
      roomBytes -= uncompressedSize
      if (roomBytes < 0) return reject(refusal(`Unpacked it has more than ${archiveBytesMax} bytes`))
      entries.set(fileName, entry)
      zip.readEntry()
    })
    zip.on('end', () => resolve(entries))
    zip.on('error', error => reject(refusal(error.message)))
    zip.readEntry()
  })
}

/** All files by their names. */
export async function readZip(bytes: Buffer, take?: (bytes: number) => void): Promise<Map<string, Buffer>> {
  const zip = await openZip(bytes, take)
  const files = new Map<string, Buffer>()
  for (const name of zip.names) files.set(name, await zip.read(name))
  return files
}

function readEntry(zip: OpenZip, entry: Entry): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error !== null) reject(error)
      else buffer(stream).then(resolve, reject)
    })
  })
}

const reasonCharsMax = 400

const refusal = (reason: string) =>
  archiveErrors.invalid_archive(`${reason.slice(0, reasonCharsMax).replace(/\.+$/, '')}. Nothing was changed.`)
