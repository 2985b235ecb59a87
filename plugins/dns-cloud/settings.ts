import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

export const CloudSettings = Type.Object({
  accessKeyId: Type.String({ minLength: 1, maxLength: 128, description: 'Id of the access key.' }),
  region: Type.String({
    default: 'us-east-1',
    maxLength: 64,
    description: 'That signatures are for: us-east-1 for the public service.',
  }),
  hostedZoneId: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Id of the zone. By default it is looked up by its name, which the key must be allowed to.',
    }),
  ),
  secretAccessKey: Type.String({
    secret: true,
    minLength: 1,
    maxLength: 256,
    description: 'Secret of the access key.',
  }),
  sessionToken: Type.Optional(
    Type.String({ secret: true, maxLength: 8192, description: 'Of temporary credentials; they end some time.' }),
  ),
})

export type CloudSettings = Static<typeof CloudSettings>

export function settingsProblems(settings: CloudSettings): readonly SettingsProblem[] {
  const { accessKeyId, region, hostedZoneId = '', secretAccessKey, sessionToken = '' } = settings
  const problems: SettingsProblem[] = []
  const add = (key: string, holds: boolean, problem: string) => {
    if (!holds) problems.push({ key, problem })
  }
  const isVisible = (text: string) => /^[\x21-\x7e]*$/.test(text)
  add('accessKeyId', /^[A-Za-z0-9_]+$/.test(accessKeyId), 'must be letters, digits and _')
  add('region', /^[a-z0-9-]+$/.test(region), 'must be a region, such as us-east-1')
  add('hostedZoneId', /^(\/hostedzone\/)?[A-Z0-9]*$/.test(hostedZoneId), 'must be capital letters and digits')
  add('secretAccessKey', isVisible(secretAccessKey), 'must have only visible characters of ASCII')
  add('sessionToken', isVisible(sessionToken), 'must have only visible characters of ASCII')
  return problems
}
