/** Expands an invalidation to operations of one webhook, on the hosts behind its cache. They cover everything that the invalidation selects. */
import type { Invalidation } from 'svc/plugins/cache/api'
import { covers, type Distribution, withPlainPercents } from 'svc/plugins/distributions/api'
import type { PurgeOperation } from './api.ts'
import { alwaysTold, type IsTold } from './naming.ts'

export interface Expansion {
  readonly operations: readonly PurgeOperation[]
  readonly widened: readonly string[]
}

/** `domains` of the webhook: empty for all aliases. `isTold`: by the settings of its levels. */
export function expand(
  invalidation: Invalidation,
  distribution: Distribution,
  domains: readonly string[],
  isTold: IsTold = alwaysTold,
): Expansion {
  const { kind, items, isSoft, isCaseInsensitive } = invalidation
  const aliases = domains.length === 0 ? distribution.aliases : domains
  const hosts = aliases.filter(alias => !alias.startsWith('*.'))
  const wildcards = aliases.filter(alias => alias.startsWith('*.'))
  const everything: PurgeOperation = { kind: 'all', isSoft }
  // What is forgotten at a wildcard is forgotten at the aliases that it covers, too.
  const under = (alias: string) => [alias, ...distribution.aliases.filter(one => covers(alias, one))]
  const isToldUnder: IsTold = (alias, path) => under(alias).some(one => isTold(one, path))
  if (kind === 'domain') {
    const told = [...new Set(items.flatMap(host => [host, ...hosts.filter(one => covers(host, one))]))].filter(host =>
      isToldUnder(host),
    )
    return expandDomains(told, aliases, isSoft)
  }
  if (kind === 'all' || kind === 'tag') {
    // What they select may be anywhere.
    if (!aliases.some(alias => isToldUnder(alias))) return { operations: [], widened: [] }
    return { operations: kind === 'all' ? [everything] : items.map(tag => ({ kind, tag, isSoft })), widened: [] }
  }

  const operations: PurgeOperation[] = []
  const widened: string[] = []
  const urlsAt = (host: string, item: string) =>
    pathsOf(item, distribution)
      .filter(path => isTold(host, path))
      .map(path => ({ kind: 'url' as const, host, path, isSoft }))
  for (const item of items) {
    const url = kind === 'path' ? absoluteUrl(item) : undefined
    if (url !== undefined) {
      if (isAt(aliases, url.host)) operations.push(...urlsAt(url.host, url.path))
      continue
    }
    const paths = kind === 'path' ? pathsOf(item, distribution) : [undefined]
    const wildcard = wildcards.find(alias => paths.some(path => isToldUnder(alias, path)))
    if (wildcard !== undefined) {
      // The hosts below it are not known.
      widened.push(`${item} at ${wildcard} as everything`)
      return { operations: [everything], widened }
    }
    for (const host of hosts) {
      if (kind === 'path') operations.push(...urlsAt(host, item))
      else if (!isTold(host)) continue
      else if (kind === 'prefix' && !isCaseInsensitive) operations.push({ kind, host, path: item, isSoft })
      else {
        const literal = isCaseInsensitive ? '/' : literalStart(kind, item)
        operations.push({ kind: 'pattern', host, type: kind, pattern: item, isCaseInsensitive, literal, isSoft })
      }
    }
  }
  return { operations, widened }
}

function expandDomains(items: readonly string[], aliases: readonly string[], isSoft: boolean): Expansion {
  const operations: PurgeOperation[] = []
  for (const host of items) {
    if (host.startsWith('*.')) {
      if (aliases.includes(host))
        return { operations: [{ kind: 'all', isSoft }], widened: [`the domain ${host} as everything`] }
    } else if (isAt(aliases, host)) operations.push({ kind: 'domain', host, isSoft })
  }
  return { operations, widened: [] }
}

/** Whether an exact host is one of the aliases, or below a wildcard of them. */
export const isAt = (aliases: readonly string[], host: string): boolean =>
  aliases.some(alias => alias === host || (alias.startsWith('*.') && host.endsWith(alias.slice(1))))

function absoluteUrl(item: string): { readonly host: string; readonly path: string } | undefined {
  if (item.startsWith('/') || !URL.canParse(item)) return undefined
  const { hostname, pathname } = new URL(item)
  return { host: hostname.toLowerCase(), path: decoded(pathname) }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(withPlainPercents(path))
  } catch {
    return path
  }
}

/** `/x/index.html` is what `/x/` shows. */
function pathsOf(path: string, { defaultBehavior, behaviors }: Distribution): string[] {
  const indexes = [defaultBehavior, ...behaviors].flatMap(({ indexDocument = '' }) => indexDocument || [])
  const folders = [...new Set(indexes)]
    .filter(index => path.endsWith(`/${index}`))
    .map(index => path.slice(0, -index.length))
  return [path, ...folders]
}

/** The text that every match begins with. */
export function literalStart(type: 'prefix' | 'glob' | 'regex', pattern: string): string {
  const start = textBefore(type, pattern)
  // No path matches an expression that begins otherwise. In a URL that text would change the host.
  return start.startsWith('/') ? start : '/'
}

function textBefore(type: 'prefix' | 'glob' | 'regex', pattern: string): string {
  if (type === 'prefix') return pattern
  if (type === 'glob') return pattern.slice(0, firstOf(pattern, /[*?{]/))
  if (!pattern.startsWith('^') || pattern.includes('|')) return ''
  const text = pattern.slice(1)
  const end = firstOf(text, /[\\^$.|?*+()[\]{}]/)
  // A character that may be repeated or missing is no part of it.
  const isOptional = /[?*{]/.test(text[end] ?? '')
  return text.slice(0, isOptional ? end - 1 : end)
}

function firstOf(text: string, wanted: RegExp): number {
  const found = text.search(wanted)
  return found < 0 ? text.length : found
}
