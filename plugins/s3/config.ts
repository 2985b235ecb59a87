import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'

const hostName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

function checkDomains(domains: readonly string[]): string | undefined {
  const bad = domains.find(domain => !hostName.test(domain))
  return bad === undefined ? undefined : `must be host names without scheme and port; ${JSON.stringify(bad)} is not`
}

function checkServerUrl(url: string): string | undefined {
  if (url === '' || (URL.canParse(url) && /^https?:\/\/[^/?#@]+\/?$/.test(url))) return undefined
  return 'must be an http or https URL without a path, for example https://s3.example.org'
}

export const s3Config = Type.Object({
  domain: Type.Array(Type.String(), {
    default: [],
    description: 'Domains whose sub-domains are buckets (`<bucket>.<domain>`): virtual-host style requests.',
    variable: 'SVC_DOMAIN',
    check: checkDomains,
  }),
  keyNormalization: keyNormalizationSetting,
  serverUrl: Type.String({
    default: '',
    description: 'Public URL of the S3 API, used in links that the server hands out.',
    variable: 'SVC_SERVER_URL',
    check: checkServerUrl,
  }),
})

export type S3Config = Static<typeof s3Config>
