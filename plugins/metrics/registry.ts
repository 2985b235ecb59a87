/** The metrics of one thread, and the sum of all threads when somebody asks. */
import { hostname } from 'node:os'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObject,
  Registry,
} from 'prom-client'
import type { KernelService, Ports, Threads } from 'svc/kernel'
import type { MetricsService } from './api.ts'

/** What another thread sends: its metrics as plain data. */
type Snapshot = readonly MetricObject[]

export interface MetricsRegistry extends MetricsService {
  readonly contentType: string
  /** The text of a scrape: every thread's values combined, labelled with this node's name. */
  scrape(): Promise<string>
}

const snapshotName = 'metrics.snapshot'
/** Families of Node's runtime that each thread has for itself; all others describe the process. */
const perThread = /^nodejs_(eventloop|heap_size|external|gc)_/

export function createMetricsRegistry(kernel: KernelService, threads: Threads, ports: Ports): MetricsRegistry {
  const registry = new Registry()
  const registers = [registry]
  const server = hostname()

  const service: MetricsService = {
    counter: ({ name, help, labels = [] }) => new Counter({ name, help, labelNames: labels, registers }),
    histogram: ({ name, help, labels = [], buckets }) =>
      new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers }),
    gauge({ name, help, labels = [], aggregate = 'sum', collect }) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        aggregator: aggregate,
        collect: collect === undefined ? undefined : () => collect(gauge),
      })
      return gauge
    },
  }

  registerRuntime(registry, threads.isMain)
  if (threads.isMain) registerNode(service, kernel, ports)
  threads.handle(snapshotName, (): Promise<Snapshot> => registry.getMetricsAsJSON())

  return {
    ...service,
    contentType: registry.contentType,
    async scrape() {
      const [own, others] = await Promise.all([registry.getMetricsAsJSON(), threads.callOthers<Snapshot>(snapshotName)])
      // The main thread comes first: where values are not summed, it speaks for the process.
      const snapshots = threads.isMain ? [own, ...others] : [...others, own]
      const sum = AggregatorRegistry.aggregate(snapshots as unknown as MetricObject[]) as Registry
      sum.setDefaultLabels({ server })
      return sum.metrics()
    },
  }
}

/** Process and runtime families of prom-client, each only in the threads where it says something of its own. */
function registerRuntime(registry: Registry, isMain: boolean): void {
  const all = new Registry()
  collectDefaultMetrics({ register: all, eventLoopMonitoringPrecision: 20 })
  for (const metric of all.getMetricsAsArray()) {
    // Without threads in it prom-client leaves the start time out of sums; ours comes from `registerNode`.
    if (metric.name === 'process_start_time_seconds') continue
    if (isMain || perThread.test(metric.name)) registry.registerMetric(metric as unknown as Counter)
  }
}

function registerNode(metrics: MetricsService, kernel: KernelService, ports: Ports): void {
  metrics.gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
    collect: gauge => gauge.set(kernel.startedAtMs / 1000),
  })
  metrics.gauge({
    name: 'svc_node_uptime_seconds',
    help: 'Seconds since the node was started.',
    collect: gauge => gauge.set((ports.clock.now() - kernel.startedAtMs) / 1000),
  })
  metrics.gauge({
    name: 'svc_node_info',
    help: 'Version of the node; always 1.',
    labels: ['version', 'commit'],
    collect: gauge => gauge.set({ version: kernel.version, commit: process.env.SVC_COMMIT ?? 'unknown' }, 1),
  })
}
