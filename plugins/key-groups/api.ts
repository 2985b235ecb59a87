/**
 * Key groups: the public keys that signed URLs and signed cookies are verified with, several to a group so that keys can be rotated. A
 * private key that the server made may stay with it, sealed, to sign on request.
 */
import type { MaybePromise } from 'svc/kernel'
import type { DocumentUser, NamedUser, TransactionBuilder } from 'svc/plugins/store/api'

export { editorOf } from './editor.ts'
export { keyGroupErrors, notYours } from './errors.ts'

export type KeyAlgorithm = 'rsa' | 'ed25519'

export interface KeyGroupKey {
  /** `K` and 13 of A-Z2-7, from the SHA-256 of the SPKI: the `Key-Pair-Id` of its signatures. */
  readonly id: string
  readonly name: string
  readonly algorithm: KeyAlgorithm
  /** PEM, SubjectPublicKeyInfo. */
  readonly publicKey: string
  /** The server has the private key and can sign. */
  readonly hasPrivateKey: boolean
  readonly enabled: boolean
  /** RSA signatures over SHA-1 hold, too. */
  readonly allowSha1: boolean
  /** The user who added it. Undefined: the server itself did, as a restored archive. */
  readonly addedBy: string | undefined
  /** Milliseconds since 1970. */
  readonly createdMs: number
}

/** A distribution that names a key group. */
export interface KeyGroupUse extends NamedUser {
  /** The keys of the group open it. */
  readonly bucket: string
}

/** Who changes a group or names it: its keys open the buckets of all distributions that name it, or will. */
export interface KeyGroupEditor {
  readonly user: string
  /**
   * Whether a group with these uses is theirs to change and to name: where distributions name it, whoever manages the distributions of all
   * their buckets; otherwise who made it, and who manages users.
   */
  mayEdit(group: Pick<KeyGroup, 'usedBy' | 'madeBy'>): MaybePromise<boolean>
  /**
   * Whether the bucket may be opened with the keys of the group: it is theirs to change, and opens the bucket already, or has no key that
   * somebody else has added. Who manages users may use such keys, and is told of them.
   */
  mayOpen(bucket: string, group: Pick<KeyGroup, 'usedBy' | 'madeBy' | 'keys'>): MaybePromise<boolean>
  /** Keys with which others would begin to get into the bucket. */
  othersKeys(bucket: string, group: Pick<KeyGroup, 'usedBy' | 'keys'>): readonly KeyGroupKey[]
  /** May have any number of groups that nothing names. */
  readonly managesUsers: boolean
}

export interface KeyGroupChange {
  /** Undefined: the server itself. */
  readonly editor?: KeyGroupEditor
}

export interface KeyGroup {
  /** 1 to 64 of a-z, 0-9, `.`, `_`, `-`. */
  readonly id: string
  readonly comment: string
  /** At most 10, in the order in which they came. */
  readonly keys: readonly KeyGroupKey[]
  /** Distributions that name the group, sorted by their ids. */
  readonly usedBy: readonly KeyGroupUse[]
  /** The user who made it. Undefined: the server itself did, as a restored archive. */
  readonly madeBy: string | undefined
  readonly createdMs: number
  readonly updatedMs: number
  /** The ETag without quotes. */
  readonly etag: string
}

/** A key for a group: an existing one by its `id`, or a new one by its `publicKey`. */
export interface KeyInput {
  readonly id?: string
  readonly name?: string
  readonly algorithm?: KeyAlgorithm
  readonly publicKey?: string
  readonly enabled?: boolean
  readonly allowSha1?: boolean
}

export interface KeyGroupInput {
  readonly comment?: string
  readonly keys?: readonly KeyInput[]
}

/** Either a public key, or one to be made. */
export interface NewKey {
  readonly name?: string
  readonly publicKey?: string
  readonly generate?: boolean
  /** Algorithm of the new key; default `ed25519`. */
  readonly algorithm?: KeyAlgorithm
  /** Whether the server keeps the private key that it makes, to sign with it. Default true. */
  readonly storePrivateKey?: boolean
}

/** A request as received, not decoded. */
export interface SignedRequest {
  /** It came over TLS, to us or to a trusted proxy. */
  readonly secure: boolean
  /** The host as the client named it, in lower case, with its port. */
  readonly host: string
  /** The raw path with its first slash, one character for each byte. */
  readonly path: string
  /** Raw, without the question mark. */
  readonly query: string
  /** The header `Cookie`; several are joined by `; `. */
  readonly cookie: string | undefined
  readonly clientAddress: string
  /** When the request began. */
  readonly nowMs: number
  /** A proxy ends TLS without a header that says so: a signature for `https` is valid on `http`, too. */
  readonly holdsFromProxy: boolean
}

/** Why a request is refused: for log, trace and audit, not for clients. */
export type SignatureRefusal =
  | 'missing'
  | 'duplicate_parameter'
  | 'ambiguous'
  | 'unknown_key'
  | 'malformed'
  | 'bad_signature'
  | 'weak_hash'
  | 'malformed_policy'
  | 'unsupported_condition'
  | 'resource'
  | 'expired'
  | 'not_yet'
  | 'address'

export type SignatureVerdict =
  | {
      readonly isValid: true
      readonly keyId: string
      readonly carrier: 'url' | 'cookies'
      readonly expiresMs: number
      /** The raw query without the parameters of the signature: for keys of caches, the origin and logs. */
      readonly query: string
    }
  | {
      readonly isValid: false
      readonly reason: SignatureRefusal
      /** The id of the key, if it belongs to the group. */
      readonly keyId: string | undefined
    }

export interface ToSign {
  readonly kind: 'url' | 'cookies'
  /** Absolute, `http` or `https`, not signed yet. Cookies are for its host. */
  readonly url: string
  /** Default: the newest enabled key whose private key the server has. */
  readonly keyId?: string
  /** In the future, by at most 365 days; the whole second before it counts. */
  readonly expiresMs: number
  readonly startsMs?: number
  /** An address or a CIDR block. */
  readonly ip?: string
  /** A URL with wildcards. Default: the URL. */
  readonly resource?: string
}

export interface SignedCookie {
  readonly name: string
  readonly value: string
  readonly domain: string
  readonly path: string
  readonly secure: boolean
  readonly httpOnly: boolean
  readonly expiresMs: number
}

export interface Signed {
  readonly url?: string
  readonly cookies?: readonly SignedCookie[]
  readonly keyId: string
  readonly expiresMs: number
  /** The text that was signed. */
  readonly policy: string
}

/** A change of a group for a transaction of somebody else. */
export interface PreparedKeyGroup {
  /** Undefined: there is none. */
  readonly before: KeyGroupContent | undefined
  readonly after: KeyGroupContent | undefined
  readonly isChange: boolean
  /** The change, or the condition that nobody else has changed the group meanwhile. */
  apply(tx: TransactionBuilder): void
}

/** The fields of a group that clients write. */
export type KeyGroupContent = Pick<KeyGroup, 'comment' | 'keys'>

/**
 * Errors are `keyGroupErrors`, `access_denied` and those of the store. A change asks the editor, and fails rather than be committed where the group or its uses are others by then.
 */
export interface KeyGroupsService {
  /** Groups ordered by id. `limit` is 1 to 1000. */
  list(request: { readonly startAfter?: string; readonly limit?: number }): Promise<{
    readonly items: readonly KeyGroup[]
    readonly next: string | undefined
  }>
  /** Throws `key_group_not_found`. */
  get(id: string): Promise<KeyGroup>
  /** Throws `already_exists`, `invalid_key_group`. */
  create(id: string, input: KeyGroupInput, options?: KeyGroupChange): Promise<KeyGroup>
  /** Creates or replaces. Keys that stay keep their private keys. Throws `invalid_key_group`, `key_group_in_use`, `precondition_failed`. */
  put(
    id: string,
    input: KeyGroupInput,
    options?: KeyGroupChange & { readonly ifMatch?: string },
  ): Promise<{ readonly group: KeyGroup; readonly isNew: boolean }>
  /** Throws `key_group_not_found`, `key_group_in_use`, `precondition_failed`. */
  delete(id: string, options?: KeyGroupChange & { readonly ifMatch?: string }): Promise<void>
  /**
   * `put`, or with `null` `delete`, of which the caller makes a part of its transaction. `usedBy`: who names the group after that
   * transaction, whose condition must be that this is so. Throws `invalid_key_group`, `key_group_in_use`, and `access_denied` where the group as it is,
   * or as it will be, is not the editor's to change.
   */
  prepare(
    id: string,
    input: KeyGroupInput | null,
    options: { readonly usedBy: readonly KeyGroupUse[]; readonly editor: KeyGroupEditor },
  ): Promise<PreparedKeyGroup>
  /** `privateKey` (PEM, PKCS #8) of a generated key: it cannot be read again. */
  addKey(
    id: string,
    key: NewKey,
    options?: KeyGroupChange,
  ): Promise<{ readonly key: KeyGroupKey; readonly privateKey: string | undefined }>
  /** Throws `key_not_found`, `key_group_in_use` for the last key of a group that is used. */
  removeKey(id: string, keyId: string, options?: KeyGroupChange): Promise<void>
  /** Whether the group exists, as of the last acknowledged change of any thread. */
  exists(id: string): MaybePromise<boolean>
  /**
   * The transaction fails with `precondition_failed` where the group is gone by then, or is another than that of the ETag: for documents that
   * name it.
   */
  requireIn(tx: TransactionBuilder, id: string, etag?: string): void
  /**
   * Whether a key of the group signed the request, by its query or else by its cookies. At once where this thread remembers the group. Where
   * there is no such group nothing is valid.
   */
  verify(group: string, request: SignedRequest): MaybePromise<SignatureVerdict>
  /** Throws `key_group_not_found`, `key_not_found`, and `invalid_argument` for a URL that would be refused. */
  sign(group: string, wanted: ToSign): Promise<Signed>
}

declare module 'svc/kernel' {
  interface Services {
    keyGroups: KeyGroupsService
  }
  interface ExtensionPoints {
    /** A plugin whose documents name key groups. */
    'keyGroups.user': DocumentUser<KeyGroupUse>
  }
}
