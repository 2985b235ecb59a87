/** The settings of targets: for each kind one subsystem. */
import type { Contribution } from 'svc/kernel'
import type { Settings, SettingsService, TargetValues } from 'svc/plugins/settings/api'
import type { AuditSinkKind } from './api.ts'

export interface KindSettings {
  /** `audit_webhook` */
  readonly subsystem: string
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings
  readonly kind: AuditSinkKind<any>
  readonly settings: Settings<TargetValues>
}

/** A target that is to be delivered to. */
export interface EnabledTarget {
  /** `audit_webhook:_` */
  readonly id: string
  /** Among those of its kind. */
  readonly name: string
  readonly kindSettings: KindSettings
  readonly values: TargetValues
}

/** Called while plugins start, in every thread. */
export function declareSubsystem(
  { id, value: kind }: Contribution<AuditSinkKind>,
  settings: SettingsService,
): KindSettings {
  const subsystem = `audit_${id}`
  const declared = settings.declareTarget(subsystem, {
    description: kind.description,
    keys: kind.settings,
    about: {
      enable: 'Records are delivered. While it is off none are kept for the target; those in its queue wait.',
      queueLimit: 'Records that may wait for a target that does not answer. Beyond, new ones are dropped and counted.',
      what: 'records',
    },
    validate: (values, name) => kind.validate?.(values as never, name) ?? [],
  })
  return { subsystem, kind, settings: declared }
}

/** Those of a kind; what is stored and cannot be read is left out: with defaults records would go elsewhere than they should. */
export async function enabledTargets(kindSettings: KindSettings): Promise<readonly EnabledTarget[]> {
  const { settings, subsystem } = kindSettings
  const enabled: EnabledTarget[] = []
  for (const { id: name } of await settings.list()) {
    // The same object as long as nothing changed.
    const values = await settings.get(name)
    if (values.enable && (await settings.problem(name)) === undefined) {
      enabled.push({ id: `${subsystem}:${name}`, name, kindSettings, values })
    }
  }
  return enabled
}
