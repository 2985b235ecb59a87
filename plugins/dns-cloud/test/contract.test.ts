/**
 * The contract against a server that has the provider's wire format: the order of elements, names and values as it writes them, changes
 * that take a while, and signatures that an SDK's own implementation checks.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SignatureV4 } from '@smithy/signature-v4'
import { dnsProviderContract } from 'svc/plugins/dns/contract'
import { createTestHttpClient } from 'svc/plugins/http-client/testing'
import { createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { connectCloud } from '../provider.ts'
import { CloudSettings, settingsProblems } from '../settings.ts'

const zone = 'example.test'
const zoneId = 'Z1PA6795UKMFR9'
const base: CloudSettings = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret/of+the=key', region: 'us-east-1' }
const namespace = 'https://route53.amazonaws.com/doc/2013-04-01/'
const systemClock = createSystemPorts().clock
/** Pauses of the provider take no time here. */
const clock = { ...systemClock, after: (_delayMs: number, callback: () => void) => systemClock.after(1, callback) }

class Sha256 {
  readonly #key: unknown
  #parts: Uint8Array[] = []
  constructor(key?: unknown) {
    this.#key = key
  }
  update(data: string | Uint8Array) {
    this.#parts.push(Buffer.from(data as Uint8Array))
  }
  async digest() {
    const hash = this.#key === undefined ? createHash('sha256') : createHmac('sha256', Buffer.from(this.#key as string))
    return new Uint8Array(hash.update(Buffer.concat(this.#parts)).digest())
  }
  reset() {
    this.#parts = []
  }
}

interface StoredSet {
  readonly ttl: string
  readonly values: readonly string[]
}

interface Answer {
  readonly status: number
  readonly xml: string
}

const head = '<?xml version="1.0"?>\n'
const refused = (status: number, code: string): Answer => ({
  status,
  xml: `${head}<ErrorResponse xmlns="${namespace}"><Error><Type>Sender</Type><Code>${code}</Code><Message>words</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
})
const batchRefused: Answer = {
  status: 400,
  xml: `${head}<InvalidChangeBatch xmlns="${namespace}"><Messages><Message>Tried to delete a set, but it was not found</Message></Messages></InvalidChangeBatch>`,
}
const escapeXml = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
const unescapeXml = (value: string) =>
  value
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

const requestPattern = new RegExp(
  `^<\\?xml version="1\\.0" encoding="UTF-8"\\?>\\n<ChangeResourceRecordSetsRequest xmlns="${namespace}"><ChangeBatch><Changes><Change>` +
    '<Action>(UPSERT|DELETE)</Action><ResourceRecordSet><Name>([^<]+)\\.</Name><Type>TXT</Type><TTL>(\\d+)</TTL><ResourceRecords>' +
    '((?:<ResourceRecord><Value>[^<]+</Value></ResourceRecord>)+)</ResourceRecords></ResourceRecordSet></Change></Changes></ChangeBatch>' +
    '</ChangeResourceRecordSetsRequest>$',
)

async function startApi(t: Test, { pendingCount = 2, sessionToken = '' } = {}) {
  const sets = new Map<string, StoredSet>()
  const requests: string[] = []
  const next: Answer[] = []
  let isHanging = false
  let pending = 0

  async function isSigned(request: IncomingMessage, body: string): Promise<boolean> {
    const { method = '', url = '', headers } = request
    const [, signedHeaders = '', signature = ''] =
      /SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '') ?? []
    const { pathname, searchParams } = new URL(url, 'http://api')
    const names = signedHeaders.split(';')
    // What the service wants to be signed, and nothing that the witness would sign differently.
    const needed = ['host', 'x-amz-date', ...(sessionToken === '' ? [] : ['x-amz-security-token'])]
    if (!needed.every(name => names.includes(name))) return false
    if ((headers['x-amz-security-token'] ?? '') !== sessionToken) return false
    const date = String(headers['x-amz-date']).replace(
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
      '$1-$2-$3T$4:$5:$6Z',
    )
    const witness = new SignatureV4({
      service: 'route53',
      region: 'us-east-1',
      credentials: { accessKeyId: base.accessKeyId, secretAccessKey: base.secretAccessKey },
      sha256: Sha256 as never,
      applyChecksum: false,
    })
    const expected = await witness.sign(
      {
        method,
        protocol: 'http:',
        hostname: '127.0.0.1',
        path: pathname,
        query: Object.fromEntries(searchParams),
        headers: Object.fromEntries(names.map(name => [name, String(headers[name])])),
        body,
      },
      { signingDate: new Date(date) },
    )
    if (headers['x-amz-content-sha256'] !== createHash('sha256').update(body).digest('hex')) return false
    const wanted = /Signature=([0-9a-f]{64})$/.exec(expected.headers.authorization!)![1]!
    return timingSafeEqual(Buffer.from(wanted), Buffer.from(signature.padEnd(64)))
  }

  const changeInfo = (name: string): Answer => {
    const status = pending > 0 ? 'PENDING' : 'INSYNC'
    const info = `<ChangeInfo><Id>/change/C2682N5HXP0BZ4</Id><Status>${status}</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo>`
    return { status: 200, xml: `${head}<${name} xmlns="${namespace}">${info}</${name}>` }
  }

  const change = (body: string): Answer => {
    const match = requestPattern.exec(body)
    if (match === null) return refused(400, 'InvalidInput')
    const [, action, name, ttl, records] = match as unknown as [string, string, string, string, string]
    const values = [...records.matchAll(/<Value>([^<]+)<\/Value>/g)].map(([, value]) => unescapeXml(value!))
    if (!values.every(value => /^"(?:[^"\\]|\\["\\])*"$/.test(value))) return batchRefused
    const before = sets.get(name)
    if (action === 'DELETE') {
      const isSame = before?.ttl === ttl && before.values.join() === values.join()
      if (!isSame) return batchRefused
      sets.delete(name)
    } else sets.set(name, { ttl, values })
    pending = pendingCount
    return changeInfo('ChangeResourceRecordSetsResponse')
  }

  const zones = (query: URLSearchParams): Answer => {
    // The list begins with the name, and goes on behind it.
    const shown =
      query.get('dnsname') === `${zone}.`
        ? [
            ['Z0PRIVATE', `${zone}.`, 'true'],
            [zoneId, `${zone}.`, 'false'],
            ['Z9', 'zebra.test.', 'false'],
          ]
        : [['Z9', 'zebra.test.', 'false']]
    const list = shown.map(
      ([id, name, isPrivate]) =>
        `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`,
    )
    return {
      status: 200,
      xml: `${head}<ListHostedZonesByNameResponse xmlns="${namespace}"><HostedZones>${list.join('')}</HostedZones></ListHostedZonesByNameResponse>`,
    }
  }

  const list = (query: URLSearchParams): Answer => {
    const name = query.get('name')!.slice(0, -1)
    const set = sets.get(name)
    const shown =
      set === undefined
        ? `<ResourceRecordSet><Name>zz.${zone}.</Name><Type>TXT</Type><TTL>5</TTL><ResourceRecords><ResourceRecord><Value>"zz"</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>`
        : `<ResourceRecordSet><Name>${name}.</Name><Type>TXT</Type><TTL>${set.ttl}</TTL><ResourceRecords>${set.values
            .map(value => `<ResourceRecord><Value>${escapeXml(value)}</Value></ResourceRecord>`)
            .join('')}</ResourceRecords></ResourceRecordSet>`
    return {
      status: 200,
      xml: `${head}<ListResourceRecordSetsResponse xmlns="${namespace}"><ResourceRecordSets>${shown}</ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>1</MaxItems></ListResourceRecordSetsResponse>`,
    }
  }

  async function route(request: IncomingMessage): Promise<Answer> {
    const { method, url = '' } = request
    const body = await text(request)
    requests.push(`${method} ${url}`)
    const claim = `Credential=${base.accessKeyId}/`
    if (!request.headers.authorization?.includes(claim)) return refused(403, 'InvalidClientTokenId')
    if (!(await isSigned(request, body))) return refused(403, 'SignatureDoesNotMatch')
    const given = next.shift()
    if (given !== undefined) return given
    const { pathname, searchParams } = new URL(url, 'http://api')
    if (method === 'GET' && pathname === '/2013-04-01/hostedzonesbyname') return zones(searchParams)
    if (method === 'GET' && pathname === '/2013-04-01/change/C2682N5HXP0BZ4') {
      pending--
      return changeInfo('GetChangeResponse')
    }
    if (!pathname.startsWith('/2013-04-01/hostedzone/')) return refused(404, 'UnknownOperationException')
    if (pathname !== `/2013-04-01/hostedzone/${zoneId}/rrset`) return refused(404, 'NoSuchHostedZone')
    if (method === 'GET') return list(searchParams)
    return request.headers['content-type'] === 'application/xml' ? change(body) : refused(400, 'InvalidInput')
  }

  const server = createServer(async (request, response) => {
    if (isHanging) return
    const { status, xml } = await route(request)
    response.writeHead(status, { 'content-type': 'text/xml' }).end(xml)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sets,
    requests,
    next,
    values: async (name: string) =>
      (sets.get(name)?.values ?? []).map(value => value.slice(1, -1).replace(/\\(.)/g, '$1')),
    hang() {
      isHanging = true
    },
  }
}

function connectTo(t: Test, apiUrl: string, settings: CloudSettings) {
  const client = createTestHttpClient(t).client({ purpose: 'dns', reach: 'private', timeoutMs: 10_000 })
  return connectCloud(settings, client, apiUrl, clock)
}

const variants: Record<string, CloudSettings> = {
  'looking the zone up': base,
  'with the id of the zone': { ...base, hostedZoneId: `/hostedzone/${zoneId}` },
  'with temporary credentials': { ...base, sessionToken: 'session+token/of=mine' },
}
for (const [name, settings] of Object.entries(variants)) {
  t.test(`the provider keeps the contract, ${name}`, t =>
    dnsProviderContract(t, async t => {
      const { apiUrl, values, hang } = await startApi(t, { sessionToken: settings.sessionToken })
      return {
        kind: {
          description: '',
          settings: CloudSettings,
          validate: settingsProblems,
          connect: (settings: CloudSettings) => connectTo(t, apiUrl, settings),
        },
        settings,
        zone,
        values,
        hang,
        wrongCredentials: { ...settings, secretAccessKey: 's3cr3t-of-nobody' },
        unknownZone: { settings: { ...settings, hostedZoneId: undefined }, zone: 'unknown.test' },
      }
    }),
  )
}

const never = new AbortController().signal
const record = { name: `_acme-challenge.${zone}`, zone, value: 'v', ttlSeconds: 60 }
const fixed = { ...base, hostedZoneId: zoneId }

t.test('a change is done when every server of the provider has it', async t => {
  const { apiUrl, requests } = await startApi(t, { pendingCount: 3 })
  await connectTo(t, apiUrl, fixed).present(record, never)
  t.same(requests.filter(request => request.startsWith('GET /2013-04-01/change/')).length, 3)
})

t.test('other values keep their time to live, and the last one takes the set with it', async t => {
  const { apiUrl, sets } = await startApi(t, { pendingCount: 0 })
  sets.set(record.name, { ttl: '300', values: ['"other"'] })
  const provider = connectTo(t, apiUrl, fixed)
  await provider.present(record, never)
  t.same(sets.get(record.name), { ttl: '300', values: ['"other"', '"v"'] })
  await provider.cleanup(record, never)
  await provider.cleanup({ ...record, value: 'other' }, never)
  t.same([...sets], [])
})

t.test('throttled and conflicting requests are retried, refused ones are not', async t => {
  const { apiUrl, next, requests, values } = await startApi(t, { pendingCount: 0 })
  const provider = connectTo(t, apiUrl, fixed)
  const failure = () =>
    provider.present(record, never).then(
      () => 'it succeeded',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  next.push(refused(400, 'Throttling'), refused(400, 'PriorRequestNotComplete'))
  t.equal(await failure(), 'it succeeded')
  t.same(await values(record.name), ['v'])
  const before = requests.length
  next.push(...Array.from({ length: 6 }, () => refused(400, 'Throttling')))
  t.match(await failure(), /^Error: 127\.0\.0\.1:\d+ answers 400 \(Throttling\)$/)
  t.equal(requests.length - before, 6, 'six times at most')
  for (const [answer, words] of [
    [
      refused(403, 'AccessDenied'),
      /^PermanentDnsError: the access key is wrong or lacks the permission: .*403 \(AccessDenied\)$/,
    ],
    [refused(404, 'NoSuchHostedZone'), /^PermanentDnsError: there is no hosted zone with this id/],
    [refused(400, 'InvalidInput'), /^PermanentDnsError: .*400 \(InvalidInput\)$/],
    [batchRefused, /^Error: .*400 \(InvalidChangeBatch\)$/],
    [{ status: 503, xml: 'no xml <' }, /^Error: .* answers 503$/],
    [
      { status: 200, xml: '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>' },
      /^Error: the API gave an answer that is no XML$/,
    ],
  ] as const) {
    next.push(answer)
    t.match(await failure(), words)
  }
})

t.test('settings that cannot be right are named', t => {
  const wrong = {
    accessKeyId: 'a/b',
    region: 'US East',
    hostedZoneId: '../x',
    secretAccessKey: 'a b',
    sessionToken: 'ü',
  }
  t.same(
    settingsProblems(wrong).map(({ key }) => key),
    Object.keys(wrong),
  )
  t.same(settingsProblems({ ...fixed, sessionToken: '' }), [])
  t.end()
})
