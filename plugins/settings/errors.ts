import { defineErrors } from 'svc/kernel'

/** Errors of the settings. Codes are those of the Admin API. */
export const settingsErrors = defineErrors({
  conflict: { status: 409, title: 'The settings cannot be changed like this now.' },
  invalid_argument: { status: 400, title: 'A setting is wrong; nothing was stored.' },
  precondition_failed: { status: 412, title: 'The configuration has changed: its ETag is not that of If-Match.' },
  subsystem_not_found: { status: 404, title: 'There is no such subsystem.' },
})

/** The error with the name of the subsystem. */
export const noSubsystem = (name: string): Error =>
  settingsErrors.subsystem_not_found(`There is no subsystem "${name}".`)
