/** Rules for names and secrets that users choose, and generators for those that they do not choose. Errors never repeat a secret. */
import { hash } from 'node:crypto'
import type { Random } from 'svc/kernel'
import { invalidArgument } from './errors.ts'

const accessKeyPattern = /^[A-Za-z0-9._@+=-]{3,128}$/
const namePattern = /^[A-Za-z0-9._@+=-]{1,128}$/
const secretPattern = /^[!-~]{8,128}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const control = /[\u0000-\u001f\u007f]/

/** Path segments of the Admin API, which a policy of that name would hide. */
const reservedPolicyNames: ReadonlySet<string> = new Set(['attach', 'detach', 'simulate', 'validate', 'actions'])

/** Prefix of temporary access keys (STS): no other name may begin with it. */
export const sessionPrefix = 'ASIA'

/** Prefix of the access keys of share links: those of one user are adjacent, apart from all other keys. No other name may begin with it. */
export const sharePrefix = 'SVCSHARE'

export const descriptionCharsMax = 256
export const keyNameCharsMax = 64

function refuse(argument: string, rule: string): never {
  throw invalidArgument(argument, rule)
}

/** The name of a user or an access key. */
export function requireAccessKey(text: string): void {
  if (!accessKeyPattern.test(text)) refuse('accessKey', 'has 3 to 128 letters, digits and . _ @ + = -')
  if (isSessionKey(text))
    refuse('accessKey', `must not look like a temporary access key (${sessionPrefix} and 16 characters)`)
  if (text.startsWith(sharePrefix)) refuse('accessKey', `must not begin like those of share links (${sharePrefix})`)
}

export function requireGroupName(text: string): void {
  requireName(text)
}

/** A browser takes a segment of one or two dots out of a path. */
function requireName(text: string): void {
  if (!namePattern.test(text)) refuse('name', 'has 1 to 128 letters, digits and . _ @ + = -')
  if (text === '.' || text === '..') refuse('name', 'must not be one or two dots')
}

export function requirePolicyName(text: string): void {
  requireName(text)
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

/** 20 characters; never begins like a temporary access key. */
export function newAccessKey(random: Random): string {
  let key = newText(random, 20, upperAlphanumerics)
  while (key.startsWith(sessionPrefix) || key.startsWith(sharePrefix)) key = newText(random, 20, upperAlphanumerics)
  return key
}

/** The prefix of the access keys of a user's share links, or of root's if `undefined` is passed. Does not reveal the user. */
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

/** All characters are equally likely: bytes above the last whole multiple of the alphabet's size are dropped. */
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

/** Sorted, without repetition. */
export function nameSet(names: Iterable<string>): string[] {
  return [...new Set(names)].sort()
}
