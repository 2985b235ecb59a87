import { apiUrlProblem } from 'svc/plugins/dns/api'
import { type Static, Type } from 'typebox'

export const publicApiUrl = 'https://route53.amazonaws.com'

export const DnsCloudConfig = Type.Object({
  apiUrl: Type.String({
    default: publicApiUrl,
    description: 'Where the API of the provider is. Only tests have it elsewhere.',
    check: apiUrlProblem,
  }),
})

export type DnsCloudConfig = Static<typeof DnsCloudConfig>
