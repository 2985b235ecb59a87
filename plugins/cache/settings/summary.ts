/** Describes a policy in words. */
import { formatDuration, formatSize } from 'svc/kernel'
import type { CachePolicy } from '../policy/policy.ts'

export function summaryOf(policy: CachePolicy): string {
  const { ttl, bypass, respectObjectCacheControl, staleWhileRevalidate, staleIfError, maxObjectSize, negativeCaching } =
    policy
  if (bypass.always) return 'Nothing is cached.'
  const time = (ms: number) => formatDuration(ms)
  const sentences = [
    respectObjectCacheControl
      ? `Answers are fresh for as long as the object says, and otherwise for ${time(ttl.default)}; at least ${time(ttl.min)}, at most ${time(ttl.max)}.`
      : `Answers are fresh for ${time(ttl.default)}, whatever the object says.`,
  ]
  if (negativeCaching > 0) sentences.push(`Missing pages are remembered for ${time(negativeCaching)}.`)
  if (staleWhileRevalidate > 0)
    sentences.push(`For ${time(staleWhileRevalidate)} more they are answered while they are read again.`)
  if (staleIfError > 0) sentences.push(`For ${time(staleIfError)} more they are answered where reading them fails.`)
  if (maxObjectSize === 0) sentences.push('Nothing new is stored.')
  else sentences.push(`Objects of up to ${formatSize(maxObjectSize)} are stored.`)
  if (bypass.authorization) sentences.push('Requests with credentials pass it by.')
  return sentences.join(' ')
}
