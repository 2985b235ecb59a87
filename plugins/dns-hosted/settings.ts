import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

export const HostedSettings = Type.Object({
  zoneId: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Id of the zone. By default it is looked up by its name, which the token must be allowed to.',
    }),
  ),
  apiToken: Type.String({
    secret: true,
    minLength: 1,
    maxLength: 1024,
    description: 'API token with the right to edit DNS records of the zone.',
  }),
})

export type HostedSettings = Static<typeof HostedSettings>

export function settingsProblems({ zoneId = '', apiToken }: HostedSettings): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  if (!/^[A-Za-z0-9]*$/.test(zoneId)) problems.push({ key: 'zoneId', problem: 'must be letters and digits' })
  if (!/^[\x21-\x7e]+$/.test(apiToken))
    problems.push({ key: 'apiToken', problem: 'must have only visible characters of ASCII' })
  return problems
}
