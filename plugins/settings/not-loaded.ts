/** Settings that no loaded plugin knows: which plugin would. Names of the packages in `contrib/`, and of those that ship. */
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

/** Kinds that others contribute. */
const points: readonly (readonly [prefix: string, point: string])[] = [
  ['notify_', 'notify.target'],
  ['audit_', 'audit.sink'],
]

/** What an operator is told of a subsystem that is stored, in two sentences. */
export function unloadedWarning(name: string): string {
  return `No loaded plugin knows these settings: they would come with ${ownerOf(name)}. They are kept, and have no effect.`
}

function ownerOf(name: string): string {
  const owner = owners[name]
  if (owner !== undefined) return `the plugin "${owner}"`
  const [prefix = '', point] = points.find(([start]) => name.startsWith(start)) ?? []
  return point === undefined ? 'another plugin' : `a plugin that contributes "${name.slice(prefix.length)}" to ${point}`
}
