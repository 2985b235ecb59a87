/** Identity: who an access key belongs to. For now the root user alone. */
import type { KeyObject } from 'node:crypto'

export interface Identity {
  readonly accessKey: string
  readonly isRoot: boolean
  /** Canonical owner id in S3 answers: 64 hexadecimal characters. */
  readonly ownerId: string
  readonly displayName: string
}

export interface Credentials {
  readonly identity: Identity
  /** HMAC key `"AWS4" + secret`, made once: signing with a KeyObject costs a third of signing with bytes. */
  readonly signingSecret: KeyObject
}

export interface IamService {
  /** The credentials of an access key, or undefined. Takes the same time for known and unknown keys as far as possible. */
  credentials(accessKey: string): Credentials | undefined
  /** HMAC key of the plain secret, for tokens that are signed with it (HS512); undefined for unknown access keys. */
  verificationKey(accessKey: string): KeyObject | undefined
  /** The owner of every bucket and object of this deployment. */
  readonly owner: Identity
}

declare module 'svc/kernel' {
  interface Services {
    iam: IamService
  }
}
