/**
 * What seals an archive: keys that are derived from the root credentials and from a salt of the archive. So only a deployment with the
 * same root credentials can read its secrets or take it for genuine.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { deriveKey, deriveKeyFromPassword, passwordCost } from 'svc/plugins/sealing/api'

export const saltBytes = 16

export interface ArchiveKeys {
  /** Seals secrets. */
  readonly sealing: KeyObject
  /** Whether the credentials are the same, before anything is opened: hexadecimal. */
  readonly check: string
  /** Over the files of the archive: hexadecimal. */
  authenticate(text: string): string
}

/** The secret of one archive. Takes a quarter of a second. */
export async function deriveArchiveSecret(
  { rootUser, rootPassword }: { readonly rootUser: string; readonly rootPassword: string },
  salt: Buffer,
): Promise<Buffer> {
  return (await deriveKeyFromPassword(`${rootUser}\n${rootPassword}`, salt, passwordCost)).export()
}

export function archiveKeysOf(secret: Buffer, salt: Buffer): ArchiveKeys {
  const mac = deriveKey(secret, salt, 'svc archive mac')
  const authenticate = (text: string) => createHmac('sha256', mac).update(text).digest('hex')
  return {
    sealing: deriveKey(secret, salt, 'svc archive seal'),
    check: authenticate('credentials'),
    authenticate: text => authenticate(`files\n${text}`),
  }
}

/** In constant time. */
export function equals(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
