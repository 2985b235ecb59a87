/** The environment file that starts a server: random root credentials and a master key. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Random } from 'svc/kernel'

/** Without characters that look alike, and none that a shell or an env file would read in its own way. */
const alphabet = 'ABCDEFGHJKMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789'

export interface Credentials {
  readonly rootUser: string
  readonly rootPassword: string
  /** `default:` and 32 bytes in base64. */
  readonly kmsSecretKey: string
}

export function createCredentials(random: Random): Credentials {
  return {
    rootUser: `svc-${randomText(random, 12).toLowerCase()}`,
    rootPassword: randomText(random, 40),
    kmsSecretKey: `default:${random.bytes(32).toString('base64')}`,
  }
}

/** Each character is equally likely: bytes beyond the last whole multiple of the alphabet are thrown away. */
function randomText(random: Random, length: number): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

export function formatEnvironmentFile({ rootUser, rootPassword, kmsSecretKey }: Credentials): string {
  return [
    '# Written by `svc init`. Keep this file secret, and keep a copy apart from the data:',
    '# without SVC_KMS_SECRET_KEY, objects that were encrypted with it cannot be read again.',
    `SVC_ROOT_USER=${rootUser}`,
    `SVC_ROOT_PASSWORD=${rootPassword}`,
    `SVC_KMS_SECRET_KEY=${kmsSecretKey}`,
    '',
  ].join('\n')
}

/** Creates the file for its owner alone (mode 0600) and makes it durable. Rejects with EEXIST rather than overwrite. */
export async function writeEnvironmentFile(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
