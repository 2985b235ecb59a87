/**
 * The deployment key, 32 random bytes, is the key that seals the secret fields of documents. It is created at the first start with a
 * collection that declares secret fields. The store keeps it sealed:
 *
 * - under the master key (SVC_KMS_SECRET_KEY), if one is configured,
 * - otherwise under a key derived from the root password.
 *
 * | Stored key | Configured | Start |
 * |---|---|---|
 * | none, and no document has sealed fields | a master key or a root password | creates a key and seals it |
 * | none, and no document has sealed fields | no credentials | refused |
 * | none, but documents have sealed fields | anything | refused: the key was lost |
 * | sealed under the current credentials | these credentials | opens it |
 * | sealed under a former master key or root password | the former one as previous, and current credentials | opens it, and seals it under the current credentials |
 * | sealed under the root password | this password and a master key | opens it, and seals it under the master key |
 * | sealed under credentials that are not configured | anything | refused; nothing is changed |
 * | damaged, or of a later release | anything | refused; nothing is changed |
 *
 * A change of credentials therefore seals only the 32 bytes again and changes no document.
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
/** This server writes no record with a higher cost; such a record could exhaust the machine's memory. */
const costMax: ScryptCost = { n: 1 << 20, r: 32, p: 16 }

/** Configured credentials; master keys have the form `<name>:<base64 of 32 bytes>`. */
export interface SealingCredentials {
  readonly masterKey?: string
  readonly previousMasterKeys?: readonly string[]
  readonly rootPassword?: string
  readonly previousRootPassword?: string
}

/** The sealed key in its record, as JSON. */
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
  /** The value of the record, if it exists. */
  readonly stored: Uint8Array | undefined
  /** Whether documents have sealed fields. Called only if no key is stored. */
  isNeeded(): Promise<boolean>
  /** Stores the record if the stored record is still the one that was read. */
  store(record: Buffer): Promise<void>
  readonly random: Random
  readonly log: Logger
}

/**
 * Returns the 32 bytes of the key. If it rejects with `sealing_key_missing`, `sealing_key_wrong` or `sealing_key_lost`, nothing was
 * changed. The first two name the variables to set.
 */
export async function openDeploymentKey(options: DeploymentKeyOptions): Promise<Buffer> {
  const { credentials, stored, random, log } = options
  if (stored === undefined) {
    if (await options.isNeeded()) throw lostKey()
    const key = random.bytes(keyBytes)
    await options.store(await sealKey(key, credentials, random))
    log.info({ under: variableOf(credentials) }, 'created the key that seals secrets')
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

/**
 * Throws if the configured credentials cannot open the stored key, if the key is lost, or if no key is stored and there are no
 * credentials. Writes nothing.
 */
export async function checkDeploymentKey(
  stored: Uint8Array | undefined,
  credentials: SealingCredentials,
  isNeeded: DeploymentKeyOptions['isNeeded'],
): Promise<void> {
  if (stored !== undefined) (await openKey(parse(stored), credentials)).key.fill(0)
  else if (await isNeeded()) throw lostKey()
  else if (credentials.masterKey === undefined && credentials.rootPassword === undefined) throw missingCredentials()
}

function lostKey() {
  return storeErrors.sealing_key_lost(
    'Documents have sealed fields, but the key that they are sealed with is not in the store. Restore the drive from a backup.',
  )
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
      `Secrets at rest are sealed under the master key named "${under.name}", which is neither in SVC_KMS_SECRET_KEY nor in ` +
        `SVC_KMS_SECRET_KEY_PREVIOUS${hasSameName ? ': the configured key has that name, but other bytes' : ''}. Nothing was changed. Set SVC_KMS_SECRET_KEY to that key, or add it to ` +
        'SVC_KMS_SECRET_KEY_PREVIOUS to change to the configured key.',
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
          'SVC_ROOT_PASSWORD_PREVIOUS to the former password for one start, to change to the configured one.'
      : 'Secrets at rest are sealed under another root password than SVC_ROOT_PASSWORD, and SVC_ROOT_PASSWORD_PREVIOUS is another ' +
          'one as well. Nothing was changed. Set either of them to the password of the last successful start.',
  )
}

function tryOpen(wrapping: KeyObject, sealed: Buffer): Buffer | undefined {
  try {
    return openSealed(wrapping, sealed, context)
  } catch (error) {
    // This key is wrong; the next candidate may be right.
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

/** Checks the record field by field, so that a damaged record is not taken for a wrong password. */
function parse(record: Uint8Array): SealedKey {
  try {
    const parsed = JSON.parse(Buffer.from(record).toString()) as SealedKey
    const { format, under, salt, sealed } = parsed
    const isWhole = format === 1 && typeof salt === 'string' && typeof sealed === 'string'
    if (isWhole && under.kind === 'master-key' && typeof under.name === 'string') return parsed
    if (isWhole && under.kind === 'root-password' && isCost(under.cost)) return parsed
  } catch {
    // The record is not JSON or has another shape; the error below reports it.
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
