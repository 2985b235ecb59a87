/** Accompanies one request for a distribution. At its end writes one record each to log, metrics, audit and trace. */
import type { Clock, Logger, MaybePromise } from 'svc/kernel'
import { type Exchange, type HttpService, throttledFamily } from 'svc/plugins/http/api'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { AccessLog } from './access-log.ts'
import type { DistributionServer, Rehearsal, Visit } from './api.ts'
import type { Distribution } from './document.ts'
import type { HostMatch } from './host-table.ts'
import type { Restrictions } from './restrictions.ts'
import { createVisitFamilies } from './visit-families.ts'

export interface Ready {
  readonly distribution: Distribution
  readonly server: DistributionServer
  readonly restrictions: Restrictions
  readonly accessLog: AccessLog | undefined
}

export interface VisitEnvironment {
  readonly clock: Clock
  readonly log: Logger
  readonly http: Pick<HttpService, 'observe'>
  readonly metrics: MetricsService
}

const operations: Readonly<Record<string, string>> = { GET: 'WebGet', HEAD: 'WebHead', OPTIONS: 'WebOptions' }

function tagsOf({ distribution, behavior, reason, tags: noted }: Visit): Record<string, string> {
  const tags: Record<string, string> = { distribution: distribution.id, behavior: String(behavior) }
  if (reason !== undefined) tags.reason = reason
  for (const name in noted) tags[name] = noted[name] as string
  return tags
}

export function createVisits({ clock, log, http, metrics }: VisitEnvironment) {
  const count = createVisitFamilies(metrics)
  const throttled = metrics.counter(throttledFamily)

  function record(visit: Visit, ready: Ready): void {
    const { exchange, distribution, alias } = visit
    const { response } = exchange
    const status = response.writableFinished ? response.statusCode : 499
    const durationMs = Number(clock.monotonicNs() - exchange.startedNs) / 1e6
    const timeMs = clock.now() - durationMs
    count(ready, { distribution: distribution.id, alias, status, sentBytes: visit.sentBytes, durationMs })
    const { throttled: kind } = visit.tags
    if (kind !== undefined) throttled.inc({ api: 'web', kind })
    ready.accessLog?.({ visit, status, durationMs, timeMs })
    if (visit.isRecordedElsewhere) return
    const { url = '', method = '', headers } = exchange.request
    const mark = url.indexOf('?')
    const isRestricted = visit.access === 'signed' || visit.access === 'authenticated'
    http.observe({
      type: 'web',
      isAudited: isRestricted || visit.reason !== undefined,
      listener: exchange.listener,
      operation: visit.operation,
      bucket: distribution.origin.bucket,
      key: visit.key,
      errorCode: visit.reason,
      tags: tagsOf(visit),
      requestId: exchange.requestId,
      method,
      path: mark < 0 ? url : url.slice(0, mark),
      query: mark < 0 ? '' : url.slice(mark + 1),
      presentsCredentials: headers.authorization !== undefined,
      identity: visit.identity,
      clientAddress: exchange.clientAddress,
      userAgent: headers['user-agent'] ?? '',
      status,
      timeMs,
      durationMs,
      receivedBytes: 0,
      sentBytes: visit.sentBytes,
    })
  }

  /** Answers a request that this host has. */
  return function serve(
    exchange: Exchange,
    host: string,
    { alias, value: ready }: HostMatch<Ready>,
  ): MaybePromise<void> {
    const { response } = exchange
    const visit = createVisit(exchange, host, alias, ready.distribution)
    response.on('close', () => {
      visit.isClosed = true
    })
    try {
      return answer(visit, ready)
    } finally {
      // After the listeners of the handler, which may still add notes about the answer.
      response.on('close', () => {
        try {
          record(visit, ready)
        } catch (err) {
          // An error in the records must not end the thread; it is logged.
          log.error({ err, requestId: exchange.requestId }, 'a request of a distribution could not be recorded')
        }
      })
    }
  }

  function answer(visit: Visit, { server, restrictions, distribution }: Ready): MaybePromise<void> {
    const refusal = restrictions.refusal(visit.exchange)
    if (refusal === undefined) return server.serve(visit)
    visit.reason = refusal.reason
    if (refusal.status === 429) visit.tags.throttled = distribution.restrictions.rateLimit?.per ?? 'ip'
    return server.refuse(visit, refusal)
  }
}

export type ServeVisit = ReturnType<typeof createVisits>

/** Creates the visit of a request that has just been routed. */
export function createVisit(
  exchange: Exchange,
  host: string,
  alias: string,
  distribution: Distribution,
  rehearsal?: Rehearsal,
): Visit {
  return {
    exchange,
    rehearsal,
    distribution,
    host,
    alias,
    operation: operations[exchange.request.method ?? ''] ?? 'WebOther',
    behavior: -1,
    access: '',
    key: '',
    cache: '',
    cachePolicy: '',
    cacheSource: 'origin',
    cacheHeaders: [],
    reason: undefined,
    tags: {},
    identity: undefined,
    sentBytes: 0,
    isClosed: false,
    isRecordedElsewhere: false,
  }
}
