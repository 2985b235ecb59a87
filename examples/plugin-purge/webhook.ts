/** Varnish with the configuration beside this file: `PURGE` forgets one URL, `BAN` what an expression selects. */
import {
  encodePath,
  failureOf,
  type PurgeOperation,
  type PurgeWebhook,
  type PurgeWebhookContext,
} from 'svc/plugins/purge/api'
import type { VarnishSettings } from './settings.ts'

interface Request {
  readonly method: 'PURGE' | 'BAN'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export function connectVarnish({ url, token }: VarnishSettings, { request, clock }: PurgeWebhookContext): PurgeWebhook {
  return {
    plan(operations) {
      const widened = operations.flatMap(each => (each.kind === 'pattern' ? [`the ${each.type} ${each.pattern}`] : []))
      return {
        calls: operations.map(operation => ({ summary: operation.kind, data: requestOf(operation) })),
        widened: widened.map(what => `${what} as the paths that begin as it does`),
      }
    },
    async send({ data }, signal) {
      const { method, path, headers } = data as Request
      const answer = await request({
        url: `${url}${path}`,
        method,
        headers: { ...headers, 'x-purge-token': token },
        signal,
      })
      const failure = failureOf(new URL(url).host, answer, clock.now())
      if (failure !== undefined) throw failure
    },
    // The server closes the connections.
    async close() {},
  }
}

function requestOf(operation: PurgeOperation): Request {
  const ban = (expression: string): Request => ({ method: 'BAN', path: '/', headers: { 'x-ban': expression } })
  const begins = (host: string, path: string) =>
    ban(`obj.http.x-host == ${host} && obj.http.x-url ~ ^${escaped(encodePath(path))}`)
  switch (operation.kind) {
    case 'url':
      return { method: 'PURGE', path: encodePath(operation.path), headers: { host: operation.host } }
    case 'prefix':
      return begins(operation.host, operation.path)
    case 'pattern':
      return begins(operation.host, operation.literal)
    case 'domain':
      return ban(`obj.http.x-host == ${operation.host}`)
    case 'tag':
      return ban(`obj.http.x-cache-tags ~ (^|,)${escaped(tagOf(operation.tag))}(,|$)`)
    case 'all':
      return ban('obj.status != 0')
  }
}

/** A tag as the header of answers has it. */
export const tagOf = (tag: string): string => tag.replaceAll(/[^\x21-\x7e]|[",\\]/gu, encodeURIComponent)

/** For a regular expression. Neither paths nor tags have spaces or quotes, which would end it. */
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
