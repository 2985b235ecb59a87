/** When a key or a link was last used. */
import { texts } from '../texts/index.ts'
import { formatClock, formatDate } from './format.ts'

const hourMs = 3_600_000

/** The server keeps the hour of the last use: it may have begun before there was what is used, and need not have ended. */
export function lastUseOf({ lastUsedAt, createdAt }: { lastUsedAt?: string; createdAt: string }): string {
  if (lastUsedAt === undefined) return texts.common.never
  const endMs = Date.parse(lastUsedAt) + hourMs
  if (Date.now() < endMs) return texts.shares.usedThisHour
  const from = lastUsedAt < createdAt ? createdAt : lastUsedAt
  return texts.shares.usedBetween(formatDate(from), formatClock(new Date(endMs)))
}
