import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

/** What operators set as `notify_mqtt`. Every key has a description and a default; secrets are sealed and masked by themselves. */
export const MqttSettings = Type.Object({
  broker: Type.String({
    default: '',
    destination: true,
    description: 'URL of the broker, `mqtt://` or `mqtts://` (TLS). Required.',
  }),
  topic: Type.String({ default: '', description: 'Topic that events are published to. Required.' }),
  qos: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 2,
    description: 'Quality of service. There is no 0: nobody would know whether the broker has the event.',
  }),
  username: Type.String({ default: '', description: 'User of the broker. Empty: none.' }),
  password: Type.String({ default: '', secret: true, description: 'Password of the user.' }),
  ca_cert: Type.String({
    default: '',
    destination: true,
    description: 'PEM file with the authorities that the broker is trusted by. Empty: those of Node.js.',
  }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 60_000,
    format: 'duration',
    description: 'How long one attempt may take, connecting included.',
  }),
})

export type MqttSettings = Static<typeof MqttSettings>

/** What the schema cannot say. A problem follows the name of its key in a sentence, and never repeats a secret. */
export function checkSettings(settings: MqttSettings): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const complain = (key: keyof MqttSettings, problem: string) => problems.push({ key, problem })
  const { protocol = '', hostname, username, password, pathname, search, hash } = URL.parse(settings.broker) ?? {}
  if (!['mqtt:', 'mqtts:'].includes(protocol) || !hostname) complain('broker', 'must be mqtt://host or mqtts://host')
  else if (username || password || search || hash || pathname) complain('broker', 'must end after host and port')
  // Source: MQTT 5.0, section 4.7: wildcards are for subscribers.
  if (!/^[^+#\0]+$/.test(settings.topic)) complain('topic', 'must be a name without wildcards')
  if (settings.password !== '' && settings.username === '') complain('username', 'must be set where password is')
  if (settings.ca_cert !== '' && protocol !== 'mqtts:') complain('ca_cert', 'needs a broker at mqtts://')
  return problems
}
