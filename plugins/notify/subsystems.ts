/** The settings of targets: for each kind one subsystem. */
import type { Point } from 'svc/kernel'
import type { Settings, SettingsService, TargetValues } from 'svc/plugins/settings/api'
import type { NotifyTargetKind } from './api.ts'
import { arnOf, type TargetName } from './arn.ts'

export interface KindSettings {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings
  readonly kind: NotifyTargetKind<any>
  readonly settings: Settings<TargetValues>
}

export interface SubsystemOptions {
  readonly settings: SettingsService
  readonly region: string
  /** Buckets with rules that name the ARN. */
  subscribers(arn: string, limit: number): Promise<readonly string[]>
}

const shownSubscribers = 5

/** Called while plugins start, in every thread. */
export function declareSubsystems(
  // biome-ignore lint/suspicious/noExplicitAny: see above
  kinds: Point<NotifyTargetKind<any>>,
  options: SubsystemOptions,
): ReadonlyMap<string, KindSettings> {
  return new Map(kinds.list().map(({ id, value }) => [id, declare(id, value, options)]))
}

// biome-ignore lint/suspicious/noExplicitAny: see above
function declare(name: string, kind: NotifyTargetKind<any>, options: SubsystemOptions): KindSettings {
  const settings = options.settings.declareTarget(`notify_${name}`, {
    description: kind.description,
    keys: kind.settings,
    about: {
      enable: 'Events are delivered. While it is off they wait in the queue.',
      queueLimit: 'Events that may wait for the target. Beyond, new ones are only kept for a replay.',
      what: 'events',
    },
    validate: (values, id) => kind.validate?.(values, id) ?? [],
    async removalProblem(id) {
      const buckets = await options.subscribers(arnOf({ kind: name, id }, options.region), shownSubscribers + 1)
      if (buckets.length === 0) return undefined
      const shown = buckets.slice(0, shownSubscribers).join(', ')
      return `Rules of buckets name the target: ${shown}${buckets.length > shownSubscribers ? ' and others' : ''}.`
    },
  })
  return { name, kind, settings }
}

/** Names of all targets that somebody has configured. */
export async function configuredTargets(kinds: ReadonlyMap<string, KindSettings>): Promise<readonly TargetName[]> {
  const names: TargetName[] = []
  for (const { name, settings } of kinds.values()) {
    for (const { id } of await settings.list()) names.push({ kind: name, id })
  }
  return names
}
