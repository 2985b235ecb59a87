/**
 * The stored form of accounts, orders and challenges. An order is a document from before its request to the authority until its certificate is
 * stored or it has failed for good; after a crash it is continued.
 *
 * | Collection | Id | Holds |
 * |---|---|---|
 * | `acme-account` | directory URL | the key of the account, its URL, and its use of the authority's limits |
 * | `acme-order` | of the certificate | URL and key of the order that is under way |
 * | `acme-challenge` | `http-01/<token>`, `tls-alpn-01/<name>`, `dns-01/<publication>` | the answer to the authority, in every thread |
 * | `acme-pending` | `tls-alpn-01` | until when connections may be such validations; it only ever grows |
 */
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

const Name = Type.String({ minLength: 1, maxLength: 253 })
const Failure = Type.Object({ domain: Name, step: Type.String(), error: Type.String() })

/** Bounds of the recorded use of one account; see `budget.ts`. */
export const ordersMax = 250
const failuresMax = 2000

const AccountDocument = Type.Object({
  /** PEM (PKCS #8), P-256. */
  key: Type.String({ secret: true }),
  /** Absent until the authority has answered. */
  url: Type.Optional(Type.String()),
  /** The address that the authority has for the account. */
  email: Type.Optional(Type.String()),
  /** When new orders were made, milliseconds since 1970, oldest first. */
  orderedMs: Type.Array(Type.Integer(), { maxItems: ordersMax }),
  failures: Type.Array(Type.Object({ domain: Name, atMs: Type.Integer() }), { maxItems: failuresMax }),
})

const OrderDocument = Type.Object({
  directory: Type.String(),
  challenge: Type.Enum(['http-01', 'tls-alpn-01', 'dns-01']),
  dnsProvider: Type.Optional(Type.String()),
  domains: Type.Array(Name, { maxItems: 100 }),
  /** Names that were left out of this order, because they could not be validated in the one before. */
  leftOut: Type.Array(Failure, { maxItems: 100 }),
  startedMs: Type.Integer(),
  /** The authority was asked for it, and has perhaps not been heard. */
  isAsked: Type.Boolean(),
  /** Absent before its answer. */
  url: Type.Optional(Type.String()),
  /** PEM (PKCS #8) of the certificate to come. Stored before the request that is signed with it is sent. */
  key: Type.Optional(Type.String({ secret: true })),
})

const ChallengeDocument = Type.Object({
  /** Id of the certificate. */
  certificate: Type.String(),
  type: Type.Enum(['http-01', 'tls-alpn-01', 'dns-01']),
  domain: Name,
  keyAuthorization: Type.String(),
  expiresMs: Type.Integer(),
  /** The certificate that is presented for tls-alpn-01 (RFC 8737, 3). */
  chain: Type.Optional(Type.String()),
  key: Type.Optional(Type.String({ secret: true })),
})

const PendingDocument = Type.Object({ untilMs: Type.Integer() })

export type AccountDocument = Static<typeof AccountDocument>
export type OrderDocument = Static<typeof OrderDocument>
export type ChallengeDocument = Static<typeof ChallengeDocument>

export interface AcmeDocuments {
  readonly accounts: Collection<AccountDocument>
  readonly orders: Collection<OrderDocument>
  readonly challenges: Collection<ChallengeDocument>
  readonly pending: Collection<Static<typeof PendingDocument>>
}

/** During set-up, in every thread. */
export function declareAcmeDocuments(store: StoreService): AcmeDocuments {
  return {
    accounts: store.collection({
      name: 'acme-account',
      version: 1,
      archiveNote: 'not in it: private keys are in no archive; an account is made again',
      schema: AccountDocument,
    }),
    orders: store.collection({
      name: 'acme-order',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: OrderDocument,
    }),
    challenges: store.collection({
      name: 'acme-challenge',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: ChallengeDocument,
    }),
    pending: store.collection({
      name: 'acme-pending',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: PendingDocument,
    }),
  }
}
