/**
 * The targets of one plugin: one subsystem of settings for each kind, and, in the main thread, a delivery for each target that follows
 * its settings.
 */
import type { Contribution, MaybePromise, Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import {
  queueLimitDefault,
  type Settings,
  type SettingsService,
  type TargetDeclaration,
  type TargetValues,
} from 'svc/plugins/settings/api'
import type { AnyTargetKind, Target, TargetName } from './api.ts'
import { registerTargetMetrics } from './metrics.ts'
import {
  createTargetDelivery,
  type DeliveryOptions,
  type DeliveryState,
  type RunningDelivery,
} from './target-delivery.ts'

export interface TargetsOptions<Message, AnyTarget> extends DeliveryOptions<Message, AnyTarget> {
  readonly threads: Threads
  readonly settings: SettingsService
  readonly metrics: MetricsService
  /** Prefix of the names of settings: `notify_` for `notify_webhook` */
  readonly subsystemPrefix: string
  /** Prefix of the ids of targets and the names of their queues: empty for `webhook:_` */
  readonly idPrefix: string
  readonly about: TargetDeclaration['about']
  /** Whether metrics show a target that is configured and not enabled. */
  readonly measuresDisabled: boolean
  /** Why settings may not be removed now, as a sentence. */
  removalProblem?(name: TargetName): Promise<string | undefined>
  /** In every thread: after the start, and when settings have changed. Ids of targets that are enabled. */
  onEnabled?(ids: readonly string[]): void
}

/** A target that has settings. */
export interface ConfiguredTarget {
  /** `webhook:_` */
  readonly id: string
  readonly name: TargetName
  /** The values; the same object until the settings change. */
  readonly values: TargetValues
  /** False if the stored settings cannot be read; then the defaults apply. */
  readonly isReadable: boolean
}

export interface TargetState extends ConfiguredTarget, DeliveryState {
  readonly endpoint: string
  /** In memory and in the queue. */
  readonly pending: number
  readonly deadLetters: number
}

export interface Targets<AnyTarget> {
  /** While plugins start, in every thread. Connects enabled targets in the main thread. */
  start(kinds: readonly Contribution<AnyTargetKind<AnyTarget>>[]): Promise<void>
  /** Follows the settings no more. */
  unwatch(): Promise<void>
  /** Closes all targets. */
  stop(): Promise<void>
  /** By id, in any thread; disabled targets included. */
  configured(): Promise<readonly ConfiguredTarget[]>
  /** States of all configured targets, ordered by id. Only in the main thread. */
  states(): Promise<readonly TargetState[]>
  deliveryOf(target: ConfiguredTarget): RunningDelivery<AnyTarget>
  /** Deliveries to targets that are enabled. */
  enabled(): readonly RunningDelivery<AnyTarget>[]
  /** Entries that a queue may have, configured or not. The default when the settings are not in memory. */
  limitOf(id: string): number
}

interface Kind<AnyTarget> {
  readonly kind: AnyTargetKind<AnyTarget>
  readonly settings: Settings<TargetValues>
}

export function createTargets<Message, AnyTarget extends Target<Message>>(
  options: TargetsOptions<Message, AnyTarget>,
): Targets<AnyTarget> {
  const { threads, topic, log, messages, idPrefix, onEnabled, measuresDisabled } = options
  const kinds = new Map<string, Kind<AnyTarget>>()
  const deliveries = new Map<string, RunningDelivery<AnyTarget>>()
  const endWatching: (() => void)[] = []
  let enabledIds: readonly string[] = []
  let isStopped = false
  let refreshing: Promise<void> = Promise.resolve()
  const measured = async () => (await states()).filter(({ values }) => measuresDisabled || values.enable)
  const counters = registerTargetMetrics(options.metrics, threads.isMain ? measured : undefined)

  const declare = ({ id: name, value: kind }: Contribution<AnyTargetKind<AnyTarget>>): void => {
    const { about, removalProblem } = options
    const settings = options.settings.declareTarget(`${options.subsystemPrefix}${name}`, {
      description: kind.description,
      keys: kind.settings,
      about,
      validate: (values, id) => kind.validate?.(values, id) ?? [],
      ...(removalProblem && {
        removalProblem: (id: string): MaybePromise<string | undefined> => removalProblem({ kind: name, id }),
      }),
    })
    kinds.set(name, { kind, settings })
  }

  const configured = async (): Promise<readonly ConfiguredTarget[]> => {
    const found: ConfiguredTarget[] = []
    for (const [kind, { settings }] of kinds) {
      for (const { id } of await settings.list()) {
        const values = await settings.get(id)
        const isReadable = (await settings.problem(id)) === undefined
        found.push({ id: `${idPrefix}${kind}:${id}`, name: { kind, id }, values, isReadable })
      }
    }
    return found.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  const deliveryOf = ({ id, name }: ConfiguredTarget): RunningDelivery<AnyTarget> => {
    let delivery = deliveries.get(id)
    if (delivery === undefined) {
      delivery = createTargetDelivery(id, name, kinds.get(name.kind)!.kind, counters, options)
      deliveries.set(id, delivery)
    }
    return delivery
  }

  const readSettings = async (): Promise<void> => {
    // With defaults in place of unreadable settings, messages would go to another destination.
    const enabled = (await configured()).filter(({ values, isReadable }) => values.enable && isReadable)
    if (isStopped) return
    enabledIds = enabled.map(({ id }) => id)
    if (threads.isMain) {
      for (const target of enabled) void deliveryOf(target).apply(target.values)
      for (const [id, delivery] of deliveries) if (!enabledIds.includes(id)) void delivery.apply(undefined)
    }
    onEnabled?.(enabledIds)
  }

  const refresh = (): void => {
    refreshing = refreshing.then(readSettings).catch(error => {
      log.error({ err: error }, `the settings of targets of ${messages} could not be read`)
    })
  }

  const states = async (): Promise<readonly TargetState[]> =>
    Promise.all(
      (await configured()).map(async target => {
        const delivery = deliveryOf(target)
        const { pending, deadLetters } = await topic.status(target.id)
        const endpoint = kinds.get(target.name.kind)!.kind.endpoint(target.values)
        return { ...target, ...delivery.state(), endpoint, pending: pending + delivery.pending, deadLetters }
      }),
    )

  const unwatch = (): Promise<void> => {
    isStopped = true
    for (const end of endWatching.splice(0)) end()
    return refreshing
  }

  return {
    async start(contributed) {
      for (const kind of contributed) declare(kind)
      if (!threads.isMain && onEnabled === undefined) return
      for (const { settings } of kinds.values()) endWatching.push(settings.watch(refresh))
      await readSettings()
    },
    unwatch,
    async stop() {
      await unwatch()
      await Promise.all([...deliveries.values()].map(delivery => delivery.apply(undefined)))
    },
    configured,
    states,
    deliveryOf,
    enabled: () => [...deliveries.values()].filter(({ id }) => enabledIds.includes(id)),
    limitOf(id) {
      const name = parseTargetId(id.slice(idPrefix.length))
      const values = name && kinds.get(name.kind)?.settings.get(name.id)
      return values === undefined || values instanceof Promise ? queueLimitDefault : values.queue_limit
    },
  }
}

/** From `webhook:_`, without the prefix of the plugin; undefined when it is malformed. */
export function parseTargetId(text: string): TargetName | undefined {
  const end = text.indexOf(':')
  return end <= 0 || end === text.length - 1 ? undefined : { kind: text.slice(0, end), id: text.slice(end + 1) }
}
