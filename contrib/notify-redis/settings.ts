import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

export const RedisSettings = Type.Object({
  address: Type.String({
    default: '',
    destination: true,
    description: 'Host and port of the server: `redis.example:6379`. Required.',
  }),
  key: Type.String({ default: '', description: 'Key of the hash (`namespace`) or list (`access`). Required.' }),
  format: Type.Union([Type.Literal('namespace'), Type.Literal('access')], {
    default: 'namespace',
    description: '`namespace` keeps a hash with a field for each object; `access` appends every event to a list.',
  }),
  user: Type.String({ default: '', description: 'User of an access control list. Empty: the default user.' }),
  password: Type.String({ default: '', secret: true, description: 'Password of the user. Empty: none.' }),
  db: Type.Integer({ default: 0, minimum: 0, maximum: 65_535, description: 'Number of the database.' }),
  tls: Type.Boolean({ default: false, destination: true, description: 'Connect by TLS.' }),
  tls_skip_verify: Type.Boolean({
    default: false,
    destination: true,
    description: 'Accept any certificate. For tests only: an attacker on the network path could read the password.',
  }),
  ca_cert: Type.String({
    default: '',
    destination: true,
    description: 'PEM file with the certificate authorities of the server. Empty: those of the system.',
  }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 60_000,
    format: 'duration',
    description: 'Maximum time of one delivery, including the connection.',
  }),
})

export type RedisSettings = Static<typeof RedisSettings>

const defaultPort = 6379
/** A name or an IPv4 address, or an IPv6 address in brackets. */
const addressPattern = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?$/

/** Undefined if malformed. The default port is that of Redis. */
export function parseAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const [, ipv6, name, digits] = addressPattern.exec(address) ?? []
  const host = ipv6 ?? name
  const port = Number(digits ?? defaultPort)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

export function checkSettings(settings: RedisSettings, guard: AddressGuard): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const say = (key: keyof RedisSettings, problem: string) => problems.push({ key, problem })
  const place = parseAddress(settings.address)
  const refusal = place === undefined ? 'must be a host and a port: redis.example:6379' : guard.problem(place.host)
  if (refusal !== undefined) say('address', refusal)
  if (settings.key === '') say('key', 'must name the key of the stored events')
  if (settings.user !== '' && settings.password === '') say('password', 'must be set where user is')
  if (!settings.tls && settings.ca_cert !== '') say('ca_cert', 'is used only where tls is on: set tls as well')
  if (!settings.tls && settings.tls_skip_verify) say('tls_skip_verify', 'is used only where tls is on: set tls as well')
  return problems
}
