/** Certificates and keys from files that operators name. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
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

/** Rejects with HttpClientError, a clause that names the file by its role: `the authorities cannot be read (ENOENT)`. */
export async function readTlsFiles(tls: HttpClientTls | undefined): Promise<TlsFiles> {
  if (tls === undefined) return {}
  const [ca, cert, key] = await Promise.all([
    readPem('the authorities', tls.authoritiesFile),
    readPem('the certificate', tls.certificateFile),
    readPem('the key of the certificate', tls.keyFile),
  ])
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** Errors never have the content of a file: an operator may name any file. */
async function readPem(what: string, path: string): Promise<Buffer | undefined> {
  if (path === '') return undefined
  try {
    // Non-blocking: if it is a pipe, opening would wait for a writer.
    const file = await open(path, nonBlockingRead)
    try {
      const stat = await file.stat()
      if (!stat.isFile() || stat.size > fileBytesMax) throw new HttpClientError('tls', `${what}: not a PEM file`)
      const bytes = await file.readFile()
      if (!bytes.includes('-----BEGIN ')) throw new HttpClientError('tls', `${what}: not a PEM file`)
      return bytes
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof HttpClientError) throw error
    throw new HttpClientError('tls', `${what} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
