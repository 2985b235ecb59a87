/** Cloudflare, API version 4: https://developers.cloudflare.com/api/resources/cache/methods/purge/ */
import { CallFailure, type PurgeCall, type PurgeOperation, type PurgeWebhookKind, urlsOf } from 'svc/plugins/purge/api'
import { type Static, Type } from 'typebox'
import { inGroups, post, scheme, secret, tagOf, zone } from '../common.ts'

const Settings = Type.Object({
  zone: zone('Id of the zone.'),
  token: secret('API token with the right to purge the cache of the zone.'),
  scheme,
})

const filesMax = 100
const othersMax = 30

type Body = Readonly<Record<string, readonly string[] | boolean>>

export function createCdn1(apiUrl: string): PurgeWebhookKind<typeof Settings> {
  return {
    description: 'Cloudflare.',
    settings: Settings,
    // Of the lowest plan.
    limits: { perSecond: 5 / 60, burst: 25 },
    tagHeader: tags => ['Cache-Tag', tags.map(tagOf).join(',')],
    connect({ zone, token, scheme }, context) {
      const url = `${apiUrl}/client/v4/zones/${zone}/purge_cache`
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      return {
        plan: operations => planOf(operations, scheme),
        async send({ data }, signal) {
          const body = await post(context, { url, headers, body: JSON.stringify(data) }, signal)
          if (!isSuccess(body)) throw new CallFailure(`${new URL(url).host} answers 200, but not success`)
        },
        async close() {},
      }
    },
  }
}

function planOf(operations: readonly PurgeOperation[], scheme: Static<typeof Settings>['scheme']) {
  const lists: Record<'files' | 'prefixes' | 'hosts' | 'tags', string[]> = {
    files: [],
    prefixes: [],
    hosts: [],
    tags: [],
  }
  const widened: string[] = []
  for (const operation of operations) {
    switch (operation.kind) {
      case 'all':
        return { calls: [{ summary: 'everything', data: { purge_everything: true } satisfies Body }], widened }
      case 'url':
        lists.files.push(...urlsOf(operation, scheme))
        break
      case 'prefix':
        addPrefix(operation.host, operation.path)
        break
      case 'pattern': {
        const { type, pattern, host, literal } = operation
        addPrefix(host, literal)
        widened.push(`the ${type} ${pattern} as ${host}${literal}*`)
        break
      }
      case 'domain':
        lists.hosts.push(operation.host)
        break
      case 'tag':
        lists.tags.push(tagOf(operation.tag))
    }
  }

  /** Prefixes of this API end at a segment: one in the middle of a name is that of its folder. */
  function addPrefix(host: string, path: string): void {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    if (folder !== path) widened.push(`the prefix ${path} as ${folder}`)
    if (folder === '/') lists.hosts.push(host)
    else lists.prefixes.push(...urlsOf({ host, path: folder }, 'https').map(url => url.slice('https://'.length)))
  }

  const calls = Object.entries(lists).flatMap(([name, items]): PurgeCall[] =>
    inGroups([...new Set(items)], name === 'files' ? filesMax : othersMax).map(group => ({
      summary: `${group.length} ${name}`,
      data: { [name]: group } satisfies Body,
    })),
  )
  return { calls, widened }
}

function isSuccess(body: Buffer): boolean {
  try {
    return (JSON.parse(body.toString()) as { success?: unknown }).success === true
  } catch {
    return false
  }
}
