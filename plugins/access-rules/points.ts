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

export interface AccessRouteFinder {
  /** By the id of a distribution, as of the last acknowledged change. */
  find(id: string): MaybePromise<AccessRoute | undefined>
}

export const accessRulesPoints = {
  'accessRules.route': {
    cardinality: 'one',
    schema: Type.Object(
      { find: Type.Function([], Type.Unknown()) },
      { description: 'Finds distributions for tests of access rules.' },
    ),
  },
} as const
