/** Rules of what users choose, and what is made where they choose nothing. Errors never repeat a secret. */
import { hash } from 'node:crypto'
import type { Random } from 'svc/kernel'
import { usersErrors } from './errors.ts'

const accessKeyPattern = /^[A-Za-z0-9._@+=-]{3,128}$/
const namePattern = /^[A-Za-z0-9._@+=-]{1,128}$/
const secretPattern = /^[!-~]{8,128}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const control = /[\u0000-\u001f\u007f]/

/** Segments of paths of the Admin API that a policy's name would hide. */
const reservedPolicyNames: ReadonlySet<string> = new Set(['attach', 'detach', 'simulate', 'validate', 'actions'])

/** Marks what STS gives out: nobody may choose a name that begins so. */
export const sessionPrefix = 'ASIA'

/** Begins every share link's access key: those of one user lie together, apart from all other keys. Nobody may choose it. */
export const sharePrefix = 'SVCSHARE'

export const descriptionCharsMax = 256
export const keyNameCharsMax = 64

function refuse(argument: string, rule: string): never {
  throw usersErrors.invalid_argument(`${argument} ${rule}.`, { extra: { Argument: argument } })
}

/** Of a user or an access key. */
export function requireAccessKey(text: string): void {
  if (!accessKeyPattern.test(text)) refuse('accessKey', 'has 3 to 128 letters, digits and . _ @ + = -')
  if (isSessionKey(text)) refuse('accessKey', `must not look like a temporary one (${sessionPrefix} and 16 characters)`)
  if (text.startsWith(sharePrefix)) refuse('accessKey', `must not begin as those of share links do (${sharePrefix})`)
}

export function requireGroupName(text: string): void {
  if (!namePattern.test(text)) refuse('name', 'has 1 to 128 letters, digits and . _ @ + = -')
}

export function requirePolicyName(text: string): void {
  if (!namePattern.test(text)) refuse('name', 'has 1 to 128 letters, digits and . _ @ + = -')
  if (reservedPolicyNames.has(text)) refuse('name', 'is reserved')
}

export function requireSecretKey(text: string): void {
  if (!secretPattern.test(text)) refuse('secretKey', 'has 8 to 128 printable ASCII characters without spaces')
}

export function requireText(argument: string, text: string, charsMax: number): void {
  if (text.length > charsMax) refuse(argument, `has at most ${charsMax} characters`)
  if (control.test(text) || !text.isWellFormed()) refuse(argument, 'must not hold control characters')
}

const upperAlphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const alphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** 20 characters; does not begin as one of STS does. */
export function newAccessKey(random: Random): string {
  let key = newText(random, 20, upperAlphanumerics)
  while (key.startsWith(sessionPrefix) || key.startsWith(sharePrefix)) key = newText(random, 20, upperAlphanumerics)
  return key
}

/** What the access keys of a user's share links begin with; undefined: of root. It tells nobody whose they are. */
export function sharePrefixOf(uid: string | undefined): string {
  return (
    sharePrefix +
    hash('sha256', uid ?? 'root', 'hex')
      .slice(0, 16)
      .toUpperCase()
  )
}

export function newShareAccessKey(random: Random, uid: string | undefined): string {
  return sharePrefixOf(uid) + newText(random, 20, upperAlphanumerics)
}

export function newSessionAccessKey(random: Random): string {
  return sessionPrefix + newText(random, 16, upperAlphanumerics)
}

export function isSessionKey(accessKey: string): boolean {
  return accessKey.length === 20 && accessKey.startsWith(sessionPrefix)
}

/** 40 characters: 238 bits. */
export function newSecretKey(random: Random): string {
  return newText(random, 40, alphanumerics)
}

export function newUid(random: Random): string {
  return random.bytes(16).toString('hex')
}

/** Each character equally likely: bytes beyond the last whole multiple of the alphabet are thrown away. */
function newText(random: Random, length: number, alphabet: string): string {
  const usable = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of random.bytes(2 * length)) {
      if (byte < usable && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

/** Sorted, each once. */
export function nameSet(names: Iterable<string>): string[] {
  return [...new Set(names)].sort()
}
