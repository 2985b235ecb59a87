/** Access logs of distributions in buckets: gzipped lines, in a folder for each distribution and day. */
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Logger, MaybePromise, Ports } from 'svc/kernel'
import { createLossLog } from 'svc/plugins/delivery/api'
import { createLogObjects, type LogObjects } from 'svc/plugins/log-objects/api'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { QueueService } from 'svc/plugins/queue/api'

/** Where lines of a log go. It is stored with the lines while they wait. */
export interface LogDestination {
  readonly distribution: string
  /** All keys begin with it. */
  readonly prefix: string
}

export interface BucketLogsOptions {
  readonly objects: Pick<ObjectsService, 'putObject'>
  readonly queue: QueueService
  readonly metrics: MetricsService
  /** Whether the bucket is the one into which the distribution was to write. */
  readonly mayLog: (distribution: string, bucket: string) => MaybePromise<boolean>
  readonly intervalMs: number
  readonly ports: Ports
  readonly log: Logger
}

const compress = promisify(gzip)

/** Declares a topic: during set-up. */
export function createBucketLogs(options: BucketLogsOptions): LogObjects<LogDestination> {
  const { objects, queue, metrics, mayLog, intervalMs, ports, log } = options
  const { clock, random } = ports
  const losses = createLossLog({
    counter: metrics.counter({
      name: 'svc_distribution_log_dropped_total',
      help: 'Lines of access logs of distributions that were lost because they came faster than they could be queued, by target bucket.',
      labels: ['target'],
    }),
    clock,
    log,
    message: 'lines of access logs of distributions are lost: they came faster than they could be queued',
  })
  return createLogObjects<LogDestination>({
    objects,
    topic: queue.topic('distributions'),
    intervalMs,
    ports,
    log,
    partOf: (_destination, eventMs) => new Date(eventMs).toISOString().slice(0, 10),
    keyOf: ({ prefix }, { eventMs }) => keyOfLog(prefix, eventMs, random.bytes(4).toString('hex')),
    isMeant: (bucket, { distribution }) => mayLog(distribution, bucket),
    system: { contentType: 'application/gzip' },
    encode: text => compress(text),
    onLost: losses.add,
  })
}

/** `<prefix>2026/08/01/0930-<node>-<unique>.log.gz`; all times are UTC. */
export function keyOfLog(prefix: string, eventMs: number, unique: string): string {
  const time = new Date(eventMs).toISOString()
  const day = time.slice(0, 10).replaceAll('-', '/')
  const minute = time.slice(11, 16).replace(':', '')
  const node = hostname().replaceAll(/[^A-Za-z0-9.-]/g, '-')
  return `${prefix}${day}/${minute}-${node}-${unique}.log.gz`
}
