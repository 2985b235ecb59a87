/**
 * TLS of the listeners: the operator's certificate and key, read from `SVC_CERTS_DIR` and replaced while the server runs.
 */
import type { SecureContextOptions } from 'node:tls'

export { certsDirKey } from './keys.ts'

export interface CertificateInfo {
  /** Name of the file it came from, as the metric label `certificate`. */
  readonly name: string
  readonly domains: readonly string[]
  readonly ips: readonly string[]
  readonly subject: string
  readonly issuer: string
  /** ISO 8601. */
  readonly notBefore: string
  readonly notAfter: string
  /** SHA-256, upper-case hexadecimal with colons. */
  readonly fingerprint: string
}

export interface TlsService {
  /** False: every listener speaks plain HTTP. Known from set-up on. */
  readonly enabled: boolean
  readonly minVersion: '1.2' | '1.3'
  /** For `tls.createSecureContext` and `server.setSecureContext`. From `start` on; throws when TLS is not enabled. */
  contextOptions(): SecureContextOptions
  /** Calls the listener after each successful reload, in every thread. Returns the function that ends it. */
  onReload(listener: () => void): () => void
  /** The certificate in use, for people and metrics; empty when TLS is not enabled. */
  certificates(): readonly CertificateInfo[]
}

declare module 'svc/kernel' {
  interface Services {
    tls: TlsService
  }
}
