/** Requests of webhooks: to public addresses and allowed networks; in plain HTTP to allowed networks alone. */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import type { HttpClient, HttpClientService } from 'svc/plugins/http-client/api'
import type { PurgeWebhookContext } from './api.ts'
import { CallFailure } from './call-failure.ts'

const timeoutMs = 10_000
const answerBytesMax = 64 * 1024
const connectionsMax = 2

export interface Outgoing {
  readonly request: PurgeWebhookContext['request']
  /** Like `HttpClientService.urlProblem`, plus the rule for plain HTTP. */
  urlProblem(url: string): string | undefined
  close(): Promise<void>
}

export function createOutgoing(
  httpClient: Pick<HttpClientService, 'client' | 'urlProblem'>,
  allowedNetworks: readonly string[],
): Outgoing {
  const client: HttpClient = httpClient.client({
    purpose: 'purge',
    reach: 'public',
    allowedNetworks,
    timeoutMs,
    connectionsMax,
  })
  const allowed = blockListOf(allowedNetworks)
  const isAllowed = (address: string) => allowed.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  const plainProblem = 'must begin with https://: plain HTTP is for networks in SVC_CACHE_WEBHOOK_ALLOW'

  /** The address is checked again at the connection; this is about what others can read on the way. */
  async function requireTls(url: string): Promise<void> {
    const { protocol, hostname } = new URL(url)
    if (protocol === 'https:') return
    const host = hostname.replace(/^\[|\]$/g, '')
    const found = isIP(host) === 0 ? await lookup(host, { all: true }).catch(() => []) : [{ address: host }]
    // The connection looks the name up again: what is not known now could be any address then.
    if (found.length === 0) throw new CallFailure(`the name ${host} cannot be looked up`)
    if (found.some(({ address }) => !isAllowed(address)))
      throw new CallFailure(`the URL ${plainProblem}`, { isPermanent: true })
  }

  return {
    async request(request) {
      await requireTls(request.url)
      return client.request({ answerBytesMax, ...request })
    },
    urlProblem(url) {
      const problem = httpClient.urlProblem(url, 'public', allowedNetworks)
      if (problem !== undefined) return problem
      const { protocol, hostname } = new URL(url)
      const host = hostname.replace(/^\[|\]$/g, '')
      return protocol === 'http:' && (allowedNetworks.length === 0 || (isIP(host) !== 0 && !isAllowed(host)))
        ? plainProblem
        : undefined
    },
    close: () => client.close(),
  }
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
