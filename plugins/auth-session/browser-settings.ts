/** The subsystem `browser`: the console. */
import type { Settings, SettingsService } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'
import { sessionLifetimeMs } from './sessions.ts'

const BrowserSettings = Type.Object({
  session_duration: Type.Integer({
    format: 'duration',
    minimum: 60_000,
    maximum: 7 * 86_400_000,
    default: sessionLifetimeMs,
    description: 'How long a session of the console lasts. Taken at the start of the server.',
  }),
})

export function declareBrowserSettings(settings: SettingsService): Settings<Static<typeof BrowserSettings>> {
  return settings.declare('browser', {
    description: 'The console. A change takes effect with the next start of the server.',
    isApplied: false,
    keys: BrowserSettings,
  })
}
