/**
 * The stored form of certificates. Private keys are secret fields: sealed on the drives, and stored nowhere else.
 *
 * | Collection | Id | Changes |
 * |---|---|---|
 * | `certificate` | of the certificate | with each upload, order and attempt |
 * | `certificate-table` | `table` | in the same commit as any certificate: threads compare its sequence with that of their compiled table |
 */
import type { Collection, Preconditions, StoreService, TransactionBuilder } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

const Name = Type.String({ minLength: 1, maxLength: 253 })

export const challengeTypes = ['http-01', 'tls-alpn-01', 'dns-01'] as const

const Failure = Type.Object({ domain: Name, step: Type.String(), error: Type.String() })

/** State that the plugin `acme` keeps with a certificate, across restarts. Times are milliseconds since 1970. */
const AcmeState = Type.Object({
  challenge: Type.Optional(Type.Enum([...challengeTypes])),
  dnsProvider: Type.Optional(Type.String()),
  /** Directory of the CA that issued the current chain; empty before the first one. */
  directory: Type.String(),
  /** The current step of an order; empty: none. */
  step: Type.String(),
  /** Names that the present chain was ordered for; fewer than those that are wanted where some could not be validated. */
  issuedDomains: Type.Array(Name, { maxItems: 100 }),
  /** Failures in a row. */
  attempts: Type.Integer(),
  lastAttemptMs: Type.Optional(Type.Integer()),
  nextAttemptMs: Type.Optional(Type.Integer()),
  lastError: Type.String(),
  failedDomains: Type.Array(Failure, { maxItems: 100 }),
  /** When the present chain is to be renewed. */
  renewMs: Type.Optional(Type.Integer()),
  /** The renewal information of the authority (RFC 9773). */
  window: Type.Optional(
    Type.Object({
      startMs: Type.Integer(),
      endMs: Type.Integer(),
      askAgainMs: Type.Integer(),
      renewMs: Type.Integer(),
    }),
  ),
})

export const CertificateDocument = Type.Object({
  source: Type.Enum(['acme', 'upload']),
  comment: Type.String(),
  /** The domains that the chain must have; for an upload the domains that it has. */
  domains: Type.Array(Name, { maxItems: 100 }),
  createdMs: Type.Integer(),
  /** PEM, leaf first. Absent before the first order has ended well. */
  chain: Type.Optional(Type.String()),
  /** PEM (PKCS #8). Present where the chain is. */
  privateKey: Type.Optional(Type.String({ secret: true })),
  acme: Type.Optional(AcmeState),
})

const TableDocument = Type.Object({ change: Type.String() })

export type CertificateDocument = Static<typeof CertificateDocument>
export type AcmeState = Static<typeof AcmeState>

/** When the present chain is renewed: the earlier of the time by its lifetime and the one that the authority suggests. */
export function renewsMs({ renewMs = Number.POSITIVE_INFINITY, window }: AcmeState): number {
  return Math.min(renewMs, window?.renewMs ?? Number.POSITIVE_INFINITY)
}

export interface CertificateDocuments {
  readonly certificates: Collection<CertificateDocument>
  readonly tables: Collection<Static<typeof TableDocument>>
  /** To be called in each transaction that changes a certificate. With a precondition only if no other has changed meanwhile. */
  touch(tx: TransactionBuilder, precondition?: Preconditions): void
}

export const tableId = 'table'

/** During set-up, in every thread. `random` makes each state of the table another one. */
export function declareCertificateDocuments(
  store: StoreService,
  random: (size: number) => Buffer,
): CertificateDocuments {
  const certificates = store.collection({
    name: 'certificate',
    version: 1,
    archiveNote: 'not in it: private keys are in no archive; ordered ones are ordered again for their distributions',
    schema: CertificateDocument,
  })
  const tables = store.collection({
    name: 'certificate-table',
    version: 1,
    archiveNote: 'not in it: changes with the certificates',
    schema: TableDocument,
  })
  /** A transaction changes each document once, and may have many certificates. */
  const touched = new WeakSet<TransactionBuilder>()
  return {
    certificates,
    tables,
    touch(tx, precondition) {
      if (precondition !== undefined) tx.require(tables, tableId, precondition)
      if (touched.has(tx)) return
      touched.add(tx)
      tx.put(tables, tableId, { change: random(8).toString('hex') })
    },
  }
}
