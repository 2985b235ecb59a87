/** Signs URLs and cookies with a private key that the server has. `verification.ts` accepts them. */
import { createPrivateKey, sign } from 'node:crypto'
import type { Clock } from 'svc/kernel'
import { parseBlock } from 'svc/plugins/policy/api'
import type { Collection } from 'svc/plugins/store/api'
import type { KeyGroupsService, SignedCookie, ToSign } from './api.ts'
import type { KeyDocument, KeyGroupDocument } from './documents.ts'
import { keyGroupErrors, noKey, noKeyGroup } from './errors.ts'
import { matchesResource } from './resource-pattern.ts'
import { encodeBytes, policyBytesMax } from './signature-text.ts'
import { cannedPolicy, customPolicy } from './signed-policy.ts'
import { cookiePrefix, type Scheme, type SectionedUrl, textOf } from './signed-request.ts'

const lifetimeMsMax = 31_536_000_000
const urlCharactersMax = 8 * 1024

export function createSigning(groups: Collection<KeyGroupDocument>, clock: Clock): KeyGroupsService['sign'] {
  return async (group, wanted) => {
    const document = await groups.get(group)
    if (document === undefined) throw noKeyGroup(group)
    const key = chooseKey(group, document.value.keys, wanted.keyId)
    const url = readUrl(wanted.url)
    const signed = textToSign(url, wanted, clock.now())
    const signature = encodeBytes(
      sign(key.algorithm === 'rsa' ? 'sha256' : null, Buffer.from(signed.text), createPrivateKey(key.privateKey)),
    )
    const parameters: readonly (readonly [string, string])[] = [
      signed.isCustom ? ['Policy', encodeBytes(Buffer.from(signed.text))] : ['Expires', String(signed.beforeSeconds)],
      ['Key-Pair-Id', key.id],
      ['Signature', signature],
    ]
    const made = { keyId: key.id, expiresMs: signed.beforeSeconds * 1000, policy: signed.text }
    if (wanted.kind === 'cookies') {
      return { ...made, cookies: cookiesOf(parameters, url, signed.resource, made.expiresMs) }
    }
    const query = parameters.map(([name, value]) => `${name}=${value}`).join('&')
    return { ...made, url: `${textOf(url)}${url.query === undefined ? '?' : '&'}${query}` }
  }
}

/** The key with the id, otherwise the newest that can sign. */
function chooseKey(
  group: string,
  keys: readonly KeyDocument[],
  keyId: string | undefined,
): KeyDocument & { readonly privateKey: string } {
  const found =
    keyId === undefined
      ? keys
          .filter(({ enabled, privateKey }) => enabled && privateKey !== undefined)
          .reduce<KeyDocument | undefined>((a, b) => (a === undefined || b.createdMs >= a.createdMs ? b : a), undefined)
      : keys.find(({ id }) => id === keyId)
  if (found === undefined && keyId !== undefined) throw noKey(group, keyId)
  if (found === undefined) {
    throw unable(`The server has no private key of an enabled key of the key group "${group}": generate one there.`)
  }
  if (!found.enabled) throw unable(`The key ${found.id} is disabled: its signatures are refused.`)
  const { privateKey } = found
  if (privateKey === undefined) throw unable(`The server does not have the private key of ${found.id}.`)
  return { ...found, privateKey }
}

/** Reads a URL in the form in which clients send it; browsers normalize URLs to this form first. */
function readUrl(text: string): SectionedUrl {
  if (text.length > urlCharactersMax) throw invalid(`The URL has more than ${urlCharactersMax} characters.`)
  if (!URL.canParse(text)) throw invalid('The URL is no absolute URL.')
  const { protocol, host, pathname, search, hash, username, password } = new URL(text)
  if (protocol !== 'https:' && protocol !== 'http:')
    throw invalid('The URL begins neither with https:// nor with http://.')
  if (username !== '' || password !== '') throw invalid('The URL has a user name or a password in it.')
  if (hash !== '' || text.includes('#'))
    throw invalid('The URL has a fragment, which no server ever sees: leave it out.')
  const query = search.slice(1)
  if (/(?:^|&)(?:Expires|Policy|Signature|Key-Pair-Id|Hash-Algorithm)(?:[=&]|$)/.test(query)) {
    throw invalid('The URL is already signed, or has a parameter with the name of a signature parameter.')
  }
  return { scheme: protocol.slice(0, -1) as Scheme, host, path: pathname, query: query === '' ? undefined : query }
}

const expiry = '/expiresInSeconds'

interface TextToSign {
  readonly text: string
  readonly resource: string
  readonly isCustom: boolean
  readonly beforeSeconds: number
}

function textToSign(url: SectionedUrl, { kind, resource, expiresMs, startsMs, ip }: ToSign, nowMs: number): TextToSign {
  const beforeSeconds = Math.floor(expiresMs / 1000)
  if (beforeSeconds * 1000 <= nowMs) throw invalid('The signature would already be expired.', expiry)
  if (expiresMs - nowMs > lifetimeMsMax) throw invalid('A signature is valid for at most 365 days.', expiry)
  if (startsMs !== undefined && startsMs >= expiresMs)
    throw invalid('The signature would expire before it becomes valid.', '/startsAt')
  if (ip !== undefined && parseBlock(ip) === undefined)
    throw invalid(`${JSON.stringify(ip)} is no address and no CIDR block.`, '/ip')
  // In a URL alone a resource is another one than the URL, or has wildcards, which are none without a policy.
  const own = textOf(url)
  const isWild = url.path.includes('*') || /[*?]/.test(url.query ?? '')
  const isCustom =
    startsMs !== undefined || ip !== undefined || (resource !== undefined && (resource !== own || isWild))
  if (!isCustom) return { text: cannedPolicy(own, beforeSeconds), resource: own, isCustom, beforeSeconds }
  if (resource === undefined && isWild) {
    throw invalid('The URL has a "*" or a second "?", a wildcard in a policy: write %2A or %3F, or give a resource.')
  }
  const pattern = resource ?? (url.query === undefined ? own : `${textOf({ ...url, query: undefined })}\\?${url.query}`)
  if (kind !== 'cookies' && !matchesResource(pattern, url)) {
    throw invalid(
      `The resource ${JSON.stringify(pattern)} does not match the URL, which would be refused.`,
      '/resource',
    )
  }
  if (!/^[a-z*?]+:\/\/[^/]/i.test(pattern) && pattern !== '*') {
    throw invalid(
      `The resource ${JSON.stringify(pattern)} is no URL: it begins with a scheme and a host, or is "*".`,
      '/resource',
    )
  }
  const afterSeconds = startsMs === undefined ? undefined : Math.floor(startsMs / 1000)
  const text = customPolicy({ resource: pattern, beforeSeconds, afterSeconds, address: ip })
  if (Buffer.byteLength(text) > policyBytesMax) throw unable(`The policy would have more than ${policyBytesMax} bytes.`)
  return { text, resource: pattern, isCustom, beforeSeconds }
}

function cookiesOf(
  parameters: readonly (readonly [string, string])[],
  { scheme, host }: SectionedUrl,
  resource: string,
  expiresMs: number,
): readonly SignedCookie[] {
  const shared = {
    domain: host.replace(/:\d+$/, ''),
    path: folderOf(resource),
    secure: scheme === 'https',
    httpOnly: true,
    expiresMs,
  }
  return parameters.map(([name, value]) => ({ name: `${cookiePrefix}${name}`, value, ...shared }))
}

/**
 * The folder of a resource, up to its first wildcard; everything where that comes before the path. A semicolon ends the path of a cookie, and
 * is not sent escaped: the folder above gets the cookies, too. The policy in them opens no more than it says.
 */
function folderOf(resource: string): string {
  const [plain] = resource.split(/[*?;]/, 1) as [string]
  const path = /^[^:]*:\/\/[^/]+(\/.*)$/.exec(plain)?.[1] ?? '/'
  // An escaped question mark leaves its backslash.
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/** `element`: the field of the request that is at fault. */
const invalid = (message: string, element = '/url'): Error =>
  keyGroupErrors.invalid_argument(message, { cause: [{ element, message }] })

const unable = (message: string): Error => keyGroupErrors.invalid_argument(message)
