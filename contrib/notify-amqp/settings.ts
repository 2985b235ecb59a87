import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

export const AmqpSettings = Type.Object({
  url: Type.String({
    default: '',
    secret: true,
    destination: true,
    description: 'URL of the broker: `amqps://user:password@host:5671/vhost?cacertfile=/etc/ca.pem`. Required.',
  }),
  exchange: Type.String({
    default: '',
    description:
      'Exchange of the messages; it is declared. Empty: the default exchange, where the routing key names a queue.',
  }),
  exchange_type: Type.String({
    default: 'topic',
    pattern: '^[a-z][a-z0-9-]*$',
    errorMessage: 'must be lower-case letters, digits and hyphens, and begin with a letter',
    description: 'Type of the exchange: `topic`, `direct`, `fanout`, `headers`, or of a plugin of the broker.',
  }),
  routing_key: Type.String({ default: '', description: 'Routing key of every message.' }),
  durable: Type.Boolean({ default: false, description: 'The exchange survives a restart of the broker.' }),
  auto_deleted: Type.Boolean({
    default: false,
    description: 'The broker deletes the exchange when nothing is bound to it any more.',
  }),
  internal: Type.Boolean({ default: false, description: 'Must be off: nobody can publish to an internal exchange.' }),
  mandatory: Type.Boolean({
    default: false,
    description: 'A message that no queue gets is an error, and is sent again. If off, the broker drops it.',
  }),
  delivery_mode: Type.Integer({
    default: 2,
    minimum: 1,
    maximum: 2,
    description: '2: durable queues keep messages over a restart of the broker. 1: they do not.',
  }),
  publisher_confirms: Type.Boolean({
    default: true,
    description: 'Wait until the broker has taken responsibility for each message.',
  }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 60_000,
    format: 'duration',
    description: 'Maximum time of one delivery, including the connection.',
  }),
})

export type AmqpSettings = Static<typeof AmqpSettings>

export interface Broker {
  readonly isTls: boolean
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly vhost: string
  readonly heartbeatSeconds: number
  /** PEM files. */
  readonly authority: string | undefined
  readonly certificate: string | undefined
  readonly key: string | undefined
  readonly isVerified: boolean
  /** For operators. */
  readonly endpoint: string
}

const defaultHeartbeatSeconds = 30
const knownParameters = new Set(['heartbeat', 'cacertfile', 'certfile', 'keyfile', 'verify'])
/** Names in AMQP are short strings. */
const nameBytesMax = 255

/**
 * `problem` follows the name of the key and quotes no part of the URL, which has a password. Source: RabbitMQ, "URI Specification" and "URI
 * Query Parameters".
 */
export function parseUrl(text: string): Broker | { readonly problem: string } {
  let url: URL
  let credentials: { user: string; password: string; vhost: string }
  try {
    url = new URL(text)
    const isNamed = url.username !== '' || url.password !== ''
    credentials = {
      user: isNamed ? decodeURIComponent(url.username) : 'guest',
      password: isNamed ? decodeURIComponent(url.password) : 'guest',
      vhost: url.pathname.length > 1 ? decodeURIComponent(url.pathname.slice(1)) : '/',
    }
  } catch {
    return { problem: 'must be a URL: amqp://user:password@host:5672/vhost' }
  }
  const isTls = url.protocol === 'amqps:'
  if (!isTls && url.protocol !== 'amqp:') return { problem: 'must begin with amqp:// or amqps://' }
  if (url.hostname === '') return { problem: 'must name a host' }
  for (const name of url.searchParams.keys()) {
    if (!knownParameters.has(name)) return { problem: `has an unknown parameter: ${JSON.stringify(name)}` }
  }
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined
  const heartbeat = parameter('heartbeat') ?? String(defaultHeartbeatSeconds)
  if (!/^\d{1,4}$/.test(heartbeat)) return { problem: 'has a heartbeat that is no number of seconds' }
  const verify = parameter('verify') ?? 'verify_peer'
  if (verify !== 'verify_peer' && verify !== 'verify_none') {
    return { problem: 'has a verify that is neither verify_peer nor verify_none' }
  }
  const certificate = parameter('certfile')
  const key = parameter('keyfile')
  if ((certificate === undefined) !== (key === undefined)) {
    return { problem: 'must have both certfile and keyfile, or none' }
  }
  const port = url.port === '' ? (isTls ? 5671 : 5672) : Number(url.port)
  return {
    ...credentials,
    isTls,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    heartbeatSeconds: Number(heartbeat),
    authority: parameter('cacertfile'),
    certificate,
    key,
    isVerified: verify === 'verify_peer',
    endpoint: `${url.protocol}//${url.hostname}:${port}/${encodeURIComponent(credentials.vhost)}`,
  }
}

export function checkSettings(settings: AmqpSettings, guard: AddressGuard): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const parsed = parseUrl(settings.url)
  const problem = 'problem' in parsed ? parsed.problem : guard.problem(parsed.host)
  if (problem !== undefined) problems.push({ key: 'url', problem })
  for (const key of ['exchange', 'routing_key'] as const) {
    if (Buffer.byteLength(settings[key]) > nameBytesMax) {
      problems.push({ key, problem: `must have at most ${nameBytesMax} bytes` })
    }
  }
  if (settings.exchange === '' && settings.routing_key === '') {
    problems.push({ key: 'routing_key', problem: 'must name a queue if there is no exchange' })
  }
  if (settings.internal) problems.push({ key: 'internal', problem: 'must be off: nobody can publish to it' })
  return problems
}
