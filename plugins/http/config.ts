import Type, { type Static } from 'typebox'
import { addressKey, consoleAddressKey, proxyProtocolKey, webAddressKey, webTlsAddressKey } from './keys.ts'
import { checkProxyBlock } from './proxies.ts'

function checkProxyBlocks(blocks: readonly string[]): string | undefined {
  for (const block of blocks) {
    const problem = checkProxyBlock(block)
    if (problem !== undefined) return problem
  }
  return undefined
}

export const httpConfig = Type.Object({
  address: addressKey,
  consoleAddress: consoleAddressKey,
  webAddress: webAddressKey,
  webTlsAddress: webTlsAddressKey,
  trustedProxies: Type.Array(Type.String(), {
    variable: 'SVC_TRUSTED_PROXIES',
    format: 'cidr-list',
    default: [],
    description: 'Addresses and CIDR blocks of proxies whose forwarding headers and PROXY headers are believed.',
    check: checkProxyBlocks,
  }),
  forwardedHeaders: Type.Union([Type.Literal('x-forwarded'), Type.Literal('forwarded')], {
    variable: 'SVC_FORWARDED_HEADERS',
    default: 'x-forwarded',
    description: 'Headers that trusted proxies write: X-Forwarded-For/-Proto/-Host, or Forwarded (RFC 7239).',
  }),
  trustForwardedHost: Type.Boolean({
    variable: 'SVC_TRUST_FORWARDED_HOST',
    default: false,
    description: 'Take the host from the forwarding headers of trusted proxies instead of Host.',
  }),
  proxyProtocol: proxyProtocolKey,
  sendTimeout: Type.Integer({
    variable: 'SVC_SEND_TIMEOUT',
    environmentOnly: true,
    format: 'duration',
    minimum: 100,
    default: 20_000,
    description: 'An answer whose client has stopped reading is aborted after this time.',
  }),
  bodyTimeout: Type.Integer({
    format: 'duration',
    minimum: 100,
    default: 30_000,
    description: 'A request body of which nothing arrives for this time is given up.',
  }),
  headerTimeout: Type.Integer({
    format: 'duration',
    minimum: 100,
    default: 20_000,
    description: 'Time that a client has for the request line and headers.',
  }),
  keepAliveTimeout: Type.Integer({
    format: 'duration',
    minimum: 100,
    default: 75_000,
    description: 'Idle connections are kept open this long; longer than the idle time of load balancers in front.',
  }),
  headerBytesMax: Type.Integer({
    format: 'size',
    minimum: 8192,
    maximum: 1 << 20,
    default: 32_768,
    description: 'Request line and headers together. S3 needs about 16 KiB in its worst case.',
  }),
  connectionsMax: Type.Integer({
    minimum: 1,
    default: 10_000,
    description: 'Open connections per listener, shared evenly by the threads that accept; more are closed at once.',
  }),
})

export type HttpConfig = Static<typeof httpConfig>

/** Checks across keys. */
export function validateHttpConfig(config: HttpConfig): string[] {
  const problems: string[] = []
  if (config.proxyProtocol.length > 0 && config.trustedProxies.length === 0) {
    problems.push('SVC_PROXY_PROTOCOL needs SVC_TRUSTED_PROXIES: PROXY headers are accepted from trusted proxies only')
  }
  if (config.trustForwardedHost && config.trustedProxies.length === 0) {
    problems.push('SVC_TRUST_FORWARDED_HOST needs SVC_TRUSTED_PROXIES: nobody is trusted to forward a host')
  }
  return problems
}
