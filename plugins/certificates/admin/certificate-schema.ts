import { commentOf } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type { Certificate as CertificateOfService, SavedCertificate } from '../api.ts'

export const CertificateId = Type.String({
  minLength: 1,
  maxLength: 64,
  // In a distribution these two are no names of certificates.
  pattern: '^(?!(?:auto|none)$)[a-z0-9][a-z0-9._-]*$',
  errorMessage:
    'must be lower-case letters, digits, dots, underscores and hyphens, begin with a letter or digit, and be neither auto nor none',
  description: 'Lower-case letters, digits and `. _ -`.',
})

export const CertificateParameters = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) })

const Time = Type.String({ format: 'date-time' })
const TimeOrNone = Type.String({ description: 'Empty before there is a certificate.' })

export const CertificateState = Type.Enum(['pending', 'valid', 'expiring', 'expired', 'failed'])

const AcmeState = Type.Object({
  directory: Type.String({
    description: 'Of the authority that the present certificate is from; empty before the first.',
  }),
  challenge: Type.Optional(Type.String({ description: 'Absent: the one of SVC_ACME_CHALLENGE.' })),
  dnsProvider: Type.Optional(Type.String()),
  step: Type.String({ description: 'The current step of the order; empty if none is under way.' }),
  attempts: Type.Integer({ description: 'Failures in a row.' }),
  lastAttemptAt: Type.Optional(Time),
  nextAttemptAt: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'Of the next order: the next try after a failure, the renewal of a certificate in force. Absent while an order is under way.',
    }),
  ),
  lastError: Type.String(),
  failedDomains: Type.Array(Type.Object({ domain: Type.String(), step: Type.String(), error: Type.String() })),
})

export const Certificate = Type.Object(
  {
    id: Type.String(),
    source: Type.Enum(['acme', 'upload', 'files'], { description: '`files`: of SVC_CERTS_DIR, read-only here.' }),
    comment: Type.String(),
    domains: Type.Array(Type.String()),
    state: CertificateState,
    subject: Type.String(),
    issuer: Type.String(),
    serial: Type.String(),
    keyType: Type.String({ description: '`rsa-2048`, `ecdsa-p256`.' }),
    notBefore: TimeOrNone,
    notAfter: TimeOrNone,
    fingerprint: Type.String({ description: 'SHA-256 of the leaf, hexadecimal.' }),
    usedBy: Type.Array(Type.String(), { description: 'Distributions that name it.' }),
    servedFor: Type.Array(Type.String(), {
      description:
        'Domains of distributions that get it at their next handshake, whether the distributions name it or not.',
    }),
    acme: Type.Optional(AcmeState),
    refusal: Type.Optional(
      Type.String({
        description: 'Of `files`: why the newer files in SVC_CERTS_DIR were refused, so that this one stays in use.',
      }),
    ),
    createdAt: Type.Optional(Time),
    updatedAt: Type.Optional(Time),
    etag: Type.String(),
    warnings: Type.Optional(Type.Array(Type.String(), { description: 'Of an upload: what clients may refuse.' })),
  },
  { $id: 'Certificate' },
)

const pem = (description: string) => Type.String({ minLength: 1, maxLength: 262_144, description })

export const uploadFields = {
  certificate: pem('The chain in PEM form, leaf first.'),
  privateKey: pem('Its private key in PEM form, unencrypted. It is sealed, and never shown again.'),
  comment: commentOf(256, { default: '' }),
}

/** Fields that reads return in addition to the writable ones. */
export const madeByServer = Object.fromEntries(
  [
    'source',
    'domains',
    'state',
    'subject',
    'issuer',
    'serial',
    'keyType',
    'notBefore',
    'notAfter',
    'fingerprint',
    'usedBy',
    'servedFor',
    'acme',
    'refusal',
    'createdAt',
    'updatedAt',
    'etag',
    'warnings',
  ].map(name => [name, Type.Optional(Type.Unknown({ readOnly: true }))]),
)

const timeOf = (timeMs: number): string => new Date(timeMs).toISOString()

export function describeCertificate({ acme, refusal, createdMs, updatedMs, ...certificate }: CertificateOfService) {
  return {
    ...certificate,
    domains: [...certificate.domains],
    usedBy: [...certificate.usedBy],
    servedFor: [...certificate.servedFor],
    ...(acme === undefined ? undefined : { acme: describeAcme(acme) }),
    ...(refusal === undefined ? undefined : { refusal }),
    ...(createdMs === undefined ? undefined : { createdAt: timeOf(createdMs) }),
    ...(updatedMs === undefined ? undefined : { updatedAt: timeOf(updatedMs) }),
  }
}

export function describeSaved({ warnings, ...certificate }: SavedCertificate) {
  const described = describeCertificate(certificate)
  return warnings.length === 0 ? described : { ...described, warnings: [...warnings] }
}

function describeAcme(acme: NonNullable<CertificateOfService['acme']>) {
  const { challenge, dnsProvider, lastAttemptMs, nextAttemptMs, failedDomains, ...rest } = acme
  return {
    ...rest,
    failedDomains: failedDomains.map(failure => ({ ...failure })),
    ...(challenge === undefined ? undefined : { challenge }),
    ...(dnsProvider === undefined ? undefined : { dnsProvider }),
    ...(lastAttemptMs === undefined ? undefined : { lastAttemptAt: timeOf(lastAttemptMs) }),
    ...(nextAttemptMs === undefined ? undefined : { nextAttemptAt: timeOf(nextAttemptMs) }),
  }
}
