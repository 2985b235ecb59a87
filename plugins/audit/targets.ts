/**
 * The targets of audit records. Every thread knows whether a target is enabled, and sends its records to the main thread; the main thread
 * gives the records of all threads to the targets.
 */
import { createLossLog, createTargets, type Targets, type TargetsOptions } from 'svc/plugins/delivery/api'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { AuditMessage, AuditTarget, AuditTargetState } from './api.ts'
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
  /** In any thread. */
  states(): Promise<readonly AuditTargetState[]>
  start: Targets<AuditTarget>['start']
  stop(): Promise<void>
}

/** Records of a batch may take several rounds of posts. */
const roundTripsMax = 5
const main = 0
const statesMessage = 'audit.targets'
const unreadable = 'The stored settings cannot be read.'

export function createAuditTargets(options: AuditTargetsOptions): AuditTargets {
  const { threads, clock, log, node, metrics } = options
  /** Records since the start, by target. */
  const droppedTotals = new Map<string, number>()
  const lossLog = createLossLog({
    counter: metrics.counter({
      name: 'svc_audit_dropped_total',
      help: 'Audit records that did not reach their target: its queue was full, or could not be written.',
      labels: ['target'],
    }),
    clock,
    log,
    message: 'audit records were dropped: their target takes none, and its queue is full',
  })
  const drop = (id: string, count: number): void => {
    droppedTotals.set(id, (droppedTotals.get(id) ?? 0) + count)
    lossLog.add(id, count)
  }
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
      const way = createDirectWay(delivery, { ...options, onDropped: drop })
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
      for (const id of enabledIds) drop(id, count)
    },
  })

  const ownStates = async (): Promise<readonly AuditTargetState[]> =>
    (await targets.states()).map(({ id, name, values, isReadable, pending, lastError, deadLetters, ...state }) => ({
      id,
      kind: name.kind,
      isEnabled: values.enable,
      endpoint: state.endpoint,
      isOnline: state.isOnline,
      pendingRecords: pending,
      deadLetters,
      droppedTotal: droppedTotals.get(id) ?? 0,
      failedTotal: state.failedTotal,
      lastError: [isReadable ? '' : unreadable, lastError].filter(error => error !== '').join(' '),
      lastErrorMs: state.lastErrorMs,
      lastSuccessMs: state.lastSuccessMs,
      queueLimit: values.queue_limit,
    }))

  if (threads.isMain) {
    threads.handle(recordsMessage, receive)
    threads.handle(statesMessage, ownStates)
  }

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
    states: () => threads.call<readonly AuditTargetState[]>(main, statesMessage),
    start: targets.start,
    async stop() {
      await targets.unwatch()
      outlet.isOpen = false
      await outlet.flush()
      await targets.stop()
    },
  }
}
