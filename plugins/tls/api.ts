/**
 * TLS of the listeners: the operator's certificate and key, read from `SVC_CERTS_DIR` and replaced while the server runs, and before it
 * those of `tls.source`, chosen by the name that the client asks for.
 */
import type { Socket } from 'node:net'
import type { SecureContextOptions, TlsOptions } from 'node:tls'
import type { MaybePromise } from 'svc/kernel'

export { describeCertificate, keyTypeOf, validityOf } from './description.ts'
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
  /** Hexadecimal. */
  readonly serial: string
  /** `rsa-2048`, `ecdsa-p256`, `ed25519`. */
  readonly keyType: string
}

/** A certificate for a server name. */
export interface NamedCertificate {
  /** PEM, leaf first. */
  readonly certificate: string
  /** PEM, unencrypted. */
  readonly key: string
  /** Fingerprint of the whole chain: equal fingerprints mean equal certificates. */
  readonly fingerprint: string
  /** Presented only where no other can be had. */
  readonly isExpired: boolean
}

export interface TlsSource {
  /** The best certificate for the name, which is in lower case without a final dot: an exact one before a wildcard. Called for each handshake. */
  find(serverName: string): MaybePromise<NamedCertificate | undefined>
}

export interface TlsChallenge {
  /** False only where no challenge waits to be asked for, as of the last acknowledged change of any thread. Asked at each connection, from the start of the listeners on: before other plugins have started. Where it throws, one may wait. */
  isPending(): boolean
  /** The certificate with the key authorization for the name (RFC 8737, 3). */
  find(serverName: string): MaybePromise<Pick<NamedCertificate, 'certificate' | 'key'> | undefined>
}

export interface TlsService {
  /** False: every listener speaks plain HTTP. Known from set-up on. */
  readonly enabled: boolean
  readonly minVersion: '1.2' | '1.3'
  /** For `tls.createSecureContext` and `server.setSecureContext`. From `start` on; throws when TLS is not enabled. */
  contextOptions(): SecureContextOptions
  /**
   * For servers: `contextOptions`, if there are any, and the choice by server name. From `start` on. If TLS is not enabled a server has no
   * default certificate, and `admit` refuses connections without a name, or with a name without a certificate.
   */
  serverOptions(): TlsOptions
  /**
   * Called before a TLS server gets a new connection, after its PROXY header: answers challenges and refusals itself, and calls `serve` for
   * all other connections, at once if it need not read the hello.
   */
  admit(socket: Socket, serve: () => void): void
  /** Calls the listener after each successful reload, in every thread. Returns the function that ends it. */
  onReload(listener: () => void): () => void
  /** Why the files of SVC_CERTS_DIR were refused when they were read last; undefined where those in use are of them. A start refuses them, too. */
  refusal(): string | undefined
  /** The certificate in use, for people and metrics; empty when TLS is not enabled. */
  certificates(): readonly CertificateInfo[]
}

declare module 'svc/kernel' {
  interface Services {
    tls: TlsService
  }
  interface ExtensionPoints {
    'tls.source': TlsSource
    'tls.challenge': TlsChallenge
  }
}
