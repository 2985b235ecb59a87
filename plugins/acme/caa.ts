/** Whether the CAA records of a domain let an authority issue for it (RFC 8659; the parameters of RFC 8657). */
import type { CaaProperty, CaaRecords } from 'svc/plugins/dns/api'

/** Tags that say nothing about certificates of web servers, and may be critical. */
const otherTags = new Set(['iodef', 'contactemail', 'contactphone', 'issuemail', 'issuevmc'])

export interface CaaQuestion {
  /** `*.` in front of wildcards. */
  readonly domain: string
  /** Names of the authority in CAA records, as its directory tells them (RFC 8555, 7.1.1); empty: it tells none. */
  readonly identities: readonly string[]
  readonly challenge: string
  readonly accountUrl: string
}

/** Why the authority would refuse the domain, as a sentence; undefined: it may issue, or the records do not tell. */
export function caaProblem({ name, properties }: CaaRecords, question: CaaQuestion): string | undefined {
  const { domain, identities, challenge, accountUrl } = question
  const unknown = properties.find(({ tag, isCritical }) => isCritical && !isIssue(tag) && !otherTags.has(tag))
  if (unknown !== undefined) {
    return `The critical CAA record ${shown(unknown)} of ${name} is one that no authority knows: none issues for ${domain}.`
  }
  const relevant = relevantTo(domain, properties)
  if (relevant.length === 0) return undefined
  const present = `of ${name}, ${relevant.slice(0, 5).map(shown).join(' and ')},`
  const parsed = relevant.map(({ value }) => parseIssue(value))
  if (identities.length === 0) {
    const isForbidden = parsed.every(({ issuer }) => issuer === '')
    return isForbidden ? `The CAA records ${present} let no authority issue for ${domain}. Change them.` : undefined
  }
  const names = identities.map(each => each.toLowerCase())
  const ours = parsed.filter(({ issuer }) => names.includes(issuer))
  if (ours.length === 0) {
    return `The CAA records ${present} do not let this authority issue for ${domain}. Add 0 ${relevant[0]!.tag} "${identities[0]}".`
  }
  const isFor = ({ parameters }: Issue) =>
    (parameters.get('validationmethods')?.split(',').includes(challenge) ?? true) &&
    (parameters.get('accounturi') ?? accountUrl) === accountUrl
  return ours.some(isFor)
    ? undefined
    : `The CAA records ${present} let this authority issue for ${domain}, but not to the account ${accountUrl} by ${challenge}.`
}

/**
 * Of an authority that tells no name: a clause about records that name others or it; undefined: there are none, or they forbid it anyway.
 */
export function caaDoubt({ name, properties }: CaaRecords, { domain, identities }: CaaQuestion): string | undefined {
  const relevant = relevantTo(domain, properties)
  const named = relevant.filter(({ value }) => parseIssue(value).issuer !== '')
  if (identities.length > 0 || named.length === 0) return undefined
  return `the CAA records of ${name} allow ${domain} to ${named.slice(0, 5).map(shown).join(' and ')}, and this authority does not tell its name in such records`
}

/** The properties that count for the domain: for a wildcard those of `issuewild`, if there are any. */
function relevantTo(domain: string, properties: readonly CaaProperty[]): readonly CaaProperty[] {
  const wild = domain.startsWith('*.') ? properties.filter(({ tag }) => tag === 'issuewild') : []
  return wild.length > 0 ? wild : properties.filter(({ tag }) => tag === 'issue')
}

const isIssue = (tag: string): boolean => tag === 'issue' || tag === 'issuewild'

const shown = ({ isCritical, tag, value }: CaaProperty): string =>
  `${isCritical ? 128 : 0} ${tag} ${JSON.stringify(value.slice(0, 200))}`

interface Issue {
  /** Empty: nobody. */
  readonly issuer: string
  readonly parameters: ReadonlyMap<string, string>
}

function parseIssue(value: string): Issue {
  const [issuer = '', ...rest] = value.split(';').map(part => part.trim())
  const pairs = rest
    .filter(part => part.includes('='))
    .map((part): [string, string] => {
      const [name = '', ...parts] = part.split('=')
      return [name.trim().toLowerCase(), parts.join('=').trim()]
    })
  return { issuer: issuer.toLowerCase(), parameters: new Map(pairs) }
}
