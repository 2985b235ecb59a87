import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

/** What operators say of a provider of the type `command`. The secret is sealed and never shown by itself. */
export const CommandSettings = Type.Object({
  server: Type.String({
    minLength: 1,
    maxLength: 300,
    destination: true,
    description: 'Address and port of the server that the program talks to, with a space between them.',
  }),
  keyName: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the key that the program signs with.' }),
  secret: Type.String({ secret: true, minLength: 1, maxLength: 1024, description: 'Secret of the key.' }),
})

export type CommandSettings = Static<typeof CommandSettings>

/** What the schema cannot say. Each problem follows the name of its setting, and repeats no secret. */
export function settingsProblems({ server, keyName, secret }: CommandSettings): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  if (!/^[0-9A-Za-z.:-]+ \d{1,5}$/.test(server))
    problems.push({ key: 'server', problem: 'must be an address and a port' })
  if (!/^[0-9A-Za-z._-]+$/.test(keyName))
    problems.push({ key: 'keyName', problem: 'must be letters, digits, ".", "_" and "-"' })
  if (!/^[0-9A-Za-z+/=]+$/.test(secret)) problems.push({ key: 'secret', problem: 'must be base64' })
  return problems
}
