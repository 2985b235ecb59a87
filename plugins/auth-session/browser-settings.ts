/** The subsystem `browser`: the console. */
import type { Settings, SettingsService } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'
import { sessionLifetimeMs } from './sessions.ts'

/** Maximum size of an object of one request. */
const putBytesMax = 5 * 1024 ** 3

export type BrowserSettings = Static<typeof BrowserSettings>

const BrowserSettings = Type.Object({
  session_duration: Type.Integer({
    format: 'duration',
    minimum: 60_000,
    maximum: 7 * 86_400_000,
    default: sessionLifetimeMs,
    description: 'How long a session of the console lasts. Taken at the start of the server.',
  }),
  upload_max_size: Type.Integer({
    format: 'size',
    minimum: 1,
    maximum: putBytesMax,
    default: putBytesMax,
    description: 'The largest object that the console uploads in one request. Counts from the next upload on.',
  }),
})

export function declareBrowserSettings(settings: SettingsService): Settings<BrowserSettings> {
  return settings.declare('browser', {
    description: 'The console.',
    notApplied: ['session_duration'],
    keys: BrowserSettings,
  })
}
