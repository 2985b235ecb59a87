/** Where the collector is. */
import type { TracingProtocol } from './api.ts'

const tracesPath = '/v1/traces'

/** A sentence without subject. Never repeats the endpoint, because the invalid part may be a password. */
export function endpointProblem(endpoint: string, protocol: TracingProtocol): string | undefined {
  const isHttp = protocol === 'http/protobuf'
  const url = parse(isHttp || endpoint.includes('://') ? endpoint : `http://${endpoint}`)
  const wanted = isHttp
    ? 'must be a URL that begins with http:// or https://'
    : 'must be host:port, or a URL that begins with http:// or https://'
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return wanted
  if (url.username !== '' || url.password !== '') {
    return 'must have no user and no password: set OTEL_EXPORTER_OTLP_HEADERS'
  }
  if (url.search !== '' || url.hash !== '') return 'must have neither a query nor a fragment'
  if (!isHttp && url.pathname !== '/') return `${wanted}, without a path`
  if (!isHttp && !/:\d+\/?$/.test(endpoint)) return 'must name the port; that of collectors is mostly 4317'
  return undefined
}

/** The URL that traces are sent to. The endpoint has no problem. */
export function tracesUrl(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '')
  return base.endsWith(tracesPath) ? base : base + tracesPath
}

/**
 * Of a collector that speaks gRPC. `host:port` alone is TLS where authorities are named, and else plain, as collectors beside a server
 * are; a URL says it.
 */
export function grpcOrigin(endpoint: string, hasAuthorities: boolean): string {
  if (endpoint.includes('://')) return new URL(endpoint).origin
  return new URL(`${hasAuthorities ? 'https' : 'http'}://${endpoint}`).origin
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}
