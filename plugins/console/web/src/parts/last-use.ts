/** When a key or a link was last used. */
import { texts } from '../texts/index.ts'
import { formatDate } from './format.ts'

/** The server keeps the hour of the last use: it may have begun before there was what is used. */
export function lastUseOf({ lastUsedAt, createdAt }: { lastUsedAt?: string; createdAt: string }): string {
  if (lastUsedAt === undefined) return texts.common.never
  return texts.shares.usedWithin(formatDate(lastUsedAt < createdAt ? createdAt : lastUsedAt))
}
