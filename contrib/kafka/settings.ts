import { isIP } from 'node:net'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

const noSecret = { default: '' }

/** The keys of `notify_kafka` and `audit_kafka`. */
export const KafkaSettings = Type.Object({
  brokers: Type.Array(Type.String(), {
    default: [],
    destination: true,
    description: 'Initial brokers as host:port, separated by commas; they name the others.',
  }),
  topic: Type.String({ default: '', description: 'The topic. It must exist, and is not created.' }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 60_000,
    format: 'duration',
    description: 'Maximum time of one attempt, including the connection.',
  }),
  tls: Type.Boolean({ default: false, destination: true, description: 'Connect with TLS.' }),
  tls_skip_verify: Type.Boolean({
    default: false,
    destination: true,
    description: 'Accept any certificate of the brokers. For tests only.',
  }),
  ca_cert: Type.String({
    ...noSecret,
    destination: true,
    description: 'PEM file with the certificate authorities of the brokers. Default: those of Node.js.',
  }),
  client_tls_cert: Type.String({ ...noSecret, description: 'PEM file with the client certificate.' }),
  client_tls_key: Type.String({ ...noSecret, description: 'PEM file with the key of the client certificate.' }),
  sasl: Type.Boolean({ default: false, description: 'Log in with user and password.' }),
  sasl_mechanism: Type.Union([Type.Literal('plain'), Type.Literal('scram-sha-256'), Type.Literal('scram-sha-512')], {
    default: 'plain',
    destination: true,
    description: 'Mechanism of the log-in. With `plain` and without TLS the password is sent in plain text.',
  }),
  sasl_username: Type.String({ default: '', description: 'User to log in as.' }),
  sasl_password: Type.String({ default: '', secret: true, description: 'Password of the user.' }),
  compression: Type.Union(
    [Type.Literal('none'), Type.Literal('gzip'), Type.Literal('snappy'), Type.Literal('lz4'), Type.Literal('zstd')],
    { default: 'none', description: 'How batches are compressed.' },
  ),
  version: Type.String({
    default: '',
    description: 'Accepted for compatibility and not used: the client asks the brokers for their version.',
  }),
})

export type KafkaSettings = Static<typeof KafkaSettings>

/** Source: org.apache.kafka.common.internals.Topic. */
const topicPattern = /^[A-Za-z0-9._-]{1,249}$/
const brokersMax = 32

/** Checks over several keys. */
export function checkKafka(settings: KafkaSettings, guard: AddressGuard): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const complain = (key: keyof KafkaSettings, problem: string) => problems.push({ key, problem })
  if (settings.brokers.length === 0) complain('brokers', 'must name at least one broker')
  if (settings.brokers.length > brokersMax) complain('brokers', `must name at most ${brokersMax} brokers`)
  if (settings.brokers.some(broker => parseBroker(broker) === undefined)) {
    complain('brokers', 'must be host:port, separated by commas')
  }
  for (const broker of settings.brokers) {
    const { host } = parseBroker(broker) ?? {}
    const problem = host && guard.problem(host)
    if (problem) complain('brokers', problem)
  }
  if (!topicPattern.test(settings.topic) || settings.topic === '.' || settings.topic === '..') {
    complain('topic', 'must have 1 to 249 letters, digits, dots, underscores and hyphens')
  }
  if (!settings.tls) {
    const key = (['tls_skip_verify', 'ca_cert', 'client_tls_cert', 'client_tls_key'] as const).find(
      key => settings[key],
    )
    if (key !== undefined) complain(key, 'is used only where tls is on: set tls as well')
  }
  if (settings.client_tls_cert === '' && settings.client_tls_key !== '')
    complain('client_tls_cert', 'must be set where client_tls_key is')
  if (settings.client_tls_key === '' && settings.client_tls_cert !== '')
    complain('client_tls_key', 'must be set where client_tls_cert is')
  if (settings.sasl && settings.sasl_username === '') complain('sasl_username', 'must be set where sasl is on')
  if (settings.sasl && settings.sasl_password === '') complain('sasl_password', 'must be set where sasl is on')
  return problems
}

/** `kafka-1:9092`, `[::1]:9092`; undefined if malformed. */
export function parseBroker(broker: string): { readonly host: string; readonly port: number } | undefined {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(broker.trim())
  if (found === null) return undefined
  const host = found[1] ?? found[2]!
  const port = Number(found[3])
  if (port < 1 || port > 65_535 || (found[1] !== undefined && isIP(host) !== 6)) return undefined
  return { host, port }
}

/** For operators. */
export function kafkaEndpoint({ brokers, topic }: KafkaSettings): string {
  return `kafka://${brokers.join(',')}/${topic}`
}
