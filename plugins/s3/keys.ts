/** Configuration keys that other plugins read too. */
import { Type } from 'typebox'

const hostName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

function checkDomains(domains: readonly string[]): string | undefined {
  const bad = domains.find(domain => !hostName.test(domain))
  return bad === undefined ? undefined : `must be host names without scheme and port; ${JSON.stringify(bad)} is not`
}

function checkServerUrl(url: string): string | undefined {
  if (url === '' || (URL.canParse(url) && /^https?:\/\/[^/?#@]+\/?$/.test(url))) return undefined
  return 'must be an http or https URL without a path, for example https://s3.example.org'
}

export const domainKey = Type.Array(Type.String(), {
  default: [],
  description: 'Domains whose sub-domains are buckets (`<bucket>.<domain>`): virtual-host style requests.',
  variable: 'SVC_DOMAIN',
  check: checkDomains,
})

export const serverUrlKey = Type.String({
  default: '',
  description: 'Public URL of the S3 API, used in links that the server hands out.',
  variable: 'SVC_SERVER_URL',
  check: checkServerUrl,
})
