/** A certificate chain and its private key, read and checked as a pair. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { CertificateInfo } from './api.ts'
import { describeCertificate } from './description.ts'
import { tlsErrors } from './errors.ts'

export const certificateFile = 'public.crt'
export const keyFile = 'private.key'

export interface KeyPair {
  /** PEM, leaf first. */
  readonly certificate: string
  readonly key: string
  readonly info: CertificateInfo
}

/** Reads the pair; rejects with `certificate_unusable`, which names the file and the problem, never the content. */
export async function readKeyPair(directory: string): Promise<KeyPair> {
  // One after the other: where both are missing, the message is the same each time.
  const certificate = await readText(join(directory, certificateFile))
  const key = await readText(join(directory, keyFile))
  return checkKeyPair(certificate, key, certificateFile, keyFile)
}

/** Throws `certificate_unusable` unless the key matches the certificate and OpenSSL accepts both. */
export function checkKeyPair(certificate: string, key: string, certificateName: string, keyName: string): KeyPair {
  const leaf = parse(certificateName, 'a PEM certificate', () => new X509Certificate(certificate))
  const privateKey = parse(keyName, 'an unencrypted PEM private key', (): KeyObject => createPrivateKey(key))
  if (!leaf.checkPrivateKey(privateKey)) {
    throw tlsErrors.certificate_unusable(`${keyName} is not the key of the certificate in ${certificateName}`)
  }
  try {
    createSecureContext({ cert: certificate, key })
  } catch (error) {
    throw tlsErrors.certificate_unusable(`${certificateName} is refused: ${(error as Error).message}`)
  }
  return { certificate, key, info: describeCertificate(leaf, certificateName) }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const problem =
      code === 'ENOENT' ? 'is not there: put the certificate and its key into that folder' : `cannot be read: ${code}`
    throw tlsErrors.certificate_unusable(`${path} ${problem}`, { cause: error })
  }
}

function parse<T>(name: string, what: string, read: () => T): T {
  try {
    return read()
  } catch {
    // The parser's own message may quote the input; the name of the file suffices.
    throw tlsErrors.certificate_unusable(`${name} is not ${what}`)
  }
}
