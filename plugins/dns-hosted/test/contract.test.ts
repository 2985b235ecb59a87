/** The contract against a server that has the provider's wire format, and refuses everything else. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { dnsProviderContract } from 'svc/plugins/dns/contract'
import { createTestHttpClient } from 'svc/plugins/http-client/testing'
import t, { type Test } from 'tap'
import { connectHosted } from '../provider.ts'
import { HostedSettings, settingsProblems } from '../settings.ts'

const zone = 'example.test'
const zoneId = '023e105f4ecef8ad9ca31a8372d0c353'
const token = 'tok3n-of-the-zone'

interface StoredRecord {
  readonly id: string
  readonly name: string
  readonly content: string
  readonly ttl: number
}

interface Answer {
  readonly status: number
  readonly body: object
}

const ok = (result: unknown, info?: object): Answer => ({
  status: 200,
  body: { success: true, errors: [], messages: [], result, ...(info && { result_info: info }) },
})
const refused = (status: number, code: number, message: string): Answer => ({
  status,
  body: { success: false, errors: [{ code, message }], messages: [], result: null },
})

/** Paths, methods, headers, fields and codes of the API as its reference has them; what is otherwise is a 400 that fails the test. */
async function startApi(t: Test, pageSize = 100) {
  const records = new Map<string, StoredRecord>()
  const requests: string[] = []
  let isHanging = false
  /** Answers before anything else. */
  let next: Answer | undefined
  let lastId = 0

  const list = (query: URLSearchParams): Answer => {
    if (query.get('type') !== 'TXT' || query.get('per_page') === null) return refused(400, 9000, 'malformed query')
    const page = Number(query.get('page'))
    const found = [...records.values()].filter(({ name }) => name === query.get('name'))
    const total_pages = Math.max(1, Math.ceil(found.length / pageSize))
    return ok(found.slice((page - 1) * pageSize, page * pageSize), { page, per_page: pageSize, total_pages })
  }

  const create = async (request: IncomingMessage): Promise<Answer> => {
    if (request.headers['content-type'] !== 'application/json') return refused(400, 9000, 'no JSON')
    const { type, name, content, ttl, ...others } = (await json(request)) as StoredRecord & { type: string }
    if (type !== 'TXT' || Object.keys(others).length > 0) return refused(400, 9000, 'unknown field')
    if (!name.endsWith(`.${zone}`)) return refused(400, 9000, 'not in the zone')
    if (!(ttl >= 60 && ttl <= 86_400)) return refused(400, 9021, 'Invalid TTL. Must be between 60 and 86400 seconds.')
    if (!/^"(?:[^"\\]|\\["\\])*"$/.test(content)) return refused(400, 9207, 'Content is not quoted.')
    const same = [...records.values()].some(record => record.name === name && record.content === content)
    if (same) return refused(400, 81_058, 'An identical record already exists.')
    const record = { id: `record${++lastId}`, type, name, content, ttl }
    records.set(record.id, record)
    return ok(record)
  }

  const route = async (request: IncomingMessage): Promise<Answer> => {
    const { method, url = '', headers } = request
    requests.push(`${method} ${url}`)
    if (headers.authorization !== `Bearer ${token}`) return refused(403, 9109, 'Invalid access token')
    if (next !== undefined) {
      const answer = next
      next = undefined
      return answer
    }
    const { pathname, searchParams } = new URL(url, 'http://api')
    const ofZone = `/client/v4/zones/${zoneId}/dns_records`
    if (method === 'GET' && pathname === '/client/v4/zones') {
      return ok(searchParams.get('name') === zone ? [{ id: zoneId, name: zone, status: 'active' }] : [])
    }
    if (!pathname.startsWith(ofZone))
      return refused(404, 7003, 'Could not route to the zone, perhaps your object identifier is invalid?')
    if (method === 'GET' && pathname === ofZone) return list(searchParams)
    if (method === 'POST' && pathname === ofZone) return create(request)
    const id = pathname.slice(ofZone.length + 1)
    if (method !== 'DELETE' || id === '') return refused(405, 10_405, 'Method not allowed')
    return records.delete(id) ? ok({ id }) : refused(404, 81_044, 'Record does not exist.')
  }

  const server = createServer(async (request, response) => {
    if (isHanging) return
    const { status, body } = await route(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`,
    records,
    requests,
    values: async (name: string) =>
      [...records.values()]
        .filter(record => record.name === name)
        .map(({ content }) => content.slice(1, -1).replace(/\\(.)/g, '$1')),
    hang() {
      isHanging = true
    },
    answerNext(answer: Answer) {
      next = answer
    },
  }
}

function connectTo(t: Test, apiUrl: string, settings: HostedSettings) {
  const httpClient = createTestHttpClient(t)
  return connectHosted(settings, httpClient.client({ purpose: 'dns', reach: 'private', timeoutMs: 10_000 }), apiUrl)
}

for (const settings of [{ apiToken: token }, { apiToken: token, zoneId }]) {
  t.test(`the provider keeps the contract, ${settings.zoneId ? 'with the id of the zone' : 'looking the zone up'}`, t =>
    dnsProviderContract(t, async t => {
      const { apiUrl, values, hang } = await startApi(t)
      return {
        kind: {
          description: '',
          settings: HostedSettings,
          validate: settingsProblems,
          connect: (settings: HostedSettings) => connectTo(t, apiUrl, settings),
        },
        settings,
        zone,
        values,
        hang,
        wrongCredentials: { ...settings, apiToken: 's3cr3t-of-nobody' },
        unknownZone: { settings: { apiToken: token }, zone: 'unknown.test' },
      }
    }),
  )
}

const never = new AbortController().signal
const record = { name: `_acme-challenge.${zone}`, zone, value: 'v', ttlSeconds: 1 }

t.test('an answer that may be another one later is tried again, others are not', async t => {
  const { apiUrl, answerNext } = await startApi(t)
  const provider = connectTo(t, apiUrl, { apiToken: token, zoneId })
  const failure = (answer: Answer) => {
    answerNext(answer)
    return provider.present(record, never).then(
      () => 'it succeeded',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  }
  t.match(await failure(refused(429, 10_000, 'slow down')), /^Error: 127\.0\.0\.1:\d+ answers 429 \(10000: slow down\)/)
  t.match(await failure({ status: 502, body: [] }), /^Error: .* answers 502$/)
  t.match(await failure({ status: 302, body: {} }), /^Error: .* answers 302$/, 'redirects are not followed')
  t.match(await failure({ status: 200, body: { success: false, errors: [] } }), /^Error: .* answers 200$/)
  t.match(
    await failure(refused(400, 1004, `not ${token} again`)),
    /^PermanentDnsError: .*400 \(1004: not \*{5} again\)/,
  )
  t.match(await failure(refused(403, 10_000, 'Authentication error')), /^PermanentDnsError: the API token is wrong/)
  t.equal(await failure(ok({ id: 'x' })), 'it succeeded')
})

t.test('records on further pages are found, and those without quotes', async t => {
  const { apiUrl, records } = await startApi(t, 2)
  for (let i = 0; i < 5; i++)
    records.set(`other${i}`, { id: `other${i}`, name: record.name, content: `"o${i}"`, ttl: 60 })
  records.set('bare', { id: 'bare', name: record.name, content: 'v', ttl: 60 })
  records.set('elsewhere', { id: 'elsewhere', name: `x.${zone}`, content: '"v"', ttl: 60 })
  await connectTo(t, apiUrl, { apiToken: token }).cleanup(record, never)
  t.same([...records.keys()], ['other0', 'other1', 'other2', 'other3', 'other4', 'elsewhere'])
})

t.test('settings that cannot be right are named', t => {
  t.same(
    settingsProblems({ apiToken: 'a b', zoneId: '../x' }).map(({ key }) => key),
    ['zoneId', 'apiToken'],
  )
  t.same(settingsProblems({ apiToken: token, zoneId }), [])
  t.end()
})
