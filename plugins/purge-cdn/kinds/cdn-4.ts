/** Bunny: https://docs.bunny.net/reference/purgepublic_indexpost */
import { type PurgeCall, type PurgeOperation, type PurgeWebhookKind, urlsOf } from 'svc/plugins/purge/api'
import { Type } from 'typebox'
import { impossible, post, scheme, secret, tagOf, zone } from '../common.ts'

const Settings = Type.Object({
  zone: Type.Optional(zone('Id of the pull zone: needed for tags and for everything.')),
  token: secret('API key of the account.'),
  scheme,
})

interface Call {
  readonly path: string
  readonly body?: object
}

export function createCdn4(apiUrl: string): PurgeWebhookKind<typeof Settings> {
  return {
    description: 'Bunny.',
    settings: Settings,
    limits: { perSecond: 5, burst: 120, slow: { perSecond: 0.5, burst: 20 } },
    tagHeader: tags => ['CDN-Tag', tags.map(tagOf).join(',')],
    connect({ zone, token, scheme }, context) {
      return {
        plan: operations => planOf(operations, zone, scheme),
        async send({ data }, signal) {
          const { path, body } = data as Call
          const headers = { accesskey: token, ...(body !== undefined && { 'content-type': 'application/json' }) }
          const text = body === undefined ? undefined : JSON.stringify(body)
          await post(context, { url: `${apiUrl}${path}`, headers, ...(text !== undefined && { body: text }) }, signal)
        },
        async close() {},
      }
    },
  }
}

function planOf(operations: readonly PurgeOperation[], pullZone: string | undefined, scheme: string) {
  const zonePath = `/pullzone/${pullZone}/purgeCache`
  const forZone = (summary: string, body?: object): PurgeCall =>
    pullZone === undefined
      ? impossible('tags and everything cannot be purged: set the zone, which is the id of the pull zone')
      : { summary, data: { path: zonePath, ...(body !== undefined && { body }) } satisfies Call }
  if (operations.some(({ kind }) => kind === 'all')) return { calls: [forZone('everything')], widened: [] }

  const calls: PurgeCall[] = []
  const widened: string[] = []
  const addUrl = (host: string, path: string, end: '' | '*') => {
    for (const url of urlsOf({ host, path }, scheme)) {
      const data: Call = { path: `/purge?url=${encodeURIComponent(`${url}${end}`)}&async=true` }
      calls.push({ summary: end === '' ? '1 URL' : '1 prefix', isSlow: end === '*', data })
    }
  }
  for (const operation of operations) {
    if (operation.kind === 'url') addUrl(operation.host, operation.path, '')
    else if (operation.kind === 'prefix') addUrl(operation.host, operation.path, '*')
    else if (operation.kind === 'domain') addUrl(operation.host, '/', '*')
    else if (operation.kind === 'tag') calls.push(forZone('1 tag', { CacheTag: tagOf(operation.tag) }))
    else if (operation.kind === 'pattern') {
      const { type, pattern, host, literal } = operation
      addUrl(host, literal, '*')
      widened.push(`the ${type} ${pattern} as ${literal}*`)
    }
  }
  return { calls, widened }
}
