/**
 * All targets: follows the settings in every thread, so that each knows whether anybody wants its records; in the main thread
 * connects them and gives them the records of all threads.
 */
import type { Clock, Contribution, Logger, Threads } from 'svc/kernel'
import type { QueueFamily } from 'svc/plugins/queue/api'
import type { SettingsService, TargetValues } from 'svc/plugins/settings/api'
import type { AuditMessage, AuditSinkKind } from './api.ts'
import { type Collector, createCollector, type RecordBatch, recordsMessage } from './collector.ts'
import { createTargetDelivery, type TargetDelivery } from './delivery.ts'
import { documentOfLine } from './log-line.ts'
import { declareSubsystem, type EnabledTarget, enabledTargets, type KindSettings } from './subsystems.ts'

/** Of one attempt from the queue, where the settings do not give it more. */
const attemptMs = 30_000
/** Batches may take several rounds of posts. */
const attemptRounds = 5
const dropLogMs = 60_000

export interface TargetsOptions {
  readonly threads: Threads
  readonly clock: Clock
  readonly log: Logger
  readonly node: string
  readonly family: QueueFamily
  readonly settings: SettingsService
  onSent(target: string, count: number): void
  onFailed(target: string): void
  onDropped(target: string, count: number): void
}

export interface TargetState {
  readonly id: string
  readonly isOnline: boolean
  readonly pending: number
}

export interface AuditTargets {
  readonly outlet: Collector
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings
  start(kinds: readonly Contribution<AuditSinkKind<any>>[]): Promise<void>
  stop(): Promise<void>
  /** In the main thread. */
  states(): Promise<readonly TargetState[]>
}

/** In the main thread, for a target that is enabled or was. */
interface Lane {
  readonly delivery: TargetDelivery
  /** Settings that are in force; undefined where it is not enabled. */
  wanted: TargetValues | undefined
  last: Promise<void>
}

export function createAuditTargets(options: TargetsOptions): AuditTargets {
  const { threads, clock, log, node, family, settings, onSent, onFailed } = options
  const lanes = new Map<string, Lane>()
  const endings: (() => void)[] = []
  let kinds: readonly KindSettings[] = []
  let enabledIds: readonly string[] = []
  let isStopped = false
  let refreshing: Promise<void> = Promise.resolve()
  const onDropped = createDropLog(options)

  const outlet = createCollector({
    threads,
    clock,
    onLost(count) {
      for (const id of enabledIds) onDropped(id, count)
    },
  })

  if (threads.isMain) threads.handle(recordsMessage, receive)

  function receive({ requestIds, lines }: RecordBatch): void {
    let records: AuditMessage[] | undefined
    for (const { wanted, delivery } of lanes.values()) {
      if (wanted === undefined) continue
      records ??= lines.map((line, at) => ({
        key: `${node}/${requestIds[at]}`,
        body: Buffer.from(documentOfLine(line)),
      }))
      delivery.add(records)
    }
  }

  const laneOf = (id: string): Lane => {
    let lane = lanes.get(id)
    if (lane === undefined) {
      const delivery = createTargetDelivery({
        id,
        family,
        clock,
        log,
        node,
        onSent: count => onSent(id, count),
        onFailed: () => onFailed(id),
        onDropped: count => onDropped(id, count),
      })
      lane = { delivery, wanted: undefined, last: Promise.resolve() }
      lanes.set(id, lane)
    }
    return lane
  }

  /** One change after the other; records that come meanwhile wait in memory. */
  function apply(id: string, target: EnabledTarget | undefined): void {
    const lane = laneOf(id)
    const { wanted: before, delivery } = lane
    // Settings are told of again where nothing changed: a connection that works stays.
    if (target?.values === before) return
    lane.wanted = target?.values
    lane.last = lane.last
      .then(async () => {
        await delivery.disconnect()
        if (target !== undefined) connect(target, delivery)
        else await delivery.spill(before!.queue_limit)
      })
      .catch(error => log.error({ err: error, target: id }, 'an audit target could not be connected'))
  }

  function connect({ id, name, kindSettings: { kind }, values }: EnabledTarget, delivery: TargetDelivery): void {
    const timeout = typeof values.timeout === 'number' ? values.timeout : 0
    delivery.connect({
      target: kind.connect(values, { id: name, log: log.child({ target: id }) }),
      queueLimit: values.queue_limit,
      timeoutMs: Math.max(attemptMs, timeout * attemptRounds),
    })
    log.info({ target: id, endpoint: kind.endpoint(values) }, 'audit records are delivered')
  }

  async function readSettings(): Promise<void> {
    const enabled = (await Promise.all(kinds.map(enabledTargets))).flat()
    if (isStopped) return
    enabledIds = enabled.map(({ id }) => id)
    if (threads.isMain) {
      for (const target of enabled) apply(target.id, target)
      for (const id of lanes.keys()) if (!enabledIds.includes(id)) apply(id, undefined)
    }
    outlet.isOpen = enabledIds.length > 0
  }

  function refresh(): Promise<void> {
    refreshing = refreshing.then(readSettings).catch(error => {
      log.error({ err: error }, 'settings of audit targets could not be read')
    })
    return refreshing
  }

  return {
    outlet,
    async start(contributed) {
      kinds = contributed.map(kind => declareSubsystem(kind, settings))
      for (const kind of kinds) endings.push(kind.settings.watch(() => void refresh()))
      await readSettings()
    },
    async stop() {
      for (const end of endings.splice(0)) end()
      isStopped = true
      await refreshing
      outlet.isOpen = false
      await outlet.flush()
      for (const id of lanes.keys()) apply(id, undefined)
      await Promise.all([...lanes.values()].map(({ last }) => last))
    },
    states: () =>
      Promise.all(
        [...lanes]
          .filter(([, { wanted }]) => wanted !== undefined)
          .map(async ([id, { delivery }]) => ({
            id,
            isOnline: delivery.isOnline,
            pending: await delivery.pending(),
          })),
      ),
  }
}

/** Counts what is dropped; says so for each target at most once a minute. */
function createDropLog({ clock, log, onDropped }: TargetsOptions): (target: string, count: number) => void {
  const unsaid = new Map<string, { count: number; saidMs: number }>()
  return (target, count) => {
    onDropped(target, count)
    const nowMs = Number(clock.monotonicNs()) / 1e6
    const entry = unsaid.get(target) ?? { count: 0, saidMs: Number.NEGATIVE_INFINITY }
    unsaid.set(target, entry)
    entry.count += count
    if (nowMs - entry.saidMs < dropLogMs) return
    log.warn({ target, records: entry.count }, 'audit records were dropped: a target takes none, and its queue is full')
    entry.count = 0
    entry.saidMs = nowMs
  }
}
