/**
 * Stored certificates: uploaded by operators, or ordered from a certificate authority (`acme`). They are presented by server name
 * on every TLS listener, before the one of `SVC_CERTS_DIR`. Private keys are stored sealed, and no answer has them.
 */
import type { MaybePromise } from 'svc/kernel'
import type { DocumentUser, NamedUser, Preconditions, TransactionBuilder } from 'svc/plugins/store/api'
import type { AcmeState } from './documents.ts'

export { type AcmeState, renewsMs } from './documents.ts'
export { certificatesErrors } from './errors.ts'
export { covers, nameProblem, uncovered } from './names.ts'

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

/**
 * `pending`: no certificate yet, an order is under way, or it is not yet valid. `expiring`: less than a third of its lifetime is left.
 * `failed`: the last order failed; the former chain is presented while it is valid.
 */
export type CertificateState = 'pending' | 'valid' | 'expiring' | 'expired' | 'failed'

export interface FailedDomain {
  readonly domain: string
  /** The failed step: `preflight`, `order`, `publish`, `validate`. */
  readonly step: string
  /** The words of the CA, or ours. */
  readonly error: string
}

export interface AcmeView {
  readonly directory: string
  /** Undefined: the one of SVC_ACME_CHALLENGE. */
  readonly challenge: ChallengeType | undefined
  readonly dnsProvider: string | undefined
  /** The current step of an order (`account`, `preflight`, `order`, `publish`, `propagate`, `validate`, `finalize`, `download`); empty: none. */
  readonly step: string
  /** Failures in a row. */
  readonly attempts: number
  /** Milliseconds since 1970. */
  readonly lastAttemptMs: number | undefined
  /** Time of the next order: the next attempt after a failure, or the renewal. Undefined while an order runs. */
  readonly nextAttemptMs: number | undefined
  readonly lastError: string
  readonly failedDomains: readonly FailedDomain[]
}

/** The readable fields of a certificate. */
export interface Certificate {
  readonly id: string
  readonly source: 'acme' | 'upload' | 'files'
  readonly comment: string
  /** Names that it is presented for; while it is ordered, the ordered names. */
  readonly domains: readonly string[]
  readonly state: CertificateState
  /** Empty before there is a chain, as the following. */
  readonly subject: string
  readonly issuer: string
  readonly serial: string
  readonly keyType: string
  /** ISO 8601. */
  readonly notBefore: string
  readonly notAfter: string
  /** SHA-256, lower-case hexadecimal. */
  readonly fingerprint: string
  readonly usedBy: readonly string[]
  /** Names of its users that get it at their next handshake, whether they name it or not. */
  readonly servedFor: readonly string[]
  readonly acme: AcmeView | undefined
  /** Of files: why newer ones were refused, so that these stay in use. */
  readonly refusal: string | undefined
  /** Milliseconds since 1970; undefined for files. */
  readonly createdMs: number | undefined
  readonly updatedMs: number | undefined
  readonly etag: string
}

export interface SavedCertificate extends Certificate {
  /** What clients may refuse; each says what to do. */
  readonly warnings: readonly string[]
}

export interface ForceOptions {
  /** Also where domains that get the certificate now would get none that browsers accept. */
  readonly force?: boolean
}

export interface WishOptions extends ForceOptions {
  /** Domains that nobody visits any more when the transaction is committed: they need no certificate. */
  readonly gone?: readonly string[]
}

export interface ReplaceOptions extends Pick<Preconditions, 'ifMatch'>, ForceOptions {}

export interface CertificateUpload {
  /** PEM, leaf first. */
  readonly certificate: string
  /** PEM, unencrypted. */
  readonly privateKey: string
  readonly comment: string
}

/** A certificate to be ordered. */
export interface CertificateWish {
  /** 1 to 100 names, in lower-case A-labels, `*.` in front of wildcards. */
  readonly domains: readonly string[]
  readonly challenge?: ChallengeType
  readonly dnsProvider?: string
}

/** A document that names a certificate. */
export interface CertificateUse extends NamedUser {
  /** The names that the certificate has to cover for it. */
  readonly domains: readonly string[]
}

/** A plugin that uses certificates. Contributed to `certificate.user`. */
export interface CertificateUser extends DocumentUser<CertificateUse> {
  /** The certificate that is set for this server name, presented before others where it covers the name and has not expired. */
  preferred(serverName: string): MaybePromise<string | undefined>
  /** The server names for which visitors come, also those of documents that name no certificate. `name`: of the document. */
  names(): Promise<readonly { readonly domain: string; readonly name: string }[]>
}

export interface RenewOptions {
  /** Orders even during the pause after a failure, for operators who have removed its cause. */
  readonly force?: boolean
}

/** Orders certificates. Contributed to `certificate.issuer`. */
export interface CertificateIssuer {
  /** Begins an order soon, whenever it would be due. Rejects with `too_many_requests` within the pause after a failure. */
  renew(id: string, options?: RenewOptions): Promise<void>
}

/** A certificate to be ordered, as its issuer needs it. */
export interface OrderedCertificate {
  readonly id: string
  /** The domains that the certificate must have. */
  readonly domains: readonly string[]
  readonly acme: AcmeState
  /** PEM; undefined before the first. */
  readonly chain: string | undefined
}

/** The orders as the issuer sees them. */
export interface CertificateOrders {
  list(): Promise<readonly OrderedCertificate[]>
  get(id: string): Promise<OrderedCertificate | undefined>
  /** Stores the state of an order; nothing if the certificate was deleted. The presented chain is kept. */
  note(id: string, change: (state: AcmeState) => AcmeState): Promise<void>
  /**
   * What has to be put into the transaction that ends an order. The chain is checked as an upload is, and has to cover `domains`. Rejects
   * with `invalid_certificate`, and `conflict` where the certificate is gone.
   */
  prepareIssued(
    id: string,
    issued: { readonly chain: string; readonly privateKey: string; readonly domains: readonly string[] },
    acme: AcmeState,
  ): Promise<(tx: TransactionBuilder) => void>
  /** Called soon after each change of such a certificate, in this thread. Returns the function that ends this. */
  watch(listener: () => void): () => void
}

export interface CertificatesService {
  readonly orders: CertificateOrders
  /** All certificates, ordered by id. */
  list(): Promise<readonly Certificate[]>
  /** Rejects with `certificate_not_found`. */
  get(id: string): Promise<Certificate>
  /** Rejects with `invalid_certificate` and `already_exists`. */
  upload(id: string, upload: CertificateUpload): Promise<SavedCertificate>
  /**
   * Rejects with `invalid_certificate`, also where it does not cover the names of a user; with `certificate_not_found`, with `conflict` for a
   * certificate that was not uploaded, and with `precondition_failed` by `ifMatch`; with `certificate_served` without `force`.
   */
  replace(id: string, upload: CertificateUpload, options?: ReplaceOptions): Promise<SavedCertificate>
  /** Rejects with `certificate_not_found`, `certificate_in_use`, `conflict` for files, and `certificate_served` without `force`. */
  delete(id: string, options?: ForceOptions): Promise<void>
  renew(id: string, options?: RenewOptions): Promise<Certificate>
  /**
   * The certificate that a connection for this name gets at its next handshake, on a listener of this kind, by the rules that handshakes go
   * by. Undefined where the listener speaks plain HTTP, or refuses the handshake. `serverName` is in lower case without a final dot.
   */
  presented(serverName: string, listener: 's3' | 'web' | 'web-tls' | 'console'): Promise<Certificate | undefined>
  /**
   * What has to be put into the transaction that names a certificate for these names: it fails with `precondition_failed` where the
   * certificate has changed or gone by then. Rejects with `certificate_not_found`, and with `invalid_certificate` where it does not cover a
   * name and will not when it has been ordered.
   */
  prepareUse(id: string, names: readonly string[]): Promise<(tx: TransactionBuilder) => void>
  /**
   * What has to be put into a transaction so that a certificate is ordered (again, where the wish is another one than before). Rejects with
   * `invalid_certificate` for names that no CA takes, `already_exists` where the id is that of an upload, and `certificate_served` without
   * `force` where domains that the wish has no more get the certificate.
   */
  prepareWish(id: string, wish: CertificateWish, options?: WishOptions): Promise<(tx: TransactionBuilder) => void>
  /**
   * The parts that end the order: the certificate and the state of its order are deleted. Empty if there is none. Rejects with
   * `certificate_in_use` if another user than the one of this name needs it, and `certificate_served` without `force`.
   */
  prepareEnd(id: string, options?: WishOptions): Promise<(tx: TransactionBuilder) => void>
}

declare module 'svc/kernel' {
  interface Services {
    certificates: CertificatesService
  }
  interface ExtensionPoints {
    'certificate.issuer': CertificateIssuer
    'certificate.user': CertificateUser
  }
}
