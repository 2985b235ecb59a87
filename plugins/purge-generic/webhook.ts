/**
 * A cache or receiver of the operator's own. With a placeholder of one item (`{url}`, `{path}`, `{tag}` …) there is a request for each item,
 * otherwise a document for all of them. Where a template cannot say what an item is, `*` at the end of a path stands for all that begin so.
 */
import { createHmac } from 'node:crypto'
import {
  CallFailure,
  encodePath,
  failureOf,
  type PurgeOperation,
  type PurgePlan,
  type PurgeSite,
  type PurgeWebhook,
  type PurgeWebhookContext,
  schemesOf,
  urlsOf,
} from 'svc/plugins/purge/api'
import { type GenericSettings, hasItems, headersWithToken } from './settings.ts'
import { fillBody, fillHeader, fillUrl, placeholdersOf, type Values } from './template.ts'

const itemsMax = 1000

/** One item of a template. */
interface Item {
  readonly values: Values
}

interface Document {
  readonly domain?: string
  readonly paths: readonly string[]
  readonly urls: readonly string[]
  readonly patterns: readonly object[]
  readonly tags: readonly string[]
  readonly all: boolean
  readonly soft: boolean
}

export function connectGeneric(settings: GenericSettings, context: PurgeWebhookContext): PurgeWebhook {
  const { url, method, body, scheme, token = '', clientSecret } = settings
  const headers = headersWithToken(settings)
  const { clock, random, distribution } = context
  const used = new Set([url, body, ...Object.values(headers)].flatMap(placeholdersOf))
  const isTyped = used.has('type')
  const contentType = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''

  function planItems(operations: readonly PurgeOperation[], site: PurgeSite): PurgePlan {
    const widened: string[] = []
    const items = new Map<string, Item>()
    for (const operation of operations) {
      for (const values of valuesOf(operation, site, { scheme, isTyped, hasTag: used.has('tag') }, widened)) {
        items.set(JSON.stringify(values), { values })
      }
    }
    return { calls: [...items.values()].map(data => ({ summary: String(data.values.url), data })), widened }
  }

  function planDocuments(operations: readonly PurgeOperation[]): PurgePlan {
    const calls = []
    for (const isSoft of [false, true]) {
      const own = operations.filter(operation => operation.isSoft === isSoft)
      const domains = own.flatMap(operation => (operation.kind === 'domain' ? [operation.host] : []))
      for (const domain of domains) calls.push({ ...documentOf([], isSoft, scheme), domain })
      const rest = own.filter(({ kind }) => kind !== 'domain')
      for (let start = 0; start < rest.length; start += itemsMax)
        calls.push(documentOf(rest.slice(start, start + itemsMax), isSoft, scheme))
    }
    return { calls: calls.map(data => ({ summary: `${data.urls.length} URLs and others`, data })), widened: [] }
  }

  function filled(data: unknown, id: string, nowMs: number) {
    const common = { id, distribution, token, timestamp: String(Math.floor(nowMs / 1000)) }
    if (hasItems(settings)) {
      const values = { ...common, ...(data as Item).values }
      return { values, text: fillBody(body, values, contentType) }
    }
    const document = data as Document
    const values: Values = { ...common, tags: document.tags, paths: document.paths, soft: String(document.soft) }
    const whole = { id, distribution, createdAt: new Date(nowMs).toISOString(), ...document }
    return { values, text: body === '' ? JSON.stringify(whole) : fillBody(body, values, contentType) }
  }

  return {
    plan: (operations, site) => (hasItems(settings) ? planItems(operations, site) : planDocuments(operations)),
    async send({ data }, signal) {
      const id = random.bytes(16).toString('hex')
      const nowMs = clock.now()
      const { values, text } = filled(data, id, nowMs)
      const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), fillHeader(value, values)])
      const second = Math.floor(nowMs / 1000)
      const target = fillUrl(url, values)
      const host = URL.parse(target)?.host
      // Whoever may purge chooses patterns and tags: they must not decide who gets the secrets.
      const intended = fillUrl(url, { ...values, path: '/', pattern: '/', tag: '', tags: '', paths: '' })
      if (host === undefined || host !== URL.parse(intended)?.host)
        throw new CallFailure('what is purged would change the host of the URL: put a slash behind the host', {
          isPermanent: true,
        })
      const answer = await context.request({
        url: target,
        method,
        headers: {
          ...(text === '' ? {} : { 'content-type': 'application/json' }),
          'user-agent': 'svc',
          ...Object.fromEntries(own),
          'x-svc-event': 'cache.purge',
          'x-svc-delivery': id,
          ...(clientSecret === undefined ? {} : { 'x-svc-signature': signature(clientSecret, second, text) }),
        },
        body: text === '' ? undefined : text,
        signal,
      })
      // An HTTP cache says that there was nothing to forget.
      const failure = hasItems(settings) && answer.status === 404 ? undefined : failureOf(host, answer, nowMs)
      if (failure !== undefined) throw failure
    },
    async close() {},
  }
}

/** `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">` */
export function signature(secret: string, second: number, body: string): string {
  return `t=${second},v1=${createHmac('sha256', secret).update(`${second}.${body}`).digest('hex')}`
}

interface Form {
  readonly scheme: string
  readonly isTyped: boolean
  readonly hasTag: boolean
}

/** The items of an operation: several where it is for several hosts or schemes. */
function valuesOf(operation: PurgeOperation, site: PurgeSite, form: Form, widened: string[]): Values[] {
  const soft = String(operation.isSoft)
  const at = (type: string, host: string, path: string, pattern: string, tag = ''): Values[] =>
    schemesOf(form.scheme).map(scheme => ({
      ...{ type, scheme, host, tag, soft, pattern },
      path: encodePath(path),
      url: `${scheme}://${host}${encodePath(path)}`,
    }))
  const everywhere = (type: string, tag = '') => site.hosts.flatMap(host => at(type, host, '/*', '/**', tag))
  switch (operation.kind) {
    case 'url':
      return at('url', operation.host, operation.path, operation.path)
    case 'prefix':
      return at('prefix', operation.host, form.isTyped ? operation.path : `${operation.path}*`, `${operation.path}**`)
    case 'pattern': {
      const { type, host, pattern, literal } = operation
      if (form.isTyped) return at(type, host, literal, pattern)
      widened.push(`the ${type} ${pattern} as ${literal}*`)
      return at('prefix', host, `${literal}*`, `${literal}**`)
    }
    case 'domain':
      return at('domain', operation.host, '/*', '/**')
    case 'tag':
      if (form.hasTag) return everywhere('tag', operation.tag)
      widened.push(`the tag ${operation.tag} as everything`)
      return everywhere('all')
    case 'all':
      return everywhere('all')
  }
}

function documentOf(operations: readonly PurgeOperation[], soft: boolean, scheme: string): Document {
  const urls = operations.flatMap(each => (each.kind === 'url' ? urlsOf(each, scheme) : []))
  const paths = operations.flatMap(each => (each.kind === 'url' ? [each.path] : []))
  const patterns = operations.flatMap((each): object[] => {
    if (each.kind === 'prefix') return [{ type: 'prefix', pattern: each.path, host: each.host }]
    if (each.kind !== 'pattern') return []
    const { type, pattern, host, isCaseInsensitive } = each
    return [{ type, pattern, host, ...(isCaseInsensitive && { caseInsensitive: true }) }]
  })
  const tags = operations.flatMap(each => (each.kind === 'tag' ? [each.tag] : []))
  return { paths: [...new Set(paths)], urls, patterns, tags, all: operations.some(({ kind }) => kind === 'all'), soft }
}
