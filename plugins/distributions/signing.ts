/** Signs URLs of a distribution with a key of the server. Such a URL is not valid for another distribution. */
import type { MaybePromise } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { HttpService } from 'svc/plugins/http/api'
import type { KeyGroupsService, Signed, ToSign } from 'svc/plugins/key-groups/api'
import { asSent, withPlainPercents } from './as-sent.ts'
import type { DistributionCertificates } from './certificates.ts'
import type { Distribution } from './document.ts'
import { normalizeHost } from './hosts.ts'
import type { Table } from './registry.ts'
import type { RoutingRules } from './routing.ts'
import type { Ready } from './visit.ts'

export interface WantedSignature extends Omit<ToSign, 'url'> {
  readonly url?: string
  /** Instead of `url`. */
  readonly path?: string
  /** The domain of the path; default: the first exact alias. Without a port it is that of the listener that answers for distributions. */
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
  readonly http: Pick<HttpService, 'listeners'>
  readonly rules: Pick<RoutingRules, 'onS3'>
  readonly certificates: Pick<DistributionCertificates, 'uncovered'>
}

/** Throws `invalid_argument` for a URL that would be refused, and the errors of `KeyGroupsService.sign`. */
export function createUrlSigning({ table, keyGroups, http, rules, certificates }: SigningOptions): SignUrl {
  /** What a port has to follow in an address with the scheme: empty for the usual one, and where a proxy in front has to answer. */
  function portOf(scheme: 'http' | 'https'): string {
    const isTls = scheme === 'https'
    const bound = http.listeners()
    const web = bound.find(({ name }) => name === (isTls ? 'web-tls' : 'web'))
    const found = web ?? (rules.onS3 ? bound.find(({ name, secure }) => name === 's3' && secure === isTls) : undefined)
    return found === undefined || found.port === (isTls ? 443 : 80) ? '' : `:${found.port}`
  }

  async function originOf(
    { aliases, tls, redirects }: Distribution,
    { domain, secure, resource = '' }: Pick<WantedSignature, 'domain' | 'secure' | 'resource'>,
  ): Promise<string> {
    const host = domain ?? aliases.find(alias => !alias.startsWith('*.'))
    if (host === undefined)
      throw invalid('The distribution has only wildcard aliases: name the domain of the path.', '/domain')
    const isTls =
      secure ||
      tls.certificate !== 'none' ||
      redirects?.some(({ httpsOnly }) => httpsOnly === true) ||
      (portOf('https') !== '' && (await certificates.uncovered([host.replace(/:\d+$/, '')])).length === 0)
    const scheme = isTls ? 'https' : 'http'
    const named = /^(https?:\/\/([^/:]+)(?::\d+)?)\//i.exec(resource)
    // The URL has to be one that the pattern matches: its port is known there.
    if (named?.[2]?.toLowerCase() === host) return named[1]!
    return `${scheme}://${host}${/:\d+$/.test(host) ? '' : portOf(scheme)}`
  }

  async function urlOf(distribution: Distribution, path: string | undefined, wanted: Parameters<typeof originOf>[1]) {
    if (path?.startsWith('/') !== true) throw invalid('The path begins with a slash.', '/path')
    const origin = await originOf(distribution, wanted)
    const host = origin.slice(origin.indexOf('//') + 2)
    // A domain that contains a slash or an at sign would name another host.
    if (!URL.canParse(origin) || !/^[^/?#@\\]+$/.test(host))
      throw invalid(`${JSON.stringify(host)} is no domain.`, '/domain')
    return readUrl(`${origin}${withPlainPercents(path)}`, '/path')
  }

  return async (distribution, { url: typed, path, domain, secure, ...wanted }) => {
    const { resource } = wanted
    const given = typed && withPlainPercents(typed)
    const url = given === undefined ? await urlOf(distribution, path, { domain, secure, resource }) : readUrl(given)
    const match = (await table()).hosts.find(normalizeHost(url.host))
    if (match?.value.distribution.id !== distribution.id) {
      throw invalid(
        `${url.host} is no host of the distribution ${distribution.id}.`,
        given === undefined ? '/domain' : '/url',
      )
    }
    const { access, keyGroup = '' } = match.value.server.behaviorOf?.(url.pathname) ?? { access: '' }
    if (access !== 'signed') {
      throw invalid(
        `The behavior of ${url.pathname} does not have signed access: there is nothing to sign for.`,
        given === undefined ? '/path' : '/url',
      )
    }
    const toSign = {
      ...wanted,
      url: given ?? url.href,
      ...(resource !== undefined && { resource: ownResource(resource, url) }),
    }
    return { ...(await keyGroups.sign(keyGroup, toSign)), keyGroup }
  }
}

function readUrl(text: string, element = '/url'): URL {
  if (!URL.canParse(text)) throw invalid(`${JSON.stringify(text)} is no absolute URL.`, element)
  return new URL(text)
}

/**
 * A path is one at the address of the URL, which the caller may not know. Key groups may serve several distributions: a pattern for other hosts
 * would open those.
 */
function ownResource(resource: string, url: URL): string {
  if (resource.startsWith('/')) {
    const [path = '', ...query] = asSent(withPlainPercents(resource)).split('?')
    // Escaped as the path of the URL is; stars stay.
    const { pathname } = readUrl(`${url.origin}${path}`, '/resource')
    return [`${url.origin}${pathname}`, ...query].join('?')
  }
  const host = /^[^:/]+:\/\/([^/]+)\//.exec(resource)?.[1]
  if (host?.toLowerCase() === url.host) return resource
  throw invalid(
    `The resource begins with a scheme and ${url.host}/, as the URL does; that part has no wildcards.`,
    '/resource',
  )
}

const invalid = (message: string, element: string): Error =>
  adminErrors.invalid_argument(message, { cause: [{ element, message }] })
