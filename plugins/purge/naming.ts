/** Finds the webhooks that the levels of the cache settings name. */
import type { CacheConfiguration } from 'svc/plugins/cache/api'
import { compilePattern, covers, type Distribution } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'

/**
 * Whether a webhook is told what is to be forgotten at a host: of this path, or of any. `host` may be a wildcard of the distribution, which
 * stands for all hosts below it that have no alias of their own.
 */
export type IsTold = (host: string, path?: string) => boolean

export const alwaysTold: IsTold = () => true

export function namingOf(
  { webhooksOf }: Pick<CacheConfiguration, 'webhooksOf'>,
  { id: distribution, createdMs, aliases, behaviors }: Distribution,
  webhook: string,
  normalizeKey: NormalizeKey,
): IsTold {
  const matchers = behaviors.map(({ pathPattern }) => ({ pathPattern, matches: compilePattern(pathPattern) }))
  const longestFirst = aliases.filter(alias => alias.startsWith('*.')).sort((a, b) => b.length - a.length)
  const aliasOf = (host: string) =>
    aliases.includes(host) ? host : (longestFirst.find(wildcard => covers(wildcard, host)) ?? host)
  const patterns = [undefined, ...behaviors.map(({ pathPattern }) => pathPattern)]
  return (host, path) => {
    const alias = aliasOf(host)
    const isNamed = (pathPattern: (typeof patterns)[number]) =>
      webhooksOf({ distribution, createdMs, alias, pathPattern })?.ids.includes(webhook) !== false
    if (path === undefined) return patterns.some(isNamed)
    const inKeyForm = normalizeKey(path)
    return isNamed(matchers.find(({ matches }) => matches(inKeyForm))?.pathPattern)
  }
}
