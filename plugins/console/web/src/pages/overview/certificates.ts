/** What the overview says of certificates. */
import type { Answer } from '../../api/operations.ts'
import { formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import type { Finding } from './health.ts'

/** A certificate with fewer days left is told: it is renewed by hand, or what renews it has failed. */
const certificateDays = 14
/** Of its lifetime: an ordered certificate may live for days, and is renewed when a third is left. */
const orderedShare = 0.1

type ServerInfo = Answer<'getServerInfo'>
export type Certificate = Answer<'listCertificates'>['items'][number]

/** Of those that visitors get, or are to get. Those of the listeners are told by the server. */
export function needsAttention(of: Certificate): boolean {
  const { source, state, usedBy, servedFor, acme } = of
  if (source === 'files' || usedBy.length + servedFor.length === 0) return false
  return state === 'failed' || (acme?.lastError ?? '') !== '' || isEnding(of)
}

function isEnding({ source, state, notBefore, notAfter }: Certificate): boolean {
  if (state === 'expired') return true
  const leftMs = Date.parse(notAfter) - Date.now()
  if (source === 'acme') return leftMs < (Date.parse(notAfter) - Date.parse(notBefore)) * orderedShare
  return leftMs < certificateDays * 86_400_000
}

export function orderedFinding(of: Certificate): Finding {
  const { id, domains, servedFor, notAfter, state, acme } = of
  const words = texts.overview
  const without = acme?.failedDomains.map(({ domain }) => domain).filter(domain => !domains.includes(domain)) ?? []
  const ends = words.certificate(id, servedFor.join(', '), state === 'expired', notAfter && formatDate(notAfter))
  const text =
    notAfter === '' || without.length === 0
      ? ends
      : `${words.certificateWithout(id, without.join(', '))}${isEnding(of) ? ` ${ends}` : ''}`
  return { text, details: acme?.lastError, link: { to: '/certificates' } }
}

/** Of the listeners. */
export function certificateFindings({ certificates, refusal }: ServerInfo['tls']): string[] {
  const ending = certificates.filter(({ daysLeft }) => daysLeft < certificateDays)
  return [
    ...(refusal === '' ? [] : [texts.server.refused(refusal)]),
    ...ending.map(({ name, daysLeft, notAfter }) =>
      texts.server.ends(name, daysLeft, notAfter && formatDate(notAfter)),
    ),
  ]
}
