/** Certificates and keys from files that operators name. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { HttpClientTls } from './api.ts'
import { HttpClientError } from './error.ts'

export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

const nonBlockingRead = constants.O_RDONLY | constants.O_NONBLOCK
/** A bundle of all public authorities is a quarter of it. */
const fileBytesMax = 1024 * 1024

/** Rejects with HttpClientError, a clause that names the file by its role. It is the same whatever is wrong with the file. */
export async function readTlsFiles(tls: HttpClientTls | undefined): Promise<TlsFiles> {
  if (tls === undefined) return {}
  const [ca, cert, key] = await Promise.all([
    readPem('the authorities', tls.authoritiesFile, 'certificate'),
    readPem('the certificate', tls.certificateFile, 'certificate'),
    readPem('the key of the certificate', tls.keyFile, 'key'),
  ])
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** Any path may be set by whoever may change the configuration: the error tells neither whether the file exists nor what is in it. */
async function readPem(what: string, path: string, kind: 'certificate' | 'key'): Promise<Buffer | undefined> {
  if (path === '') return undefined
  const bytes = await readSmallFile(path)
  if (bytes !== undefined && holds(kind, bytes)) return bytes
  throw new HttpClientError('tls', `the file of ${what} cannot be read, or holds no PEM ${kind}`)
}

/**
 * Undefined: it cannot be read, is no file, or is larger than 1 MiB. Which of them is not told: any path may be set by whoever may change the
 * configuration.
 */
export async function readSmallFile(path: string): Promise<Buffer | undefined> {
  try {
    // Non-blocking: if it is a pipe, opening would wait for a writer.
    const file = await open(path, nonBlockingRead)
    try {
      return (await file.stat()).isFile() ? await readWhole(file) : undefined
    } finally {
      await file.close()
    }
  } catch {
    // The reason would tell about files of the machine.
    return undefined
  }
}

/** The stated size decides nothing: files of /proc state 0, and a file may grow. Undefined if there is more than 1 MiB. */
async function readWhole(file: FileHandle): Promise<Buffer | undefined> {
  const bytes = Buffer.allocUnsafe(fileBytesMax + 1)
  let length = 0
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length)
    if (bytesRead === 0) return Buffer.from(bytes.subarray(0, length))
    length += bytesRead
  }
  return undefined
}

function holds(kind: 'certificate' | 'key', bytes: Buffer): boolean {
  // Both are also read from DER, which TLS does not take.
  if (!bytes.includes('-----BEGIN ')) return false
  try {
    if (kind === 'certificate') new X509Certificate(bytes)
    else createPrivateKey(bytes)
    return true
  } catch {
    // The parser's own message is about bytes.
    return false
  }
}
