import { Type } from 'typebox'
import type { SettingsMap, ShownSubsystem } from '../api.ts'

export const ConfigSettings = Type.Record(Type.String({ maxLength: 256 }), Type.String(), {
  maxProperties: 20_000,
  $id: 'ConfigSettings',
  description:
    'Values by key, as text; booleans are `on` and `off`. Secrets are masked; a masked value in a request keeps the stored secret.',
})

export const ConfigMap = Type.Record(Type.String({ maxLength: 256 }), ConfigSettings, {
  maxProperties: 20_000,
  $id: 'ConfigMap',
  description: 'Settings by the names of their subsystems: `logger`, `notify_webhook:backup`.',
})

export const ConfigSubsystem = Type.Object(
  {
    name: Type.String(),
    settings: ConfigSettings,
    warning: Type.Optional(
      Type.String({ description: 'Names the plugin of the settings, if it is not loaded: then they have no effect.' }),
    ),
  },
  { $id: 'ConfigSubsystem' },
)

export const SubsystemParameters = Type.Object({
  subsys: Type.String({
    minLength: 1,
    maxLength: 129,
    description: 'Name of a subsystem, with `:` and an id if it may exist several times.',
  }),
})

/** Callers who may change settings may also read them. */
export const readers = [['admin:GetConfig', 'admin:ConfigUpdate']] as const

export function mapOf(subsystems: readonly ShownSubsystem[]): SettingsMap {
  return Object.fromEntries(subsystems.map(({ name, settings }) => [name, settings]))
}
