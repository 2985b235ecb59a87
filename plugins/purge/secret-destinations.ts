/**
 * The hosts to which a webhook sends its secrets. A URL may have a placeholder at its host: then the domains of the distribution are the
 * destination, and who may change these need not be who knows the secrets. Such a webhook names its domains itself.
 */
import type { StoredWebhook } from './documents.ts'
import type { Kind } from './kinds.ts'

type Webhook = Pick<StoredWebhook, 'domains' | 'settings' | 'secrets'>

/** The first secret that would be sent to any domain that the distribution gets; undefined: none. */
export function looseSecret(kind: Pick<Kind, 'destinations'>, webhook: Webhook): string | undefined {
  const [secret] = Object.keys(webhook.secrets)
  return webhook.domains.length === 0 && hasOpenHost(kind, webhook.settings) ? secret : undefined
}

export const looseSecretProblem = (secret: string): string =>
  `must name the domains: ${secret} is sent to the hosts of the URL, which are those of the distribution`

/** The first field that decides where secrets go and is not as before; undefined: they go where they went. */
export function movedField(kind: Pick<Kind, 'destinations'>, now: Webhook, before: Webhook): string | undefined {
  const moved = kind.destinations.find(name => now.settings[name] !== before.settings[name])
  if (moved !== undefined || !hasOpenHost(kind, now.settings)) return moved
  return now.domains.some(domain => !before.domains.includes(domain)) ? 'domains' : undefined
}

const hasOpenHost = ({ destinations }: Pick<Kind, 'destinations'>, settings: Webhook['settings']): boolean =>
  destinations.some(name => hostAt(settings[name], 'a.test') !== hostAt(settings[name], 'b.test'))

/** The host of the URL where every placeholder stands for this host. */
function hostAt(url: unknown, host: string): string {
  const filled = String(url ?? '')
    .replaceAll('{scheme}', 'https')
    .replaceAll('{url}', `https://${host}/`)
    // A path begins with its slash; other values could go on with a host.
    .replaceAll('{path}', '/')
    .replaceAll(/\{\w+\}/g, host)
  // What cannot be read could be any.
  return URL.canParse(filled) ? new URL(filled).host : filled
}
