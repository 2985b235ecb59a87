import { isIP } from 'node:net'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

export const NatsSettings = Type.Object({
  address: Type.Array(Type.String(), {
    default: [],
    destination: true,
    description: 'Servers of one cluster as host:port, separated by commas; if one does not answer, the next is tried.',
  }),
  subject: Type.String({ default: '', description: 'The subject of the messages.' }),
  jetstream: Type.Boolean({
    default: false,
    description:
      'Wait until a stream has stored each event. The stream must exist. If off, servers only pass events on to subscribers.',
  }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 60_000,
    format: 'duration',
    description: 'Maximum time of one attempt, including the connection.',
  }),
  username: Type.String({ default: '', description: 'User to log in as.' }),
  password: Type.String({ default: '', secret: true, description: 'Password of the user.' }),
  token: Type.String({ default: '', secret: true, description: 'Token to log in with.' }),
  nkey_specification: Type.String({
    default: '',
    secret: true,
    description: 'Seed of the NKey to log in with, as `nk -gen user` prints it: `SU…`.',
  }),
  // Its path is a secret: whoever may change the address, and knows the path, has the server prove at a place of theirs who it is.
  credentials_file: Type.String({
    default: '',
    secret: true,
    description: 'File with JWT and seed to log in with, as `nsc generate creds` writes it.',
  }),
  tls: Type.Boolean({ default: false, destination: true, description: 'Connect with TLS.' }),
  tls_skip_verify: Type.Boolean({
    default: false,
    destination: true,
    description: 'Accept any certificate of the servers. For tests only.',
  }),
  ca_cert: Type.String({
    default: '',
    destination: true,
    description: 'PEM file with the certificate authorities of the servers. Default: those of Node.js.',
  }),
  client_cert: Type.String({ default: '', description: 'PEM file with the client certificate.' }),
  client_key: Type.String({ default: '', description: 'PEM file with the key of the client certificate.' }),
})

export type NatsSettings = Static<typeof NatsSettings>

const serversMax = 32
const defaultPort = 4222
/** Tokens between dots; no wildcards. Source: https://docs.nats.io/nats-concepts/subjects. */
const subjectPattern = /^[!-~]+$/

/** Checks over several keys. */
export function checkNats(settings: NatsSettings, guard: AddressGuard): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const complain = (key: keyof NatsSettings, problem: string) => problems.push({ key, problem })
  if (settings.address.length === 0) complain('address', 'must name at least one server')
  if (settings.address.length > serversMax) complain('address', `must name at most ${serversMax} servers`)
  if (settings.address.some(address => parseServer(address) === undefined)) {
    complain('address', 'must be host:port, separated by commas')
  }
  for (const address of settings.address) {
    const host = hostOf(address)
    const problem = host && guard.problem(host)
    if (problem) complain('address', problem)
  }
  if (!isSubject(settings.subject)) complain('subject', 'must be words between dots, without wildcards and spaces')
  const ways = (['username', 'token', 'nkey_specification', 'credentials_file'] as const).filter(key => settings[key])
  if (ways.length > 1) complain(ways[1]!, `cannot go with ${ways[0]}: there is one way to log in`)
  if (settings.password !== '' && settings.username === '') complain('username', 'must be set where password is')
  if (settings.nkey_specification !== '' && !/^SU[A-Z2-7]{56}$/.test(settings.nkey_specification)) {
    complain('nkey_specification', 'must be the seed of a user: 58 letters and digits that begin with SU')
  }
  if (!settings.tls) {
    const key = (['tls_skip_verify', 'ca_cert', 'client_cert', 'client_key'] as const).find(key => settings[key])
    if (key !== undefined) complain(key, 'is used only where tls is on: set tls as well')
  }
  if (settings.client_cert === '' && settings.client_key !== '')
    complain('client_cert', 'must be set where client_key is')
  if (settings.client_key === '' && settings.client_cert !== '')
    complain('client_key', 'must be set where client_cert is')
  return problems
}

function isSubject(subject: string): boolean {
  return subjectPattern.test(subject) && subject.split('.').every(word => word !== '' && word !== '*' && word !== '>')
}

const serverPattern = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/

function hostOf(address: string): string | undefined {
  const found = serverPattern.exec(address.trim())
  return found?.[1] ?? found?.[2]
}

/** `nats-1:4222`, `nats-1`, `[::1]:4222`, in the form of the client library; undefined if malformed. */
export function parseServer(address: string): string | undefined {
  const found = serverPattern.exec(address.trim())
  if (found === null) return undefined
  const port = Number(found[3] ?? defaultPort)
  if (port < 1 || port > 65_535 || (found[1] !== undefined && isIP(found[1]) !== 6)) return undefined
  return `${found[1] === undefined ? found[2] : `[${found[1]}]`}:${port}`
}

/** For operators. */
export function natsEndpoint({ address, subject }: NatsSettings): string {
  return `nats://${address.join(',')}/${subject}`
}
