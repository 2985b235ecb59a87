import { parseDuration } from 'svc/kernel'
import {
  adminErrors,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageOf,
  pageParameters,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { describeLock, LockType, LockView } from './lock-schema.ts'

export default defineAdminOperation({
  id: 'listLocks',
  method: 'GET',
  path: '/locks',
  tag: 'cluster',
  summary: 'Lists the locks that are held, oldest first.',
  authorize: ['admin:TopLocksInfo'],
  query: Type.Object({
    bucket: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Of this bucket.' })),
    type: Type.Optional(LockType),
    olderThan: Type.Optional(Type.String({ description: 'Held for longer than this: `5m`.' })),
    ...pageParameters,
  }),
  response: pageOf(LockView),
  uses: ['locks', 'ports'],
  async handle({ query: { bucket, type, olderThan, cursor, limit } }, { locks, ports: { clock } }) {
    const untilMs = olderThan === undefined ? Number.POSITIVE_INFINITY : clock.now() - parseAge(olderThan)
    const after = decodeCursor(cursor)
    const found = (await locks.list()).filter(
      lock =>
        (bucket === undefined || lock.resource.startsWith(`${bucket}/`)) &&
        (type === undefined || lock.type === type) &&
        lock.sinceMs < untilMs &&
        (after === undefined || placeOf(lock) > after),
    )
    const page = found.slice(0, limit)
    return {
      items: page.map(describeLock),
      nextCursor: encodeCursor(found.length > page.length ? placeOf(page.at(-1)!) : undefined),
    }
  },
})

function parseAge(text: string): number {
  try {
    return parseDuration(text)
  } catch {
    throw adminErrors.invalid_argument(
      `query/olderThan: ${JSON.stringify(text)} is no duration; one is 90s, 5m or 1h30m.`,
    )
  }
}

/** In the order of the list. */
function placeOf({ sinceMs, resource }: { sinceMs: number; resource: string }): string {
  return `${`${sinceMs}`.padStart(16, '0')} ${resource}`
}
