/** Names of hosts: as requests bring them, and as aliases that a distribution may have. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** The characters of a name; any other in an absolute location could lead elsewhere, and in a signed URL be a wildcard. */
const plainName = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/

/** Characters of the longest name (RFC 1035 section 2.3.4). Looking for the wildcards of a longer one would take long, and remembering it much memory. */
const nameCharsMax = 253

/** The host of a request for a look-up: lower case, without port and final dot. Empty if it is not a name with an optional port. */
export function normalizeHost(host: string): string {
  const colon = host.indexOf(':')
  // Brackets are an IPv6 address, which is not an alias; an invalid port could lead an absolute location elsewhere.
  if (colon !== -1 && !/^\d{0,5}$/.test(host.slice(colon + 1))) return ''
  let end = colon === -1 ? host.length : colon
  if (end > 0 && host.charCodeAt(end - 1) === 46 /* . */) end--
  const name = end === host.length ? host : host.slice(0, end)
  return name.length <= nameCharsMax && plainName.test(name) ? name : ''
}

/** A host as somebody types it, with a port or without, as requests bring it: in lower case, letters of other scripts as A-labels. */
export function asHost(typed: string): string {
  const [, name = '', port = ''] = /^(.*?)(:\d*)?$/s.exec(typed) ?? []
  // What is no name stays, to be told as it is; of ASCII, a URL would read `10.1` as an address and decode escapes.
  const ascii = /\P{ASCII}/u.test(name) ? domainToASCII(name) : ''
  return (ascii || name.toLowerCase()) + port
}

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/

/** The stored form: lower-case A-labels. Throws a sentence without subject if the text is not an alias. */
export function normalizeAlias(alias: string): string {
  const isWildcard = alias.startsWith('*.')
  const given = isWildcard ? alias.slice(2) : alias
  if (given.includes('*')) throw new TypeError('has a wildcard elsewhere than as its first label, as in *.example.org')
  if (/[:/?#@\s[\]%\\]/.test(given)) throw new TypeError('is no plain DNS name: no port, no scheme, no path')
  const ascii = domainToASCII(given.endsWith('.') ? given.slice(0, -1) : given)
  if (isIP(ascii) !== 0 || /^[\d.]+$/.test(ascii)) throw new TypeError('is an address: only names can be aliases')
  if (ascii === '' || ascii.length > nameCharsMax || !ascii.split('.').every(part => label.test(part))) {
    throw new TypeError(`is no DNS name: ${JSON.stringify(alias.slice(0, nameCharsMax + 2))}`)
  }
  return isWildcard ? `*.${ascii}` : ascii
}

/** Whether the wildcard `*.x` matches this name: `*` is one or more labels. */
export function covers(wildcard: string, name: string): boolean {
  return wildcard.startsWith('*.') && name.length > wildcard.length - 1 && name.endsWith(wildcard.slice(1))
}

/** The wildcards that stand for a name, the longest first. */
export function* wildcardsFor(name: string): Generator<string> {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    if (dot > 0) yield `*${name.slice(dot)}`
  }
}
