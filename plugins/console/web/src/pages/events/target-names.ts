/** Event targets are subsystems of the settings: `webhook:mine` is `notify_webhook:mine`, and `webhook:_`, which has no name, is `notify_webhook`. */
export const prefix = 'notify_'

export function subsystemOf(id: string): string {
  const [kind, name] = id.split(':')
  return name === '_' ? `${prefix}${kind}` : `${prefix}${id}`
}
