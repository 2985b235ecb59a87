/**
 * Where the secrets of a webhook go. Where the host of a destination is a placeholder, it is the hosts of the distribution, and those are
 * changed by another right than the webhook: so its own document has to name them.
 */
import type { StoredWebhook } from './documents.ts'
import type { Kind } from './kinds.ts'

const placeholder = /\{(\w+)\}/g
/** These bring no host. A path has its leading slash. */
const constants: Readonly<Record<string, string>> = { scheme: 'https', path: '/', pattern: '/', distribution: 'site' }

/** Whether what stands for a placeholder decides on the host. As URLs are read: `https:\{host}` has one, too. */
function isHostOpen(destination: string): boolean {
  if (destination.search(placeholder) < 0) return false
  const hostFor = (host: string) => {
    const filled = destination.replaceAll(
      placeholder,
      (_whole, name: string) => constants[name] ?? (name === 'url' ? `https://${host}/` : host),
    )
    return URL.parse(filled)?.host
  }
  const host = hostFor('one.test')
  return host === undefined || host !== hostFor('other.test')
}

/** The field whose host is a placeholder, if the webhook has secrets, which would be sent there. */
export function openDestination(
  { destinations }: Pick<Kind, 'destinations'>,
  { settings, secrets }: Pick<StoredWebhook, 'settings' | 'secrets'>,
): string | undefined {
  if (Object.keys(secrets).length === 0) return undefined
  return destinations.find(name => isHostOpen(String(settings[name] ?? '')))
}

/** Why the secrets of the webhook must not be sent, as a clause about `domains`. */
export function domainsProblem(kind: Pick<Kind, 'destinations'>, webhook: StoredWebhook): string | undefined {
  const open = openDestination(kind, webhook)
  const { domains } = webhook
  if (open === undefined || (domains.length > 0 && domains.every(domain => !domain.startsWith('*.')))) return undefined
  return `must name the hosts that the secrets may be sent to, without wildcards, because the host of ${open} is a placeholder`
}
