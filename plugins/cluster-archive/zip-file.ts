/** ZIP files in memory, with bounds against archives that decompress to huge sizes. */
import { buffer } from 'node:stream/consumers'
import { isCatalogError } from 'svc/kernel'
import type { Entry, ZipFile as OpenZip } from 'yauzl'
import { archiveErrors } from './errors.ts'

/** Maximum size of the archive, and of its contents. */
export const archiveBytesMax = 256 * 1024 * 1024
const filesMax = 200_000

export async function writeZip(files: ReadonlyMap<string, Buffer>, modified: Date): Promise<Buffer> {
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  for (const [name, bytes] of files) zip.addBuffer(bytes, name, { mtime: modified, mode: 0o100600 })
  zip.end()
  return buffer(zip.outputStream)
}

/** Throws `invalid_archive`. `take` is told of the bytes of each file before it is unpacked, and may refuse. */
export async function readZip(bytes: Buffer, take: (bytes: number) => void = () => {}): Promise<Map<string, Buffer>> {
  const { fromBuffer } = await import('yauzl')
  const zip = await new Promise<OpenZip>((resolve, reject) => {
    fromBuffer(bytes, { lazyEntries: true, strictFileNames: true }, (error, opened) => {
      if (error === null) resolve(opened)
      else reject(refusal(`It is no ZIP file that can be read: ${error.message}`))
    })
  })
  if (zip.entryCount > filesMax) throw refusal(`It has more than ${filesMax} files`)
  const files = new Map<string, Buffer>()
  let roomBytes = archiveBytesMax
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      zip.close()
      reject(refusal(reason))
    }
    const unpack = async (entry: Entry) => {
      const { fileName } = entry
      if (files.has(fileName)) return fail(`${fileName} is there twice`)
      // The directory names the size; yauzl ends a file that has more.
      if (entry.uncompressedSize > roomBytes) return fail(`Unpacked it has more than ${archiveBytesMax} bytes`)
      roomBytes -= entry.uncompressedSize
      take(entry.uncompressedSize)
      if (!fileName.endsWith('/')) files.set(fileName, await readEntry(zip, entry))
      zip.readEntry()
    }
    zip.on(
      'entry',
      entry =>
        void unpack(entry).catch(error => {
          if (!isCatalogError(error)) return fail(`${entry.fileName}: ${error.message}`)
          zip.close()
          reject(error)
        }),
    )
    zip.on('end', () => resolve(files))
    zip.on('error', error => fail(error.message))
    zip.readEntry()
  })
}

function readEntry(zip: OpenZip, entry: Entry): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error !== null) reject(error)
      else buffer(stream).then(resolve, reject)
    })
  })
}

const refusal = (reason: string) => archiveErrors.invalid_archive(`${reason.replace(/\.+$/, '')}. Nothing was changed.`)
