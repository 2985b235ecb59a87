/**
 * The header by which a proxy in front shows that a request came through it. Secrets are stored as salted SHA-256 only; they are random or
 * long, so a slow hash would add no protection. Reads return a masked value, which refers to the stored secret when it is sent back; with a new `value` it is replaced. Of a
 * reference (`${secret:name}`) the name is stored, and what it stands for is read when a request comes; the digest beside it is of nothing.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Random } from 'svc/kernel'
import {
  headerSecretCharactersMin,
  referencedName,
  referenceTo,
  type SecretReferencesService,
} from 'svc/plugins/secret-references/api'
import type { OriginSecretHeader, StoredOriginSecret } from './document.ts'

export type ResolveSecret = SecretReferencesService['resolve']
type Secret = StoredOriginSecret['secrets'][number]

/** A rotation keeps the others for a while; more than this are no rotation. */
export const secretsMax = 10
const shown = /^sha256:([0-9a-f]{8})$/

function digestOf(salt: string, value: string): Buffer {
  return createHash('sha256').update(salt, 'hex').update(value, 'utf8').digest()
}

export function hashSecret(value: string, random: Random): Secret {
  const salt = Buffer.from(random.bytes(16)).toString('hex')
  return { salt, digest: digestOf(salt, value).toString('hex') }
}

/** The secret as reads show it, masked. */
export function showSecret({ name, secrets }: StoredOriginSecret, nowMs: number): OriginSecretHeader {
  return {
    name,
    values: secrets.filter(secret => isLive(secret, nowMs)).map(shownSecret),
  }
}

const shownSecret = ({ digest, reference }: Secret): string =>
  reference === undefined ? `sha256:${digest.slice(0, 8)}` : referenceTo(reference)

/** Throws a sentence without subject. `before`: the stored secrets, to which masked values refer. */
export function storeSecret(
  { name, value, values = [] }: OriginSecretHeader,
  before: StoredOriginSecret | undefined,
  random: Random,
  nowMs: number,
): StoredOriginSecret {
  // What has expired neither counts again nor makes a difference.
  const live = (before?.secrets ?? []).filter(secret => isLive(secret, nowMs))
  const isReplaced = value !== undefined && value !== ''
  // Clients read the document, and add the new value. Others beside it are meant to be valid as well, or not: nobody can tell.
  if (isReplaced && !values.every(one => shown.test(one)))
    throw new TypeError(
      'has a value, which replaces all, beside values that are not masked: give all of them as values',
    )
  const given = isReplaced ? [value] : values
  if (given.length > secretsMax) throw new TypeError(`has more than ${secretsMax} values`)
  const secrets = given.map(one => {
    const digits = shown.exec(one)?.[1]
    if (digits !== undefined) {
      const kept = live.find(({ digest }) => digest.startsWith(digits))
      if (kept === undefined) throw new TypeError('has a masked value that matches no stored secret')
      return kept
    }
    const reference = referencedName(one)
    if (reference !== undefined) {
      const known = live.find(secret => secret.reference === reference)
      return known ?? { ...hashSecret(Buffer.from(random.bytes(32)).toString('hex'), random), reference }
    }
    if (one.length < headerSecretCharactersMin)
      throw new TypeError(`has a value of less than ${headerSecretCharactersMin} characters`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no header can have them
    if (/[\u0000-\u001f\u007f]/.test(one)) throw new TypeError('has a value with control characters')
    // The same secret again is no change.
    return live.find(secret => isDigestOf(one, secret)) ?? hashSecret(one, random)
  })
  if (secrets.length === 0) throw new TypeError('has no value')
  const stored = { name: name.toLowerCase(), secrets }
  const isSame = before !== undefined && isDeepStrictEqual({ ...before, secrets: live }, stored)
  return isSame ? before : stored
}

const isLive = ({ expiresMs }: Secret, nowMs: number) => expiresMs === undefined || nowMs < expiresMs

const isDigestOf = (value: string, { salt, digest }: Secret): boolean =>
  timingSafeEqual(digestOf(salt, value), Buffer.from(digest, 'hex'))

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** A reference that stands for nothing on this node, or for too little, lets nobody in. */
function isReferenced(value: string, reference: string, resolve: ResolveSecret): boolean {
  const text = resolve(referenceTo(reference))
  return text !== undefined && text.length >= headerSecretCharactersMin && timingSafeEqual(sha256(value), sha256(text))
}

/** Whether the header has one of the live values. Each is compared, so that time tells nothing. */
export function hasSecret(
  header: string | undefined,
  { secrets }: StoredOriginSecret,
  nowMs: number,
  resolve: ResolveSecret,
): boolean {
  if (header === undefined) return false
  // A header arrives as one character for each byte.
  const value = Buffer.from(header, 'latin1').toString('utf8')
  let isFound = false
  for (const secret of secrets) {
    const equals =
      secret.reference === undefined ? isDigestOf(value, secret) : isReferenced(value, secret.reference, resolve)
    if (equals && isLive(secret, nowMs)) isFound = true
  }
  return isFound
}
