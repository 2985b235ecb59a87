/** The metrics of one thread, and the sum of all threads when somebody asks. */
import { hostname } from 'node:os'
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, type MetricObject, Registry } from 'prom-client'
import type { KernelService, MaybePromise, Ports, Threads } from 'svc/kernel'
import {
  bucketLabelsMax,
  type FamilySamples,
  type MetricFamilies,
  type MetricScope,
  type MetricsService,
  otherBuckets,
  type Sample,
} from './api.ts'
import { PlainCounter, PlainHistogram } from './plain-children.ts'

/** What another thread sends: its metrics as plain data. */
type Snapshot = readonly MetricObject[]

const snapshotName = 'metrics.snapshot'
const scopes = ['node', 'cluster', 'bucket'] as const
/** Families of Node's runtime that each thread has for itself; all others describe the process. */
const perThread = /^nodejs_(eventloop|heap_size|external|gc)_/

export function createMetricsRegistry(kernel: KernelService, threads: Threads, ports: Ports): MetricsService {
  const registries = { node: new Registry(), cluster: new Registry(), bucket: new Registry() }
  const registersOf = (scope: MetricScope = 'node') => [registries[scope]]
  const labelsOf = new Map<string, readonly string[]>()
  const server = hostname()

  /** What several plugins fill, each with values of its own for a label. */
  const shared = new Map<string, SharedGauge>()

  const families: MetricFamilies = {
    counter({ name, help, labels = [], scope, collect }) {
      const before = known(registries, Counter, name, labels)
      if (before !== undefined) return before
      labelsOf.set(name, labels)
      const counter: Counter = new PlainCounter({
        name,
        help,
        labelNames: labels,
        registers: registersOf(scope),
        collect: collect && (() => collect(counter)),
      })
      return counter
    },
    histogram({ name, help, labels = [], scope, buckets }) {
      labelsOf.set(name, labels)
      return new PlainHistogram({
        name,
        help,
        labelNames: labels,
        buckets: [...buckets],
        registers: registersOf(scope),
      })
    },
    gauge({ name, help, labels = [], scope, aggregate = 'sum', collect }) {
      const before = known(registries, Gauge, name, labels)
      labelsOf.set(name, labels)
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
            registers: registersOf(scope),
            aggregator: aggregate,
            collect: () => collectShared(made),
          }),
        }
        shared.set(name, made)
        return made
      }
    },
  }

  registerRuntime(registries.node, threads.isMain)
  if (threads.isMain) registerNode(families, kernel, ports)
  const snapshot = async (wanted: readonly MetricScope[]): Promise<Snapshot> =>
    (await Promise.all(wanted.map(scope => registries[scope].getMetricsAsJSON()))).flat()
  threads.handle(snapshotName, snapshot)

  async function combine(wanted: readonly MetricScope[]): Promise<Registry> {
    const [own, others] = await Promise.all([snapshot(wanted), threads.callOthers<Snapshot>(snapshotName, wanted)])
    // The main thread comes first: where values are not summed, it speaks for the process.
    const snapshots = threads.isMain ? [own, ...others] : [...others, own]
    return AggregatorRegistry.aggregate(snapshots as unknown as MetricObject[]) as Registry
  }

  return {
    ...families,
    contentType: registries.node.contentType,
    async scrape(scope = 'node') {
      if (scope === 'bucket') {
        const sum = await combine([scope])
        for (const metric of sum.getMetricsAsArray()) foldBuckets(metric as unknown as AggregatedMetric)
        return sum.metrics()
      }
      const node = await combine(['node'])
      node.setDefaultLabels({ server })
      return (await node.metrics()) + (scope === 'cluster' ? await (await combine([scope])).metrics() : '')
    },
    async sample() {
      const sum = await combine(scopes)
      const metrics = sum.getMetricsAsArray() as unknown as AggregatedMetric[]
      return Promise.all(
        metrics.map(async (metric): Promise<FamilySamples> => {
          foldBuckets(metric)
          const { name, help, type, values } = await metric.get()
          return { name, help, type, samples: values, labels: labelsOf.get(name) ?? labelsIn(values) }
        }),
      )
    },
  }
}

/** A metric of prom-client's aggregate: its values are data. */
interface AggregatedMetric {
  get(): MaybePromise<Omit<FamilySamples, 'labels' | 'samples'> & { values: readonly Sample[] }>
}

/** Of a family that prom-client declares. */
function labelsIn(samples: readonly Sample[]): readonly string[] {
  const names = new Set(samples.flatMap(({ labels }) => Object.keys(labels)))
  names.delete('le')
  return [...names]
}

/** Each thread holds to the limit; together they may know more buckets. */
function foldBuckets(metric: AggregatedMetric): void {
  const original = metric.get()
  if (original instanceof Promise) return
  const names = new Set(original.values.map(({ labels }) => labels.bucket ?? otherBuckets))
  names.delete(otherBuckets)
  if (names.size <= bucketLabelsMax) return
  const kept = new Set([...names].sort().slice(0, bucketLabelsMax))
  const folded = new Map<string, { labels: Sample['labels']; value: number }>()
  for (const { labels, value } of original.values) {
    const shown = kept.has(labels.bucket!) ? labels : { ...labels, bucket: otherBuckets }
    const key = JSON.stringify(shown)
    const sum = folded.get(key)
    if (sum === undefined) folded.set(key, { labels: shown, value })
    else sum.value += value
  }
  metric.get = () => ({ ...original, values: [...folded.values()] })
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
  registries: Readonly<Record<MetricScope, Registry>>,
  kind: new (...parameters: never[]) => Metric,
  name: string,
  labels: readonly string[],
): Metric | undefined {
  const found = scopes.map(scope => registries[scope].getSingleMetric(name)).find(metric => metric !== undefined)
  const metric = found as unknown as { readonly labelNames: readonly string[] } | undefined
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
