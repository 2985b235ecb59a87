/**
 * Distributions: buckets, or prefixes of them, on their own host names. The plugin finds the distribution of a request by its host and
 * applies its restrictions; the mode of the distribution, which another plugin contributes, answers the request.
 */
import type { MaybePromise } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { KeyGroupEditor } from 'svc/plugins/key-groups/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { Distribution, DistributionInput } from './document.ts'

export { asSent, withPlainPercents } from './as-sent.ts'
export {
  type Behavior,
  type Cors,
  type Distribution,
  DistributionInput,
  type ErrorPage,
  type OriginSecretHeader,
  type PathBehavior,
  PathPattern,
  type Redirect,
} from './document.ts'
export { distributionErrors } from './errors.ts'
export { asHost, covers, normalizeHost } from './hosts.ts'
export { isPublicWebsite } from './log-target.ts'
export { compilePattern, type PathMatcher, readPattern } from './patterns.ts'
export { unverifiable } from './signed-access.ts'

export interface DistributionProblem {
  /** JSON Pointer into the document. */
  readonly element: string
  /** A sentence without its subject, such as `is no header name`. */
  readonly message: string
}

/** Why a request is refused before its mode sees it. */
export interface DistributionRefusal {
  readonly status: 403 | 429
  /** The reason for log, audit and trace; clients never see it: `disabled`, `source_ip`, `origin_secret`, `rate_limit`. */
  readonly reason: string
  readonly retryAfterSeconds?: number
}

/** A request that is only tried: nothing is sent, no body is read, nothing is counted or recorded. */
export interface Rehearsal {
  /** The identity whose credentials were verified; undefined if the request is anonymous. */
  readonly identity: Identity | undefined
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Called instead of answering: names and values in turn. */
  readonly onAnswer: (status: number, headers: readonly string[]) => void
}

/** One request for a distribution. Its notes go to the access log, audit, trace and metrics at its end. */
export interface Visit {
  readonly exchange: Exchange
  /** Only in tests of a distribution. */
  readonly rehearsal?: Rehearsal
  readonly distribution: Distribution
  /** Lower case, without port and final dot. */
  readonly host: string
  /** The alias that stands for the host. */
  readonly alias: string
  operation: string
  /** Index of the behavior; -1 is the default. */
  behavior: number
  access: string
  key: string
  /** Value of `X-Cache`; empty where nothing was asked of the origin. */
  cache: string
  /** In a rehearsal: the name of the effective cache policy, empty if nothing is cached. */
  cachePolicy: string
  /** The source of the answer's bytes: `memory`, the name of a cache tier, or `origin`. */
  cacheSource: string
  /** Fields that say where the answer is from; on every answer to the visitor. */
  cacheHeaders: readonly (readonly [name: string, value: string])[]
  reason: string | undefined
  /** Which objects the visitor may read whom the behavior has let in; absent: none, or none yet. May write to `tags` why not. */
  mayRead?(key: string): MaybePromise<boolean>
  /** Path of the error page of the distribution that is shown; absent: none, or the one of the server. */
  errorPage?: string
  /** Tags of the audit record beside `distribution` and `behavior`. */
  tags: Record<string, string>
  identity: Identity | undefined
  sentBytes: number
  /** The answer is over, or the client is gone. */
  isClosed: boolean
  /** The mode's handler writes the records of the request itself. */
  isRecordedElsewhere: boolean
}

/** A distribution made ready to answer. */
export interface DistributionServer {
  /** Answers the request, or rehearses the answer. A rejection is logged and answered 500. */
  serve(visit: Visit): MaybePromise<void>
  /** Answers a refusal in the words of the mode. */
  refuse(visit: Visit, refusal: DistributionRefusal): MaybePromise<void>
  /** The behavior of a path as it stands in a URL, for routing tests. Undefined if the mode has no behaviors. */
  behaviorOf?(path: string): { readonly index: number; readonly access: string; readonly keyGroup?: string }
}

export interface DistributionMode {
  /** The problems of a document of this mode. Pure. */
  problems(distribution: Distribution): readonly DistributionProblem[]
  /** Called once for each change, in every thread; of a document without problems. Must not throw. */
  compile(distribution: Distribution): DistributionServer
}

/** Whether the caller may manage distributions of this bucket; a promise where policies have to be read. */
export type MayManage = (bucket: string) => MaybePromise<boolean>

/** The caller who saves, and their rights. */
export interface SaverRights {
  readonly keyGroupEditor: KeyGroupEditor
  readonly mayManage: MayManage
  /** Whether the caller may write objects below this prefix. */
  readonly mayWrite: (bucket: string, prefix: string) => MaybePromise<boolean>
}

export interface DistributionChanges extends SaverRights {
  /** The wanted distributions by id; `null` removes one. */
  readonly wanted: ReadonlyMap<string, DistributionInput | null>
  /** Whether the same transaction makes (true) or removes (false) a key group; undefined: it does neither. */
  readonly keyGroupChange: (id: string) => boolean | undefined
}

export interface StagedDistributions {
  /** The stored distributions that would change. */
  readonly before: ReadonlyMap<string, Distribution>
  /** All distributions as they will be after the change. */
  readonly after: ReadonlyMap<string, Distribution>
  readonly changed: ReadonlySet<string>
  /** Why one cannot be saved, by id. */
  readonly errors: ReadonlyMap<string, Error>
  /** For unchanged distributions, by id: sentences that say why one does not answer although it is saved. */
  readonly warnings: ReadonlyMap<string, readonly string[]>
  /** The distributions that will name the key group. */
  keyGroupUsers(id: string): readonly string[]
  /** All changes, on the condition that no distribution has changed meanwhile. Only where there are no errors. */
  apply(tx: TransactionBuilder): void
}

/** Distributions as of the last acknowledged change. */
export interface DistributionsService {
  get(id: string): MaybePromise<Distribution | undefined>
  /** The distribution that answers this host, and the alias that stands for it. `host`: with a port or without, in any case. */
  find(host: string): MaybePromise<{ readonly distribution: Distribution; readonly alias: string } | undefined>
  all(): Promise<readonly Distribution[]>
  /** The buckets of which an enabled distribution shows something to everybody, also while their public access is blocked. */
  publishedBuckets(): Promise<ReadonlySet<string>>
  /** The distributions that publish a bucket: it cannot be deleted. Sorted by id. */
  needing(bucket: string): Promise<readonly Distribution[]>
  /** Whether the distribution that was created at this time does not exist any more. False if its document cannot be read. */
  isGone(id: string, createdMs: number): MaybePromise<boolean>
  /** The document as clients write it, without read-only fields. Secrets are masked; a masked secret that is sent back means the stored one. */
  document(distribution: Distribution): DistributionInput
  /** Changes of many distributions for one transaction of somebody else: each is checked against all as they will be then. */
  stage(changes: DistributionChanges): Promise<StagedDistributions>
  /** Calls this thread's listener soon after each change. Returns a function that ends the watch. */
  watch(listener: () => void): () => void
  /** The index of the behavior of a path as it stands in a URL; -1 is the default. Undefined: its mode has no behaviors. */
  behaviorOf(distribution: string, path: string): MaybePromise<number | undefined>
}

declare module 'svc/kernel' {
  interface Services {
    distributions: DistributionsService
  }
  interface ExtensionPoints {
    /** How distributions of a mode answer; the id is the mode. */
    'distribution.mode': DistributionMode
  }
}
