/**
 * Stored documents:
 *
 * | Collection | Document | Changes |
 * |---|---|---|
 * | `cache-purge` | one each, by its number | when it is requested, and when this node is done |
 * | `cache-purge-head` | `head` | with every new purge, in the same commit |
 */
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

const strict = { additionalProperties: false } as const

export const PurgePattern = Type.Object(
  {
    type: Type.Enum(['prefix', 'glob', 'regex']),
    pattern: Type.String({ minLength: 1, maxLength: 1024 }),
    caseInsensitive: Type.Optional(Type.Boolean()),
  },
  strict,
)
export type PurgePattern = Static<typeof PurgePattern>

/** The request of a purge, as the Admin API shows it. */
export const StoredRequest = Type.Object(
  {
    distribution: Type.Optional(Type.String()),
    domain: Type.Optional(Type.String()),
    paths: Type.Array(Type.String()),
    patterns: Type.Array(PurgePattern),
    tags: Type.Array(Type.String()),
    all: Type.Boolean(),
    soft: Type.Boolean(),
    actor: Type.String(),
  },
  strict,
)
export type StoredRequest = Static<typeof StoredRequest>

export const StoredPurge = Type.Object(
  {
    request: StoredRequest,
    /** Decoded paths; without `host` they are selected on every host. */
    places: Type.Array(Type.Object({ path: Type.String(), host: Type.Optional(Type.String()) }, strict)),
    createdMs: Type.Integer(),
    finishedMs: Type.Optional(Type.Integer()),
    state: Type.Enum(['in-progress', 'completed', 'failed']),
    nodes: Type.Array(
      Type.Object(
        {
          node: Type.String(),
          state: Type.Enum(['pending', 'done', 'failed', 'offline']),
          atMs: Type.Optional(Type.Integer()),
          removed: Type.Integer(),
          error: Type.Optional(Type.String()),
        },
        strict,
      ),
    ),
  },
  strict,
)
export type StoredPurge = Static<typeof StoredPurge>

export interface PurgeDocuments {
  readonly purges: Collection<StoredPurge>
  readonly heads: Collection<{ number: number }>
}

export const headId = 'head'

/** To be called during set-up, in every thread. */
export function declarePurgeDocuments(store: StoreService): PurgeDocuments {
  return {
    purges: store.collection({
      name: 'cache-purge',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: StoredPurge,
    }),
    heads: store.collection({
      name: 'cache-purge-head',
      version: 1,
      archiveNote: 'not in it: the work of a moment',
      schema: Type.Object({ number: Type.Integer() }),
    }),
  }
}

const digits = 16

/** The ids sort like the numbers. */
export const idOfNumber = (number: number): string => String(number).padStart(digits, '0')
