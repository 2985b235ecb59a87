/** When a certificate is to be ordered. */
import { X509Certificate } from 'node:crypto'
import { type OrderedCertificate, renewsMs, uncovered } from 'svc/plugins/certificates/api'
import { validityOf } from 'svc/plugins/tls/api'

/** Somebody has asked for an order. */
export const queuedStep = 'queued'

/**
 * The time of renewal: when a third of the lifetime is left, minus a random part of up to a sixtieth, so that certificates that were
 * ordered together are not renewed together; `chance` is in [0, 1). Milliseconds since 1970.
 */
export function renewalTime(chain: string, chance: number): number {
  const { notBeforeMs, notAfterMs } = validityOf(new X509Certificate(chain))
  const lifeMs = notAfterMs - notBeforeMs
  return Math.floor(notAfterMs - lifeMs / 3 - (chance * lifeMs) / 60)
}

/** Why it must be ordered now; undefined: it need not. `directory` is that of the configuration. */
export function dueReason(
  { domains, acme, chain }: OrderedCertificate,
  directory: string,
  nowMs: number,
): string | undefined {
  if (acme.step === queuedStep) return 'asked for'
  if (acme.nextAttemptMs !== undefined && nowMs < acme.nextAttemptMs) return undefined
  if (acme.step !== '') return 'interrupted'
  if (acme.nextAttemptMs !== undefined) return 'tried again'
  if (chain === undefined) return 'new'
  if (domains.some(name => !acme.issuedDomains.includes(name))) return 'other names'
  if (acme.directory !== directory) return 'other authority'
  return nowMs >= renewsMs(acme) ? 'renewal' : undefined
}

/**
 * Whether the present certificate covers these names and need not be renewed: another one for them would bring nothing, and counts against
 * the limits of the authority.
 */
export function isInForceFor(
  { acme, chain }: OrderedCertificate,
  domains: readonly string[],
  directory: string,
  nowMs: number,
): boolean {
  const isInForce = chain !== undefined && acme.directory === directory && nowMs < renewsMs(acme)
  return isInForce && uncovered(acme.issuedDomains, domains).length === 0
}
