/** Servers with the wire formats of the networks, as their references have them; what is otherwise is a 400, wrong credentials are 403. */
import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import { type ReceivedRequest, type Receiver, startReceiver } from 'svc/plugins/http-client/testing'
import type { AnyPurgeWebhookKind } from 'svc/plugins/purge/api'
import type { PurgeWebhookSubject } from 'svc/plugins/purge/contract'
import { createTestCdn, type TestCdn } from 'svc/plugins/purge/testing'
import type { Test } from 'tap'
import { signEdgeGrid } from '../edge-grid.ts'
import { createCdn1 } from '../kinds/cdn-1.ts'
import { createCdn2, everythingKey } from '../kinds/cdn-2.ts'
import { createCdn3 } from '../kinds/cdn-3.ts'
import { createCdn4 } from '../kinds/cdn-4.ts'
import { createCdn5 } from '../kinds/cdn-5.ts'

interface Answer {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

type Serve = (request: ReceivedRequest, cdn: TestCdn) => Answer | Promise<Answer>

const ok = (body: object | string, status = 200): Answer => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const malformed = (why: string): Answer => ({ status: 400, body: JSON.stringify({ why }) })
const forbidden: Answer = { status: 403, body: '{}' }

export interface Vendor extends PurgeWebhookSubject {
  readonly cdn: TestCdn
  readonly receiver: Receiver
}

async function start(
  t: Test,
  serve: Serve,
  make: (url: string) => { kind: AnyPurgeWebhookKind; settings: object; wrong: object },
): Promise<Vendor> {
  const receiver = await startReceiver(t)
  const cdn = createTestCdn()
  let next: Answer | undefined
  receiver.answer = async (request, response) => {
    const answer = next ?? (await serve(request, cdn))
    next = undefined
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  const { kind, settings, wrong } = make(`http://127.0.0.1:${receiver.port}`)
  return {
    receiver,
    kind,
    settings: { ...settings },
    cdn,
    answerNext(status, headers = {}) {
      next = { status, headers, body: '{}' }
    },
    hang: () => receiver.hang(),
    wrongCredentials: { ...settings, ...wrong },
  }
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value = JSON.parse(body)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string')

export const startCdn1 = (t: Test): Promise<Vendor> =>
  start(
    t,
    ({ method, path, headers, body }, cdn) => {
      if (method !== 'POST' || path !== '/client/v4/zones/0a1b/purge_cache') return malformed('path')
      if (headers['content-type'] !== 'application/json') return malformed('type')
      if (headers.authorization !== 'Bearer tok3n-of-the-zone') return forbidden
      const fields = parsed(body)
      const [[name, value] = ['', undefined]] = Object.entries(fields)
      if (Object.keys(fields).length !== 1) return malformed('one list a call')
      const done = ok({ success: true, errors: [], messages: [], result: { id: '0a1b' } })
      if (name === 'purge_everything' && value === true) {
        cdn.purgeAll()
        return done
      }
      if (!isTexts(value) || value.length === 0) return malformed('no list')
      if (value.length > (name === 'files' ? 100 : 30)) return malformed('too many')
      for (const each of value) {
        if (name === 'files' && /^https?:\/\//.test(each)) cdn.purgeUrl(each)
        else if (name === 'hosts' && !each.includes('/')) cdn.purgeStart(`${each}/`)
        else if (name === 'tags') cdn.purgeTag(each)
        // Ends at a segment.
        else if (name === 'prefixes' && !each.includes('://')) cdn.purgeStart(each.endsWith('/') ? each : `${each}/`)
        else return ok({ success: false, errors: [{ code: 1094, message: each }] })
      }
      return done
    },
    url => ({
      kind: createCdn1(url) as AnyPurgeWebhookKind,
      settings: { zone: '0a1b', token: 'tok3n-of-the-zone', scheme: 'https' },
      wrong: { token: 'an0ther-token' },
    }),
  )

export const startCdn2 = (t: Test): Promise<Vendor> =>
  start(
    t,
    ({ method, path, headers, body }, cdn) => {
      if (method !== 'POST') return malformed('method')
      if (headers['fastly-key'] !== 'tok3n-of-fastly') return forbidden
      const soft = headers['fastly-soft-purge']
      if (soft !== undefined && soft !== '1') return malformed('soft')
      const done = ok({ status: 'ok', id: '1-2-3' })
      if (path.startsWith('/purge/')) cdn.purgeUrl(`https://${path.slice('/purge/'.length)}`)
      else if (path === '/service/Sv1/purge_all' && soft === undefined) cdn.purgeAll()
      else if (path === '/service/Sv1/purge' && headers['content-type'] === 'application/json') {
        const { surrogate_keys: keys, ...others } = parsed(body)
        if (!isTexts(keys) || keys.length === 0 || keys.length > 256 || Object.keys(others).length > 0)
          return malformed('keys')
        for (const key of keys) {
          if (key === everythingKey) cdn.purgeAll()
          else cdn.purgeTag(key)
        }
      } else return malformed('path')
      return done
    },
    url => ({
      kind: createCdn2(url) as AnyPurgeWebhookKind,
      settings: { zone: 'Sv1', token: 'tok3n-of-fastly' },
      wrong: { token: 'an0ther-token' },
    }),
  )

export const startCdn3 = (t: Test): Promise<Vendor> => {
  const keys = { clientToken: 'akab-client', clientSecret: 'akab-s3cret', accessToken: 'akab-access' }
  const nonces = new Set<string>()
  let base = ''
  return start(
    t,
    ({ method, path, headers, body }, cdn) => {
      const match = /^\/ccu\/v3\/(?:delete|invalidate)\/(url|tag|cpcode)\/production$/.exec(path)
      if (match === null || method !== 'POST') return malformed('path')
      if (Buffer.byteLength(body) > 50_000) return { status: 413, body: '{}' }
      const fields = /timestamp=(\d{4})(\d\d)(\d\d)T([\d:]{8})\+0000;nonce=([^;]+);/.exec(String(headers.authorization))
      if (fields === null) return malformed('authorization')
      const [, year, month, day, time, nonce = ''] = fields
      if (nonces.has(nonce)) return malformed('the nonce was used before')
      nonces.add(nonce)
      const nowMs = Date.parse(`${year}-${month}-${day}T${time}Z`)
      if (signEdgeGrid(keys, { method, url: `${base}${path}`, body, nowMs, nonce }) !== headers.authorization)
        return { status: 401, body: '{}' }
      const { objects } = parsed(body)
      if (!Array.isArray(objects) || objects.length === 0) return malformed('objects')
      for (const each of objects) {
        if (match[1] === 'url') cdn.purgeUrl(String(each))
        else if (match[1] === 'tag') cdn.purgeTag(String(each))
        else if (each === 12345) cdn.purgeAll()
        else return malformed('cpcode')
      }
      return ok({ httpStatus: 201, estimatedSeconds: 5, purgeId: '1' }, 201)
    },
    url => {
      base = url
      const { accessToken: token, ...others } = keys
      return {
        kind: createCdn3() as AnyPurgeWebhookKind,
        settings: { url, ...others, token, cpCode: '12345', network: 'production', scheme: 'https' },
        wrong: { clientSecret: 'an0ther-s3cret' },
      }
    },
  )
}

export const startCdn4 = (t: Test): Promise<Vendor> =>
  start(
    t,
    ({ method, path, headers, body }, cdn) => {
      if (method !== 'POST') return malformed('method')
      if (headers.accesskey !== 'k3y-of-bunny') return { status: 401, body: '{}' }
      const { pathname, searchParams } = new URL(path, 'http://api.test')
      if (pathname === '/pullzone/77/purgeCache') {
        const { CacheTag: tag } = parsed(body)
        if (body === '') cdn.purgeAll()
        else if (typeof tag === 'string') cdn.purgeTag(tag)
        else return malformed('tag')
        return { status: 204 }
      }
      const url = searchParams.get('url') ?? ''
      if (pathname !== '/purge' || searchParams.get('async') !== 'true' || !URL.canParse(url)) return malformed('path')
      if (url.endsWith('*')) cdn.purgeStart(url.slice(0, -1).replace(/^https?:\/\//, ''))
      else cdn.purgeUrl(url)
      return ok('')
    },
    url => ({
      kind: createCdn4(url) as AnyPurgeWebhookKind,
      settings: { zone: '77', token: 'k3y-of-bunny', scheme: 'https' },
      wrong: { token: 'an0ther-key' },
    }),
  )

/** As the signer wants it: a hash, or with a secret its HMAC. */
class Sha256 {
  readonly #hash
  constructor(secret?: string | Uint8Array) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret)
  }
  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
  reset(): void {}
}

/** With the signer of the vendor's own SDK as a witness. `completed`: whether invalidations end at once. */
export const startCdn5 = (t: Test, { isCompleted = (): boolean => true } = {}): Promise<Vendor> => {
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 's3cret-of-the-key', sessionToken: 'sess10n' }
  const path5 = '/2020-05-31/distribution/E2QW/invalidation'
  const references = new Set<string>()
  let host = ''
  return start(
    t,
    async ({ method, path, headers, body }, cdn) => {
      const signer = new SignatureV4({
        service: 'cloudfront',
        region: 'us-east-1',
        credentials,
        sha256: Sha256 as never,
      })
      const date = String(headers['x-amz-date'])
      const at = new Date(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
      const named = /SignedHeaders=([^,]+)/.exec(String(headers.authorization))?.[1]?.split(';') ?? []
      const signedHeaders = Object.fromEntries(named.map(name => [name, String(headers[name])]))
      const request = { method, protocol: 'http:', hostname: host, path, headers: { ...signedHeaders, host }, body }
      const { headers: expected } = await signer.sign(request, { signingDate: at })
      if (expected.authorization !== headers.authorization) return forbidden
      const status = () => (isCompleted() ? 'Completed' : 'InProgress')
      if (method === 'GET' && path === `${path5}/I1`)
        return ok(`<Invalidation><Id>I1</Id><Status>${status()}</Status></Invalidation>`)
      if (method !== 'POST' || path !== path5) return malformed('path')
      const shape =
        /^<\?xml version="1\.0" encoding="UTF-8"\?><InvalidationBatch xmlns="http:\/\/cloudfront\.amazonaws\.com\/doc\/2020-05-31\/"><Paths><Quantity>(\d+)<\/Quantity><Items>(.*)<\/Items><\/Paths><CallerReference>(\w+)<\/CallerReference><\/InvalidationBatch>$/
      const [, quantity, items = '', reference = ''] = shape.exec(body) ?? []
      const paths = [...items.matchAll(/<Path>([^<]*)<\/Path>/g)].map(([, each = '']) => each.replaceAll('&amp;', '&'))
      if (paths.length === 0 || paths.length !== Number(quantity) || references.has(reference))
        return malformed('batch')
      if (paths.length > 3000 || paths.filter(each => each.endsWith('*')).length > 15)
        return { status: 400, body: '<Error><Code>TooManyInvalidationsInProgress</Code></Error>' }
      references.add(reference)
      for (const each of paths) {
        if (each.startsWith('#')) cdn.purgeTag(each.slice(1))
        else cdn.purgePath(each)
      }
      return ok(`<Invalidation><Id>I1</Id><Status>${status()}</Status></Invalidation>`, 201)
    },
    url => {
      host = new URL(url).host
      const { accessKeyId: clientToken, secretAccessKey: clientSecret, sessionToken: token } = credentials
      return {
        kind: createCdn5(url) as AnyPurgeWebhookKind,
        settings: { zone: 'E2QW', clientToken, clientSecret, token },
        wrong: { clientSecret: 'an0ther-s3cret' },
      }
    },
  )
}
