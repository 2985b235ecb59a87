/** Signs URLs of a distribution with a key of the server. Such a URL is not valid for another distribution. */
import type { MaybePromise } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { KeyGroupsService, Signed, ToSign } from 'svc/plugins/key-groups/api'
import type { Distribution } from './document.ts'
import { normalizeHost } from './hosts.ts'
import type { Table } from './registry.ts'
import type { Ready } from './visit.ts'

export interface WantedSignature extends Omit<ToSign, 'url'> {
  readonly url?: string
  /** Instead of `url`. */
  readonly path?: string
  /** The domain of the path; default: the first exact alias. */
  readonly domain?: string
  /** The caller used TLS, so the user of the URL probably does as well. */
  readonly secure: boolean
}

export type SignUrl = (
  distribution: Distribution,
  wanted: WantedSignature,
) => Promise<Signed & { readonly keyGroup: string }>

export interface SigningOptions {
  readonly table: () => MaybePromise<Table<Ready>>
  readonly keyGroups: Pick<KeyGroupsService, 'sign'>
}

/** Throws `invalid_argument` for a URL that would be refused, and the errors of `KeyGroupsService.sign`. */
export function createUrlSigning({ table, keyGroups }: SigningOptions): SignUrl {
  return async (distribution, { url: given, path, domain, secure, ...wanted }) => {
    const url = given === undefined ? urlOf(distribution, { path, domain, secure }) : readUrl(given)
    const match = (await table()).hosts.find(normalizeHost(url.host))
    if (match?.value.distribution.id !== distribution.id) {
      throw invalid(`${url.host} is no host of the distribution ${distribution.id}.`)
    }
    const { access, keyGroup = '' } = match.value.server.behaviorOf?.(url.pathname) ?? { access: '' }
    if (access !== 'signed') {
      throw invalid(`The behavior of ${url.pathname} does not have signed access: there is nothing to sign for.`)
    }
    requireOwn(wanted.resource, url)
    return { ...(await keyGroups.sign(keyGroup, { ...wanted, url: given ?? url.href })), keyGroup }
  }
}

function readUrl(text: string): URL {
  if (!URL.canParse(text)) throw invalid(`${JSON.stringify(text)} is no absolute URL.`)
  return new URL(text)
}

function urlOf(
  { aliases, tls }: Distribution,
  { path, domain, secure }: Pick<WantedSignature, 'path' | 'domain' | 'secure'>,
): URL {
  if (path?.startsWith('/') !== true) throw invalid('The path begins with a slash.')
  const host = domain ?? aliases.find(alias => !alias.startsWith('*.'))
  if (host === undefined) throw invalid('The distribution has only wildcard aliases: name the domain of the path.')
  const scheme = tls.certificate === 'none' && !secure ? 'http' : 'https'
  const origin = `${scheme}://${host}`
  // A domain that contains a slash or an at sign would name another host.
  if (!URL.canParse(origin) || !/^[^/?#@\\]+$/.test(host)) throw invalid(`${JSON.stringify(host)} is no domain.`)
  return readUrl(`${origin}${path}`)
}

/** Key groups may serve several distributions: a pattern for other hosts would open those. */
function requireOwn(resource: string | undefined, url: URL): void {
  if (resource === undefined) return
  const host = /^[^:/]+:\/\/([^/]+)\//.exec(resource)?.[1]
  if (host?.toLowerCase() === url.host) return
  throw invalid(`/resource: it begins with a scheme and ${url.host}/, as the URL does; that part has no wildcards.`)
}

const invalid = (detail: string): Error => adminErrors.invalid_argument(detail)
