import { apiUrlProblem } from 'svc/plugins/dns/api'
import { type Static, Type } from 'typebox'

export const publicApiUrl = 'https://api.cloudflare.com/client/v4'

export const DnsHostedConfig = Type.Object({
  apiUrl: Type.String({
    default: publicApiUrl,
    description: 'Where the API of the provider is. Only tests have it elsewhere: tokens are sent there.',
    check: apiUrlProblem,
  }),
})

export type DnsHostedConfig = Static<typeof DnsHostedConfig>
