/** The metrics of requests that distributions answer. Children are kept: finding them by labels again costs more than counting. */
import type { MetricsService } from 'svc/plugins/metrics/api'

interface Incrementer {
  inc(value?: number): void
}

interface HostFamilies {
  readonly statuses: Map<number, Incrementer>
  readonly sent: Incrementer
  readonly duration: { observe(value: number): void }
}

export interface CountedVisit {
  readonly distribution: string
  /** The alias that stands for the host: of these there is a bounded number, and of hosts there is none. */
  readonly alias: string
  readonly status: number
  readonly sentBytes: number
  readonly durationMs: number
}

/** `owner`: what is made anew when the distribution changes; its counters are forgotten with it. */
export type CountVisit = (owner: object, visit: CountedVisit) => void

export function createVisitFamilies(metrics: MetricsService): CountVisit {
  const requests = metrics.counter({
    name: 'svc_distribution_requests_total',
    help: 'Requests that distributions answered, by the alias that stands for the host.',
    labels: ['distribution', 'host', 'status'],
  })
  const sent = metrics.counter({
    name: 'svc_distribution_bytes_served_total',
    help: 'Bytes of bodies that distributions have sent.',
    labels: ['distribution', 'host'],
  })
  const durations = metrics.histogram({
    name: 'svc_distribution_request_duration_seconds',
    help: 'From the head of a request to the end of its answer.',
    labels: ['distribution'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
  })
  const known = new WeakMap<object, Map<string, HostFamilies>>()

  function familiesOf(owner: object, distribution: string, alias: string): HostFamilies {
    let hosts = known.get(owner)
    if (hosts === undefined) {
      hosts = new Map()
      known.set(owner, hosts)
    }
    let families = hosts.get(alias)
    if (families === undefined) {
      families = {
        statuses: new Map(),
        sent: sent.labels(distribution, alias),
        duration: durations.labels(distribution),
      }
      hosts.set(alias, families)
    }
    return families
  }

  return (owner, { distribution, alias, status, sentBytes, durationMs }) => {
    const families = familiesOf(owner, distribution, alias)
    let count = families.statuses.get(status)
    if (count === undefined) {
      count = requests.labels(distribution, alias, String(status))
      families.statuses.set(status, count)
    }
    count.inc(1)
    if (sentBytes > 0) families.sent.inc(sentBytes)
    families.duration.observe(durationMs / 1000)
  }
}
