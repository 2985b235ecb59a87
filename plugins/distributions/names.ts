/** Names that the server itself has: no distribution may take them, and S3 answers them. */

import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { covers } from './hosts.ts'

export interface ServerNames {
  /** Lower-case domains whose sub-domains are bucket names. */
  readonly domains: readonly string[]
  /** Hosts of the public URLs. */
  readonly main: ReadonlySet<string>
  /** The machine's own name. */
  readonly machine: string
}

export interface NamesConfig {
  readonly domain: readonly string[]
  readonly serverUrl: string
  readonly browserRedirectUrl?: string
}

export function serverNames({ domain, serverUrl, browserRedirectUrl = '' }: NamesConfig): ServerNames {
  const main = new Set<string>()
  for (const url of [serverUrl, browserRedirectUrl]) if (url !== '') main.add(new URL(url).hostname)
  return { domains: domain.map(name => name.toLowerCase()), main, machine: hostname().toLowerCase() }
}

/** Why the alias may not be had, by a distribution of this bucket: a sentence without subject. Undefined: it may. */
export function reservedBy(alias: string, bucket: string, { domains, main, machine }: ServerNames): string | undefined {
  const isWildcard = alias.startsWith('*.')
  const takes = (name: string) => alias === name || (isWildcard && covers(alias, name))
  for (const name of ['localhost', machine]) {
    if (takes(name)) return `is the name ${name} of this machine, or covers it`
  }
  if (alias.endsWith('.localhost')) return 'is a name of this machine'
  for (const name of main) if (isIP(name) === 0 && takes(name)) return `is the server's own ${name}, or covers it`
  for (const domain of domains) {
    if (takes(domain)) return `is ${domain} of SVC_DOMAIN, or covers it`
    if (!covers(`*.${domain}`, isWildcard ? alias.slice(2) : alias) && alias !== `*.${domain}`) continue
    if (alias === `${bucket}.${domain}`) continue
    return `is the host of a bucket below ${domain} of SVC_DOMAIN`
  }
  return undefined
}

/** The bucket that a host names by SVC_DOMAIN; undefined if it is not a sub-domain. */
export function bucketOfHost(host: string, { domains }: ServerNames): string | undefined {
  const domain = domains.find(name => host.endsWith(`.${name}`) && host.length > name.length + 1)
  return domain === undefined ? undefined : host.slice(0, -domain.length - 1)
}
