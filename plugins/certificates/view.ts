/** The readable fields of a certificate: all but its private key. */
import { X509Certificate } from 'node:crypto'
import type { StoredDocument } from 'svc/plugins/store/api'
import { type CertificateInfo, describeCertificate } from 'svc/plugins/tls/api'
import type { AcmeView, Certificate, CertificateState } from './api.ts'
import { type AcmeState, type CertificateDocument, renewsMs } from './documents.ts'

const unknown = { subject: '', issuer: '', serial: '', keyType: '', notBefore: '', notAfter: '', fingerprint: '' }

export function viewOfDocument(
  { id, value, modifiedMs, etag }: StoredDocument<CertificateDocument>,
  { usedBy, servedFor }: Pick<Certificate, 'usedBy' | 'servedFor'>,
  nowMs: number,
): Certificate {
  const { source, comment, chain, createdMs, acme } = value
  const info = chain === undefined ? undefined : describeCertificate(new X509Certificate(chain), id)
  return {
    id,
    source,
    comment,
    domains: info === undefined ? value.domains : info.domains.map(name => name.toLowerCase()),
    state: stateOf(info, acme, nowMs),
    ...(info === undefined ? unknown : plain(info)),
    usedBy,
    servedFor,
    acme: acme === undefined ? undefined : viewOfAcme(acme),
    refusal: undefined,
    createdMs,
    updatedMs: modifiedMs,
    etag,
  }
}

/** The view of a certificate from SVC_CERTS_DIR. */
export function viewOfFile(
  info: CertificateInfo,
  { servedFor, refusal }: Pick<Certificate, 'servedFor' | 'refusal'>,
  nowMs: number,
): Certificate {
  const shown = plain(info)
  return {
    id: info.name,
    source: 'files',
    comment: '',
    domains: info.domains,
    state: stateOf(info, undefined, nowMs),
    ...shown,
    usedBy: [],
    servedFor,
    acme: undefined,
    refusal,
    createdMs: undefined,
    updatedMs: undefined,
    etag: shown.fingerprint,
  }
}

function plain({ subject, issuer, serial, keyType, notBefore, notAfter, fingerprint }: CertificateInfo) {
  return {
    subject,
    issuer,
    serial,
    keyType,
    notBefore,
    notAfter,
    fingerprint: fingerprint.replaceAll(':', '').toLowerCase(),
  }
}

function stateOf(info: CertificateInfo | undefined, acme: AcmeState | undefined, nowMs: number): CertificateState {
  const isOrdering = acme !== undefined && acme.step !== ''
  const hasFailed = acme !== undefined && acme.attempts > 0
  if (info === undefined) return hasFailed && !isOrdering ? 'failed' : 'pending'
  const [beginMs, endMs] = [Date.parse(info.notBefore), Date.parse(info.notAfter)]
  // Neither holds of a date that does not exist.
  if (!(nowMs < endMs)) return 'expired'
  if (isOrdering) return 'pending'
  if (hasFailed) return 'failed'
  if (!(beginMs <= nowMs)) return 'pending'
  return endMs - nowMs < (endMs - beginMs) / 3 ? 'expiring' : 'valid'
}

function viewOfAcme(state: AcmeState): AcmeView {
  const { directory, challenge, dnsProvider, step, attempts, lastAttemptMs, lastError, failedDomains } = state
  const nextMs = step === '' ? (state.nextAttemptMs ?? renewsMs(state)) : Number.POSITIVE_INFINITY
  const nextAttemptMs = Number.isFinite(nextMs) ? nextMs : undefined
  return { directory, challenge, dnsProvider, step, attempts, lastAttemptMs, nextAttemptMs, lastError, failedDomains }
}
