/** Domain names: text without a final dot, in A-labels and lower case. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

const nameCharactersMax = 253
const labelPattern = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i

/** Why a text is no domain name, as a phrase that follows its field. Labels may begin with an underscore. */
export function nameProblem(name: string): string | undefined {
  if (name.length === 0 || name.length > nameCharactersMax)
    return `must be a name of 1 to ${nameCharactersMax} characters`
  if (name.split('.').every(label => labelPattern.test(label))) return undefined
  return 'must be a domain name: labels of letters, digits, - and _ with dots between them'
}

/** `*.Bücher.example.` is the domain `xn--bcher-kva.example`. Undefined if the text is not a domain. */
export function domainOf(text: string): string | undefined {
  const bare = text.replace(/^\*\./, '').replace(/\.$/, '')
  // What the parser of hosts would decode or cut off is no part of a name. Numbers it makes an address of, in each way to write one.
  if (bare.length > nameCharactersMax || /[\s/?#@:\\%[\]]/.test(bare)) return undefined
  const name = domainToASCII(bare)
  const isDomain = isIP(name) === 0 && nameProblem(name) === undefined && name.includes('.')
  return isDomain ? name : undefined
}

/** The name of the record that proves control of a domain (RFC 8555, section 8.4). */
export const challengeName = (domain: string): string => `_acme-challenge.${domain}`

/** A name as it is compared: DNS servers answer with the case that they have. */
export const canonicalName = (name: string): string => name.toLowerCase().replace(/\.$/, '')
