import { type Static, Type } from 'typebox'
import { nameserverProblem } from './nameserver.ts'

export const DnsConfig = Type.Object({
  nameservers: Type.Array(Type.String(), {
    variable: 'SVC_ACME_DNS_NAMESERVERS',
    default: [],
    maxItems: 16,
    description:
      'Servers, `host[:port]`, that are asked whether a TXT record has arrived, and for the zone that it belongs to. Without them the authoritative servers of the zone are asked, which the resolver of the machine finds.',
    check: (servers: readonly string[]) => servers.map(nameserverProblem).find(problem => problem !== undefined),
  }),
})

export type DnsConfig = Static<typeof DnsConfig>
