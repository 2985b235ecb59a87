/**
 * Asks the primary backend whether the keys are there that new objects are encrypted under: the default key, and the keys that stored
 * settings name. Without one of them writes fail, and a backend that answers does not show it.
 */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import type { KeyUser } from './api.ts'

/** Most keys that are asked; settings can name any number of them, and each is a request to a key server. */
const askedMax = 100

export interface MissingKeysOptions {
  readonly defaultKeyId: string
  readonly users: readonly KeyUser[]
  /** Whether the key, or the one that takes its place, is there. */
  isThere(keyId: string): MaybePromise<boolean>
}

/** Which keys are missing, who needs them and what to do; undefined if none is. */
export async function missingKeys({ defaultKeyId, users, isThere }: MissingKeysOptions): Promise<string | undefined> {
  const needed = new Map([[defaultKeyId, `the default key "${defaultKeyId}"`]])
  for (const { name, keyIds } of users) {
    for await (const { keyId, of } of keyIds()) {
      if (needed.size >= askedMax) break
      if (!needed.has(keyId)) needed.set(keyId, `the key "${keyId}" of ${name} ${of}`)
    }
  }
  const missing: string[] = []
  for (const [keyId, key] of needed) {
    try {
      if (!(await isThere(keyId))) missing.push(`${key} is not there: create it`)
    } catch (error) {
      if (!isCatalogError(error)) throw error
      // A name that no key can have.
      if (error.status < 500) missing.push(`there can be no key with the id of ${key}: choose another`)
      else {
        missing.push(`whether ${key} is there could not be asked: the log says why`)
        break
      }
    }
  }
  return missing.length === 0 ? undefined : missing.join('; ')
}
