/**
 * The targets of audit records. Every thread knows whether a target is enabled, and sends its records to the main thread; the main thread
 * gives the records of all threads to the targets.
 */
import { createLossLog, createTargets, type Targets, type TargetsOptions } from 'svc/plugins/delivery/api'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { AuditMessage, AuditTarget } from './api.ts'
import { type Collector, createCollector, type RecordBatch, recordsMessage } from './collector.ts'
import { type AuditDirectWay, createDirectWay, decodeMessage } from './direct-way.ts'
import { documentOfLine } from './log-line.ts'

export interface AuditTargetsOptions
  extends Pick<TargetsOptions<AuditMessage, AuditTarget>, 'threads' | 'clock' | 'log' | 'topic' | 'settings'> {
  readonly metrics: MetricsService
  /** Name of this node: the first part of the keys of messages. */
  readonly node: string
}

export interface AuditTargets {
  readonly outlet: Collector
  start: Targets<AuditTarget>['start']
  stop(): Promise<void>
}

/** Records of a batch may take several rounds of posts. */
const roundTripsMax = 5

export function createAuditTargets(options: AuditTargetsOptions): AuditTargets {
  const { threads, clock, log, node, metrics } = options
  const dropped = createLossLog({
    counter: metrics.counter({
      name: 'svc_audit_dropped_total',
      help: 'Audit records that did not reach their target: its queue was full, or could not be written.',
      labels: ['target'],
    }),
    clock,
    log,
    message: 'audit records were dropped: their target takes none, and its queue is full',
  })
  const directWays = new Map<string, AuditDirectWay>()
  let enabledIds: readonly string[] = []

  const targets = createTargets<AuditMessage, AuditTarget>({
    ...options,
    messages: 'audit records',
    subsystemPrefix: 'audit_',
    idPrefix: 'audit_',
    about: {
      enable: 'Records are delivered. While it is off none are kept for the target; those in its queue wait.',
      queueLimit: 'Records that may wait for a target that does not answer. Beyond, new ones are dropped and counted.',
      what: 'records',
    },
    measuresDisabled: false,
    roundTripsMax,
    decode: entry => decodeMessage(entry, node),
    createDirectWay(delivery) {
      const way = createDirectWay(delivery, { ...options, onDropped: dropped.add })
      directWays.set(delivery.id, way)
      return way
    },
    onEnabled(ids) {
      enabledIds = ids
      outlet.isOpen = ids.length > 0
    },
  })

  const outlet = createCollector({
    threads,
    clock,
    onLost(count) {
      for (const id of enabledIds) dropped.add(id, count)
    },
  })

  if (threads.isMain) threads.handle(recordsMessage, receive)

  function receive({ requestIds, lines }: RecordBatch): void {
    if (enabledIds.length === 0) return
    const records = lines.map(
      (line, at): AuditMessage => ({
        key: `${node}/${requestIds[at]}`,
        body: Buffer.from(documentOfLine(line)),
      }),
    )
    for (const id of enabledIds) directWays.get(id)!.add(records)
  }

  return {
    outlet,
    start: targets.start,
    async stop() {
      await targets.unwatch()
      outlet.isOpen = false
      await outlet.flush()
      await targets.stop()
    },
  }
}
