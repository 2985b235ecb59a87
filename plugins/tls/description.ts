/** A certificate in words. */
import type { KeyObject, X509Certificate } from 'node:crypto'
import type { CertificateInfo } from './api.ts'

const curves: Readonly<Record<string, string>> = { prime256v1: 'p256', secp384r1: 'p384', secp521r1: 'p521' }

/** `rsa-2048`, `ecdsa-p256`, `ed25519`; for others the name in OpenSSL. */
export function keyTypeOf({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): string {
  const { modulusLength, namedCurve = '' } = asymmetricKeyDetails
  if (asymmetricKeyType === 'ec') return `ecdsa-${curves[namedCurve] ?? namedCurve}`
  return modulusLength === undefined ? `${asymmetricKeyType}` : `${asymmetricKeyType}-${modulusLength}`
}

export function describeCertificate(certificate: X509Certificate, name: string): CertificateInfo {
  const { notBeforeMs, notAfterMs } = validityOf(certificate)
  const alternatives = (certificate.subjectAltName ?? '').split(', ')
  return {
    name,
    domains: alternatives.filter(entry => entry.startsWith('DNS:')).map(entry => entry.slice(4)),
    ips: alternatives.filter(entry => entry.startsWith('IP Address:')).map(entry => entry.slice(11)),
    subject: certificate.subject?.replaceAll('\n', ', ') ?? '',
    issuer: certificate.issuer?.replaceAll('\n', ', ') ?? '',
    notBefore: isoOf(notBeforeMs),
    notAfter: isoOf(notAfterMs),
    fingerprint: certificate.fingerprint256,
    serial: certificate.serialNumber.toLowerCase(),
    keyType: keyTypeOf(certificate.publicKey),
  }
}

/**
 * Begin and end in milliseconds since 1970; NaN for a date that does not exist, such as one in the 13th month, which OpenSSL reads all the
 * same. `validToDate` is then any number.
 */
export function validityOf({ validFrom, validTo }: X509Certificate): { notBeforeMs: number; notAfterMs: number } {
  return { notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) }
}

const isoOf = (ms: number): string => (Number.isNaN(ms) ? '' : new Date(ms).toISOString())
