/** Authorization: may this identity do this action on this resource? For now: root may do everything, nobody else anything. */
import type { Identity } from 'svc/plugins/iam/api'

export interface AccessRequest {
  /** Undefined for an anonymous request. */
  readonly identity: Identity | undefined
  /** `s3:GetObject`, `admin:ServerInfo`… */
  readonly action: string
  readonly bucket?: string
  readonly key?: string
  /** Condition keys in lower case (`s3:prefix`, `aws:sourceip`) with their values. Made only when a policy asks. */
  readonly conditions?: () => Readonly<Record<string, readonly string[]>>
}

export interface PolicyService {
  isAllowed(request: AccessRequest): boolean
}

declare module 'svc/kernel' {
  interface Services {
    policy: PolicyService
  }
}
