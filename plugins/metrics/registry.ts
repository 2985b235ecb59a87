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
import type { MetricFamilies, MetricsService } from './api.ts'

/** What another thread sends: its metrics as plain data. */
type Snapshot = readonly MetricObject[]

const snapshotName = 'metrics.snapshot'
/** Families of Node's runtime that each thread has for itself; all others describe the process. */
const perThread = /^nodejs_(eventloop|heap_size|external|gc)_/

export function createMetricsRegistry(kernel: KernelService, threads: Threads, ports: Ports): MetricsService {
  const registry = new Registry()
  const registers = [registry]
  const server = hostname()

  /** What several plugins fill, each with values of its own for a label. */
  const shared = new Map<string, SharedGauge>()

  const families: MetricFamilies = {
    counter({ name, help, labels = [], collect }) {
      const before = known(registry, Counter, name, labels)
      if (before !== undefined) return before
      const counter: Counter = new Counter({
        name,
        help,
        labelNames: labels,
        registers,
        collect: collect && (() => collect(counter)),
      })
      return counter
    },
    histogram: ({ name, help, labels = [], buckets }) =>
      new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers }),
    gauge({ name, help, labels = [], aggregate = 'sum', collect }) {
      const before = known(registry, Gauge, name, labels)
      const { gauge, collectors } = shared.get(name) ?? makeGauge()
      if (collect !== undefined) collectors.push(collect)
      return gauge

      function makeGauge(): SharedGauge {
        // Of somebody who is not asked for its values: nothing could be joined.
        if (before !== undefined) throw new Error(`metrics: the family ${name} is taken`)
        const made: SharedGauge = {
          collectors: [],
          gauge: new Gauge({
            name,
            help,
            labelNames: labels,
            registers,
            aggregator: aggregate,
            collect: () => collectShared(made),
          }),
        }
        shared.set(name, made)
        return made
      }
    },
  }

  registerRuntime(registry, threads.isMain)
  if (threads.isMain) registerNode(families, kernel, ports)
  threads.handle(snapshotName, (): Promise<Snapshot> => registry.getMetricsAsJSON())

  return {
    ...families,
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

interface SharedGauge {
  readonly gauge: Gauge
  readonly collectors: ((gauge: Gauge) => void | Promise<void>)[]
}

/** One after the other: each may begin by taking away its former values, and must not take away those of another. */
async function collectShared({ gauge, collectors }: SharedGauge): Promise<void> {
  if (collectors.length <= 1) return collectors[0]?.(gauge)
  gauge.reset()
  const view: Gauge = Object.create(gauge, { reset: { value: () => undefined } })
  for (const collect of collectors) await collect(view)
}

/** The family of this name, where it is of the same kind and has the same labels. Throws where it is another. */
function known<Metric extends Counter | Gauge>(
  registry: Registry,
  kind: new (...parameters: never[]) => Metric,
  name: string,
  labels: readonly string[],
): Metric | undefined {
  const metric = registry.getSingleMetric(name) as unknown as { readonly labelNames: readonly string[] } | undefined
  if (metric === undefined) return undefined
  if (!(metric instanceof kind) || metric.labelNames.join() !== labels.join()) {
    throw new Error(`metrics: the family ${name} is another one already`)
  }
  return metric
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

function registerNode(metrics: MetricFamilies, kernel: KernelService, ports: Ports): void {
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
    collect: gauge => gauge.set({ version: kernel.version, commit: kernel.commit }, 1),
  })
}
