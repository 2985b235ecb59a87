/**
 * The deployment key: 32 random bytes, made at the first start that has something to seal, and kept in the store, sealed itself:
 *
 * - under the master key (SVC_KMS_SECRET_KEY) where there is one,
 * - otherwise under a key derived from the root password.
 *
 * | It is sealed under | Given now | At start |
 * |---|---|---|
 * | nothing: there is none | a master key or a root password | made, sealed |
 * | nothing, but documents have sealed fields | anything | refused: it was lost |
 * | what is given now | | opened |
 * | a previous master key or root password | that, and a current one | opened, sealed under the current one |
 * | the root password | that, and a master key | opened, sealed under the master key |
 * | anything else | | refused; nothing is changed |
 *
 * So a change of credentials seals 32 bytes anew, and never touches a document.
 */
import type { KeyObject } from 'node:crypto'
import type { Logger, Random } from 'svc/kernel'
import {
  deriveKey,
  deriveKeyFromPassword,
  openSealed,
  passwordCost,
  type ScryptCost,
  SealError,
  seal,
} from 'svc/plugins/sealing/api'
import { storeErrors } from './errors.ts'

const keyBytes = 32
const saltBytes = 16
const context = 'svc store deployment key'
/** A record that asks for more was not written by us, and shall not take the machine's memory. */
const costMax: ScryptCost = { n: 1 << 20, r: 32, p: 16 }

/** `<name>:<base64 of 32 bytes>` for master keys; all as configured. */
export interface SealingCredentials {
  readonly masterKey?: string
  readonly previousMasterKeys?: readonly string[]
  readonly rootPassword?: string
  readonly previousRootPassword?: string
}

/** How the key lies in its record, as JSON. */
interface SealedKey {
  readonly format: 1
  readonly under:
    | { readonly kind: 'master-key'; readonly name: string }
    | { readonly kind: 'root-password'; readonly cost: ScryptCost }
  readonly salt: string
  readonly sealed: string
}

export interface DeploymentKeyOptions {
  readonly credentials: SealingCredentials
  /** The record's value, if there is one. */
  readonly stored: Uint8Array | undefined
  /** Documents have sealed fields. Asked only where there is no key. */
  isNeeded(): Promise<boolean>
  /** Stores the record, if it still is the one that was read. */
  store(record: Buffer): Promise<void>
  readonly random: Random
  readonly log: Logger
}

/** The 32 bytes. Rejects with `sealing_key_…`, which name the variables, and has then changed nothing. */
export async function openDeploymentKey(options: DeploymentKeyOptions): Promise<Buffer> {
  const { credentials, stored, random, log } = options
  if (stored === undefined) {
    if (await options.isNeeded()) {
      throw storeErrors.sealing_key_lost(
        'Documents have sealed fields, but the key that they are sealed with is not in the store. Restore the drive from a backup.',
      )
    }
    const key = random.bytes(keyBytes)
    await options.store(await sealKey(key, credentials, random))
    log.info({ under: variableOf(credentials) }, 'made the key that seals secrets')
    return key
  }
  const sealed = parse(stored)
  const { key, isCurrent } = await openKey(sealed, credentials)
  if (!isCurrent) {
    await options.store(await sealKey(key, credentials, random))
    log.info({ under: variableOf(credentials) }, 'the key that seals secrets is now sealed under other credentials')
  }
  return key
}

/** Whether `openDeploymentKey` would open what is stored: throws what it would. Writes nothing. */
export async function checkDeploymentKey(stored: Uint8Array | undefined, credentials: SealingCredentials) {
  if (stored !== undefined) (await openKey(parse(stored), credentials)).key.fill(0)
  else if (credentials.masterKey === undefined && credentials.rootPassword === undefined) throw missingCredentials()
}

function missingCredentials() {
  return storeErrors.sealing_key_missing('Secrets at rest need SVC_KMS_SECRET_KEY or SVC_ROOT_PASSWORD.')
}

function variableOf({ masterKey }: SealingCredentials): string {
  return masterKey === undefined ? 'SVC_ROOT_PASSWORD' : 'SVC_KMS_SECRET_KEY'
}

async function sealKey(key: Buffer, credentials: SealingCredentials, random: Random): Promise<Buffer> {
  const { masterKey, rootPassword } = credentials
  const salt = random.bytes(saltBytes)
  let under: SealedKey['under']
  let wrapping: KeyObject
  if (masterKey !== undefined) {
    under = { kind: 'master-key', name: nameOf(masterKey) }
    wrapping = fromMasterKey(masterKey, salt)
  } else if (rootPassword !== undefined) {
    under = { kind: 'root-password', cost: passwordCost }
    wrapping = await deriveKeyFromPassword(rootPassword, salt, passwordCost)
  } else {
    throw missingCredentials()
  }
  const sealed = seal(wrapping, key, context, random.bytes(12)).toString('base64')
  return Buffer.from(JSON.stringify({ format: 1, under, salt: salt.toString('base64'), sealed } satisfies SealedKey))
}

async function openKey(
  stored: SealedKey,
  credentials: SealingCredentials,
): Promise<{ readonly key: Buffer; readonly isCurrent: boolean }> {
  const { masterKey, previousMasterKeys = [], rootPassword, previousRootPassword } = credentials
  const salt = Buffer.from(stored.salt, 'base64')
  const sealed = Buffer.from(stored.sealed, 'base64')
  const { under } = stored
  if (under.kind === 'master-key') {
    for (const candidate of masterKey === undefined ? previousMasterKeys : [masterKey, ...previousMasterKeys]) {
      const key = tryOpen(fromMasterKey(candidate, salt), sealed)
      if (key !== undefined) return { key, isCurrent: candidate === masterKey }
    }
    const hasSameName = [masterKey, ...previousMasterKeys].some(key => key !== undefined && nameOf(key) === under.name)
    throw storeErrors.sealing_key_wrong(
      `Secrets at rest are sealed under the master key named "${under.name}", which neither SVC_KMS_SECRET_KEY nor ` +
        `SVC_KMS_SECRET_KEY_PREVIOUS holds${hasSameName ? ': what is set has that name, but other bytes' : ''}. Nothing was changed. Set SVC_KMS_SECRET_KEY to that key, or add it to ` +
        'SVC_KMS_SECRET_KEY_PREVIOUS to go over to what is set now.',
    )
  }
  for (const candidate of [rootPassword, previousRootPassword]) {
    if (candidate === undefined) continue
    const key = tryOpen(await deriveKeyFromPassword(candidate, salt, under.cost), sealed)
    if (key !== undefined) return { key, isCurrent: masterKey === undefined && candidate === rootPassword }
  }
  throw storeErrors.sealing_key_wrong(
    previousRootPassword === undefined
      ? 'Secrets at rest are sealed under another root password than SVC_ROOT_PASSWORD. Nothing was changed. Set ' +
          'SVC_ROOT_PASSWORD_PREVIOUS to the former password for one start, to go over to what is set now.'
      : 'Secrets at rest are sealed under another root password than SVC_ROOT_PASSWORD, and SVC_ROOT_PASSWORD_PREVIOUS is not ' +
          'that one either. Nothing was changed. Give the password of the last start that went well, as either of them.',
  )
}

function tryOpen(wrapping: KeyObject, sealed: Buffer): Buffer | undefined {
  try {
    return openSealed(wrapping, sealed, context)
  } catch (error) {
    // Another key: perhaps the next candidate is the one.
    if (error instanceof SealError) return undefined
    throw error
  }
}

function nameOf(masterKey: string): string {
  return masterKey.slice(0, masterKey.indexOf(':'))
}

function fromMasterKey(masterKey: string, salt: Buffer): KeyObject {
  return deriveKey(Buffer.from(masterKey.slice(masterKey.indexOf(':') + 1), 'base64'), salt, context)
}

/** Checked by hand: a damaged record must be told from a wrong password. */
function parse(record: Uint8Array): SealedKey {
  try {
    const parsed = JSON.parse(Buffer.from(record).toString()) as SealedKey
    const { format, under, salt, sealed } = parsed
    const isWhole = format === 1 && typeof salt === 'string' && typeof sealed === 'string'
    if (isWhole && under.kind === 'master-key' && typeof under.name === 'string') return parsed
    if (isWhole && under.kind === 'root-password' && isCost(under.cost)) return parsed
  } catch {
    // Not JSON, or JSON of another shape: reported below.
  }
  throw storeErrors.sealing_key_lost(
    'The record of the key that seals secrets is damaged, or of a later release. Nothing was changed.',
  )
}

function isCost({ n, r, p }: ScryptCost): boolean {
  const isPowerOfTwo = Number.isInteger(n) && n >= 2 && n <= costMax.n && (n & (n - 1)) === 0
  return (
    isPowerOfTwo && Number.isInteger(r) && r >= 1 && r <= costMax.r && Number.isInteger(p) && p >= 1 && p <= costMax.p
  )
}
