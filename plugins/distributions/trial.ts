/** How a request would be answered: the way of requests, with nothing sent and nothing counted. */
import { adminErrors } from 'svc/plugins/admin/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { DistributionRefusal, Visit } from './api.ts'
import { asSent } from './as-sent.ts'
import type { Distribution } from './document.ts'
import type { HostTable } from './host-table.ts'
import { asHost, normalizeHost } from './hosts.ts'
import { createVisit, type Ready } from './visit.ts'

export interface TestRequest {
  /** Absolute, or a path at the first alias that is no wildcard. */
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly ip: string
  readonly identity: Identity | undefined
  /** Undefined: now. */
  readonly nowMs: number | undefined
}

export interface TestResult {
  readonly distribution: string
  readonly host: string
  readonly path: string
  readonly mode: string
  readonly enabled: boolean
  readonly behavior: { readonly index: number; readonly pathPattern?: unknown; readonly access: string }
  readonly restriction: { readonly allowed: boolean; readonly reason: string }
  readonly redirect?: { readonly status: number; readonly location: string }
  readonly bucket: string
  readonly key: string
  readonly decision: 'allow' | 'deny'
  readonly source: 'distribution' | 'policy' | 'access-rule' | 'block-public' | 'signature'
  /** The id of the access rule that denies; empty where none does. */
  readonly rule: string
  readonly status: number
  readonly reason: string
  readonly errorPage: string
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly cachePolicy: string
}

/** Tests requests against the distribution with this id. The table has all distributions, or only a draft. */
export async function testDistribution(
  { id, aliases }: Pick<Distribution, 'id' | 'aliases'>,
  request: TestRequest,
  hosts: HostTable<Ready>,
  nowMs: number,
): Promise<TestResult> {
  const url = urlOf(request.url, aliases)
  const host = normalizeHost(url.host)
  const found = hosts.find(host)
  if (found?.value.distribution.id !== id) {
    throw adminErrors.invalid_argument(`/url: ${host} is not a host of this distribution.`)
  }
  const { distribution, server, restrictions } = found.value
  const exchange = exchangeOf(url, request)
  let answer: { readonly status: number; readonly headers: readonly string[] } | undefined
  const rehearsal = {
    identity: request.identity,
    nowMs: request.nowMs ?? nowMs,
    onAnswer: (status: number, headers: readonly string[]) => {
      answer = { status, headers }
    },
  }
  const visit = createVisit(exchange, host, found.alias, distribution, rehearsal)
  const refusal = restrictions.refusal(exchange, rehearsal)
  if (refusal === undefined) await server.serve(visit)
  else {
    visit.reason = refusal.reason
    await server.refuse(visit, refusal)
  }
  return describe(visit, url, refusal, answer ?? { status: 500, headers: [] })
}

interface TestUrl {
  readonly secure: boolean
  /** The host with its port. */
  readonly host: string
  /** Raw, with the query. */
  readonly target: string
}

/** The path is used as written: segments that a URL parser would resolve may be the subject of the test. */
function urlOf(text: string, aliases: readonly string[]): TestUrl {
  const absolute = /^(https?):\/\/([^/?#]+)(\/.*)?$/i.exec(text)
  if (absolute !== null) {
    const [, scheme, host, target = '/'] = absolute
    return { secure: scheme.toLowerCase() === 'https', host: asHost(host), target: asSent(target) }
  }
  const alias = aliases.find(name => !name.startsWith('*.'))
  if (!text.startsWith('/')) throw adminErrors.invalid_argument('/url: must be absolute, or a path.')
  if (alias === undefined)
    throw adminErrors.invalid_argument('/url: must be absolute: the distribution has wildcards alone.')
  return { secure: false, host: alias, target: asSent(text) }
}

function exchangeOf({ secure, host, target }: TestUrl, { method, headers, ip }: TestRequest): Exchange {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const request = {
    method,
    url: target,
    headers: { ...Object.fromEntries(given), host },
    rawHeaders: given.flat(),
    httpVersion: '1.1',
    httpVersionMajor: 1,
  }
  const response = { headersSent: false, destroy() {} }
  return {
    request,
    response,
    listener: 'web',
    requestId: '0000000000000000',
    clientAddress: ip,
    secure,
    host,
    startedNs: 0n,
    starting: false,
    draining: false,
    awaitsContinue: false,
    continue() {},
  } as unknown as Exchange
}

function describe(
  visit: Visit,
  { target }: TestUrl,
  refusal: DistributionRefusal | undefined,
  { status, headers }: { readonly status: number; readonly headers: readonly string[] },
): TestResult {
  const { distribution, host, behavior, access, key, reason = '', cache, cachePolicy, tags } = visit
  const responseHeaders: Record<string, string> = {}
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index].toLowerCase()
    const before = responseHeaders[name]
    responseHeaders[name] = before === undefined ? headers[index + 1] : `${before}, ${headers[index + 1]}`
  }
  const { location } = responseHeaders
  const pathPattern = distribution.behaviors[behavior]?.pathPattern
  // An error page may have the status of another answer. A missing page has one without a reason.
  const isBehindPage = visit.errorPage !== undefined && reason !== ''
  const isRefused = refusal !== undefined || isBehindPage || status === 403 || status === 429
  return {
    distribution: distribution.id,
    host,
    path: target,
    mode: distribution.mode,
    enabled: distribution.enabled,
    behavior: { index: behavior, ...(pathPattern === undefined ? {} : { pathPattern }), access },
    restriction: { allowed: refusal === undefined, reason: refusal?.reason ?? '' },
    ...(location === undefined ? {} : { redirect: { status, location } }),
    bucket: distribution.origin.bucket,
    key,
    decision: isRefused || (reason !== '' && status >= 400 && status !== 404) ? 'deny' : 'allow',
    source: sourceOf(visit, reason),
    rule: tags.deniedBy === 'access-rule' ? (tags.accessRule ?? '') : '',
    status,
    reason,
    errorPage: visit.errorPage ?? '',
    responseHeaders,
    cachePolicy: cachePolicy !== '' ? cachePolicy : cache === '' ? '' : 'disabled',
  }
}

/** Codes of S3 and reasons of websites for what policies have decided. */
const policyReasons: ReadonlySet<string> = new Set(['access_denied', 'root_denied', 'AccessDenied'])
/** Reasons for which a website refuses a request before it checks a signature. */
const otherReasons: ReadonlySet<string> = new Set(['method', 'path', 'customer_key'])

function sourceOf({ tags, access, distribution }: Visit, reason: string): TestResult['source'] {
  if (reason === 'public_access_blocked' || tags.deniedBy === 'block-public') return 'block-public'
  if (tags.deniedBy === 'access-rule') return 'access-rule'
  if (policyReasons.has(reason)) return access === 'deny' ? 'distribution' : 'policy'
  const isSignature = access === 'signed' && reason !== '' && distribution.mode === 'website'
  return isSignature && !otherReasons.has(reason) ? 'signature' : 'distribution'
}
