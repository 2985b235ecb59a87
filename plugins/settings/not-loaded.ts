/** Names the plugin or package to load for stored settings whose plugin is not loaded. */
const owners: Readonly<Record<string, string>> = {
  audit_kafka: 'svc-plugin-kafka',
  notify_amqp: 'svc-plugin-notify-amqp',
  notify_kafka: 'svc-plugin-kafka',
  notify_nats: 'svc-plugin-notify-nats',
  notify_postgres: 'svc-plugin-notify-postgres',
  notify_redis: 'svc-plugin-notify-redis',
  audit_webhook: 'webhook',
  notify_webhook: 'webhook',
  api: 's3',
  browser: 'auth-session',
  logger: 'server',
  region: 'server',
  scanner: 'scanner',
}

/** Prefixes of subsystems whose plugins contribute to a point. */
const points: readonly (readonly [prefix: string, point: string])[] = [
  ['notify_', 'notify.target'],
  ['audit_', 'audit.sink'],
]

/** The warning to the operator for a stored subsystem whose plugin is not loaded. */
export function notLoadedWarning(name: string): string {
  return `The plugin of these settings is not loaded: load ${ownerOf(name)}. The settings are kept, but have no effect until then.`
}

function ownerOf(name: string): string {
  const owner = owners[name]
  if (owner !== undefined) return `the plugin "${owner}"`
  const [prefix = '', point] = points.find(([start]) => name.startsWith(start)) ?? []
  return point === undefined ? 'another plugin' : `a plugin that contributes "${name.slice(prefix.length)}" to ${point}`
}
