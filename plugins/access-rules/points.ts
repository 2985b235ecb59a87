/** What other plugins add to access rules. */
import type { MaybePromise } from 'svc/kernel'
import { Type } from 'typebox'

/** A way to the objects of a bucket that does not ask policies for everything: for tests of access rules. */
export interface AccessRoute {
  readonly bucket: string
  /** The host of requests where none is named. */
  readonly host: string
  readonly isEnabled: boolean
  /** Otherwise S3 answers, and decides as on its own listener. */
  readonly isWebsite: boolean
  /** Undefined: no request can name this key. */
  accessOf(key: string): 'public' | 'signed' | 'authenticated' | 'deny' | undefined
}

/** A distribution that shows objects of a bucket to everybody. */
export interface PublicRoute {
  /** The id of the distribution. */
  readonly id: string
  readonly domains: readonly string[]
  /** Patterns of the keys that it shows; `*` is any run. */
  readonly keys: readonly string[]
  /** Patterns of keys among them for which it asks for a signed link or a user, or shows nobody. */
  readonly except: readonly string[]
  /** It also asks for an address, or for a header that a proxy in front adds. */
  readonly isRestricted: boolean
  /** Old and deleted versions too, by their ids. */
  readonly showsVersions: boolean
}

export interface AccessRouteFinder {
  /** By the id of a distribution, as of the last acknowledged change. */
  find(id: string): MaybePromise<AccessRoute | undefined>
  /** Those that are enabled, by id; also while public access is blocked and they refuse their visitors. */
  publicRoutes(bucket: string): Promise<readonly PublicRoute[]>
}

export const accessRulesPoints = {
  'accessRules.route': {
    cardinality: 'one',
    schema: Type.Object(
      { find: Type.Function([], Type.Unknown()), publicRoutes: Type.Function([], Type.Unknown()) },
      { description: 'Finds distributions for tests of access rules, and those that show a bucket to everybody.' },
    ),
  },
} as const
