import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminClient } from '../admin/client.ts'
import { defineCommand, parseDuration, parsePositive } from '../command.ts'
import { formatBytes } from '../formatting.ts'

interface Options {
  readonly distribution?: string
  readonly host?: string
  readonly top?: number
  readonly watch?: boolean
  readonly every?: number
}

type Counts = Readonly<Record<string, number>>

interface Page {
  readonly host: string
  readonly path: string
  readonly requests: number
  readonly misses: number
}

interface Tier {
  readonly tier: string
  readonly entries: number
  readonly bytes: number
  readonly limitBytes: number
  readonly paused: boolean
}

interface Stats {
  readonly requests: Counts
  readonly bytesCache: number
  readonly bytesOrigin: number
  readonly hitRatio: number
  readonly entries: number
  readonly memoryBytes: number
  readonly topObjects: readonly Page[]
  readonly topMisses: readonly Page[]
  readonly nodes: readonly {
    readonly memoryLimitBytes: number
    readonly evictions: number
    readonly webhookQueue: number
    /** Behind memory; missing in answers of older servers. */
    readonly tiers?: readonly Tier[]
  }[]
}

const everyMsDefault = 2000

async function ask(client: AdminClient, { distribution, host, top = 10 }: Options): Promise<Stats> {
  const given = Object.entries({ distribution, host, top }).filter(([, value]) => value !== undefined)
  const query = given.map(([name, value]) => [name, String(value)] as const)
  return (await client.send({ operation: 'getCacheStats', method: 'GET', path: '/cache/stats', query })).body as Stats
}

const sum = (counts: Iterable<number>): number => [...counts].reduce((total, one) => total + one, 0)
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

export default defineCommand<Options>({
  name: 'cache stats',
  summary: 'Shows what the cache has answered since the start, and what is asked for most.',
  description:
    'With --watch a line each two seconds, of what was answered meanwhile, until it is interrupted. Needs admin:ManageCache, admin:InvalidateCache or admin:ServerInfo.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    { flags: '--distribution <id>', summary: 'only of this one' },
    { flags: '--host <name>', summary: 'only of this name' },
    { flags: '--top <count>', summary: 'so many pages (default 10)', parse: parsePositive },
    { flags: '--watch', summary: 'a line for each interval, until a signal' },
    { flags: '--every <duration>', summary: 'with --watch: the interval (default 2s)', parse: parseDuration },
  ],
  examples: ['svcctl cache stats home --distribution site --top 20', 'svcctl cache stats home --watch'],
  async run(context, [alias], options) {
    const client = await context.connectAdmin(alias!)
    if (options.watch !== true) {
      const stats = await ask(client, options)
      context.output.result({ ...stats }, ...describe(stats))
      return
    }
    const { signal } = context.io
    let before = await ask(client, { ...options, top: 0 })
    context.output.note('requests  hit ratio  from cache  from origin  entries      memory  webhooks')
    context.endsOnSignal()
    while (!signal.aborted) {
      await sleep(options.every ?? everyMsDefault, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const after = await ask(client, { ...options, top: 0 })
      const interval = between(before, after)
      context.output.event({ ...interval }, lineOf(interval), 'plain')
      before = after
    }
  },
})

interface Interval {
  readonly requests: number
  /** Undefined: nothing that can hit was asked. */
  readonly hitRatio: number | undefined
  readonly bytesCache: number
  readonly bytesOrigin: number
  readonly entries: number
  readonly memoryBytes: number
  readonly webhookQueue: number
}

/** A server that has started anew meanwhile counts from 0. */
export function between(before: Stats, after: Stats): Interval {
  const grown = (from: number, to: number) => (to < from ? to : to - from)
  const names = Object.keys(after.requests)
  const counts = Object.fromEntries(names.map(name => [name, grown(before.requests[name] ?? 0, after.requests[name]!)]))
  const of = (...results: string[]) =>
    sum(names.filter(name => results.includes(name.toUpperCase())).map(name => counts[name]!))
  const requests = sum(Object.values(counts))
  const counted = requests - of('BYPASS')
  return {
    requests,
    hitRatio: counted === 0 ? undefined : of('HIT', 'STALE', 'REVALIDATED') / counted,
    bytesCache: grown(before.bytesCache, after.bytesCache),
    bytesOrigin: grown(before.bytesOrigin, after.bytesOrigin),
    entries: after.entries,
    memoryBytes: after.memoryBytes,
    webhookQueue: sum(after.nodes.map(node => node.webhookQueue)),
  }
}

function lineOf({ requests, hitRatio, bytesCache, bytesOrigin, entries, memoryBytes, webhookQueue }: Interval): string {
  const cells: readonly (readonly [string | number, number])[] = [
    [requests, 8],
    [hitRatio === undefined ? '-' : percent(hitRatio), 11],
    [formatBytes(bytesCache), 12],
    [formatBytes(bytesOrigin), 13],
    [entries, 9],
    [formatBytes(memoryBytes), 12],
    [webhookQueue, 10],
  ]
  return cells.map(([text, width]) => String(text).padStart(width)).join('')
}

function describeTier({ tier, entries, bytes, limitBytes, paused }: Tier): string {
  const state = paused ? ', paused: it has failed and is left alone for 10 s' : ''
  return `${`tier ${tier}`.padEnd(12)} ${entries}, ${formatBytes(bytes)} of ${formatBytes(limitBytes)}${state}`
}

function describe(stats: Stats): string[] {
  const { requests, hitRatio, bytesCache, bytesOrigin, entries, memoryBytes, nodes } = stats
  const limit = sum(nodes.map(node => node.memoryLimitBytes))
  const pages = (title: string, list: readonly Page[]) =>
    list.length === 0
      ? []
      : [
          '',
          title,
          ...list.map(
            page => `  ${String(page.requests).padStart(8)} (${page.misses} misses)  ${page.host}${page.path}`,
          ),
        ]
  return [
    `requests     ${sum(Object.values(requests))} (${Object.entries(requests)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')})`,
    `hit ratio    ${percent(hitRatio)}`,
    `from cache   ${formatBytes(bytesCache)}`,
    `from origin  ${formatBytes(bytesOrigin)}`,
    `entries      ${entries}, ${formatBytes(memoryBytes)} of ${formatBytes(limit)} in memory`,
    ...nodes.flatMap(({ tiers = [] }) => tiers.map(describeTier)),
    `evictions    ${sum(nodes.map(node => node.evictions))}`,
    ...pages('Asked for most:', stats.topObjects),
    ...pages('Missed most:', stats.topMisses),
  ]
}
