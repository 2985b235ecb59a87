import { nameProblem, nameserverProblem, parseNameserver } from 'svc/plugins/dns/api'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'
import { tsigAlgorithms } from './tsig.ts'

export const Rfc2136Settings = Type.Object({
  nameserver: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'The primary server of the zone, `host[:port]`; the port is 53 by default.',
  }),
  zone: Type.Optional(
    Type.String({
      maxLength: 253,
      description: 'The zone to update. Default: the zone of the name in DNS.',
    }),
  ),
  transport: Type.Enum(['tcp', 'udp'], { default: 'tcp', description: 'How updates travel.' }),
  tsigKeyName: Type.String({
    minLength: 1,
    maxLength: 253,
    description: 'Name of the key, as in the configuration of the server.',
  }),
  tsigAlgorithm: Type.Enum([...tsigAlgorithms], { default: 'hmac-sha256', description: 'Algorithm of the key.' }),
  tsigSecret: Type.String({
    secret: true,
    minLength: 1,
    maxLength: 1024,
    description: 'Secret of the key, in base64.',
  }),
})

export type Rfc2136Settings = Static<typeof Rfc2136Settings>

export function settingsProblems(settings: Rfc2136Settings, guard: AddressGuard): readonly SettingsProblem[] {
  const { nameserver, zone = '', tsigKeyName, tsigSecret } = settings
  const problems: SettingsProblem[] = []
  const add = (key: string, problem: string | undefined) => {
    if (problem !== undefined) problems.push({ key, problem })
  }
  const malformed = nameserverProblem(nameserver)
  add('nameserver', malformed ?? guard.problem(parseNameserver(nameserver).host))
  add('zone', zone === '' ? undefined : nameProblem(withoutDot(zone)))
  add('tsigKeyName', nameProblem(withoutDot(tsigKeyName)))
  // Node.js ignores characters that are not base64.
  const isBase64 = Buffer.from(tsigSecret, 'base64').toString('base64') === tsigSecret
  add('tsigSecret', isBase64 ? undefined : 'must be base64, as tsig-keygen writes it')
  return problems
}

export const withoutDot = (name: string): string => name.toLowerCase().replace(/\.$/, '')
