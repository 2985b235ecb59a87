import {
  CreateBucketCommand,
  DeleteBucketCorsCommand,
  GetBucketCorsCommand,
  GetObjectCommand,
  PutBucketCorsCommand,
  PutObjectCommand,
  type CORSRule as SdkRule,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import fc from 'fast-check'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'
import { readyRules } from '../matching.ts'
import { type CorsRule, checkCorsRules } from '../rules.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { client, endpoint } = server
const Bucket = 'shared-with-pages'
await client.send(new CreateBucketCommand({ Bucket }))
await client.send(new PutObjectCommand({ Bucket, Key: 'a.txt', Body: 'text' }))
const vary = 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method'

const rule = (given: Partial<SdkRule>): SdkRule => ({ AllowedOrigins: ['*'], AllowedMethods: ['GET'], ...given })
const put = (...CORSRules: SdkRule[]) =>
  outcome(client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules } })))
const corsHeaders = (answer: Response) =>
  Object.fromEntries([...answer.headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))
const preflight = (path: string, headers: Record<string, string>) =>
  fetch(`${endpoint}${path}`, { method: 'OPTIONS', headers })

const setCommon = (cors_allow_origin: string | null) =>
  server.kernel.services.settings.administration.update('api', { cors_allow_origin })

t.test('without its own rules a bucket has those of the settings: by default every origin may read', async t => {
  const origin = 'https://a.example'
  const asked = { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'X-Amz-Date' }
  const path = `/${Bucket}/a.txt`
  const allowed = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, PUT, POST, DELETE, HEAD',
    vary,
  }
  const { 'access-control-expose-headers': exposed, ...others } = corsHeaders(await preflight(path, asked))
  t.same(others, { ...allowed, 'access-control-allow-headers': 'x-amz-date' })
  t.match(exposed, /\bETag, .*x-amz-version-id/)
  const get = () => server.signed({ method: 'GET', path, headers: { origin } })
  t.match(corsHeaders(await get()), allowed)
  t.match(
    corsHeaders(await server.signed({ method: 'GET', path: '/', headers: { origin } })),
    allowed,
    'of the service',
  )

  await setCommon('https://b.example, https://*.c.example')
  t.same(corsHeaders(await get()), { vary })
  t.equal((await preflight(path, asked)).status, 403)
  for (const origin of ['https://b.example', 'https://x.c.example']) {
    const answer = await server.signed({ method: 'GET', path, headers: { origin } })
    t.match(corsHeaders(answer), { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' })
  }
  await put(rule({ AllowedOrigins: ['https://own.example'] }))
  t.same(corsHeaders(await server.signed({ method: 'GET', path, headers: { origin: 'https://b.example' } })), { vary })
  t.match(corsHeaders(await server.signed({ method: 'GET', path, headers: { origin: 'https://own.example' } })), {
    'access-control-allow-origin': 'https://own.example',
  })
  await client.send(new DeleteBucketCorsCommand({ Bucket }))
  for (const wrong of ['https://*.*.org', 'a b', Array(101).fill('https://a.example').join(','), 'x'.repeat(256)]) {
    await t.rejects(
      setCommon(wrong),
      { code: 'invalid_argument', message: /^api\.cors_allow_origin must be / },
      wrong.slice(0, 20),
    )
  }
  await setCommon('')
})

t.test('before there are rules, and with none in the settings', async t => {
  t.equal(await outcome(client.send(new GetBucketCorsCommand({ Bucket }))), '404 NoSuchCORSConfiguration')
  t.equal(await outcome(client.send(new GetBucketCorsCommand({ Bucket: 'not-there' }))), '404 NoSuchBucket')
  t.equal(await outcome(client.send(new DeleteBucketCorsCommand({ Bucket }))), 'ok')
  const asked = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
  const answer = await preflight(`/${Bucket}/a.txt`, asked)
  t.equal(answer.status, 403)
  t.match(await answer.text(), /<Code>AccessForbidden<\/Code>.*CORS is not enabled.*<ResourceType>OBJECT</)
  t.match(await (await preflight(`/${Bucket}`, asked)).text(), '<ResourceType>BUCKET<')
  t.equal((await preflight('/not-there/a.txt', asked)).status, 403)
  const get = await server.signed({ method: 'GET', path: `/${Bucket}/a.txt`, headers: { origin: 'https://a.example' } })
  t.same([get.status, corsHeaders(get)], [200, {}])
})

t.test('rules come back as they were put', async t => {
  const rules = [
    rule({
      ID: 'first & only <one>',
      AllowedOrigins: ['http://*.example.org', 'https://b.example'],
      AllowedMethods: ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'],
      AllowedHeaders: ['*', 'x-amz-meta-*'],
      ExposeHeaders: ['ETag', 'x-amz-version-id'],
      MaxAgeSeconds: 3000,
    }),
    rule({ MaxAgeSeconds: 0 }),
  ]
  t.equal(await put(...rules), 'ok')
  t.same((await client.send(new GetBucketCorsCommand({ Bucket }))).CORSRules, rules)
  t.equal(await put(...Array.from({ length: 100 }, () => rule({}))), 'ok')
})

t.test('invalid rules are refused, and the stored ones are kept', async t => {
  t.equal(await put(rule({ AllowedOrigins: ['https://kept.example'] })), 'ok')
  for (const [wrong, code] of [
    [[rule({ AllowedMethods: ['PATCH'] })], 'InvalidRequest'],
    [[rule({ AllowedMethods: ['get'] })], 'InvalidRequest'],
    [[rule({ AllowedOrigins: ['http://*.*.org'] })], 'InvalidRequest'],
    [[rule({ AllowedOrigins: ['a b'] })], 'InvalidRequest'],
    [[rule({ AllowedHeaders: ['x-*-*'] })], 'InvalidRequest'],
    [[rule({ AllowedHeaders: ['x y'] })], 'InvalidRequest'],
    [[rule({ ExposeHeaders: ['*'] })], 'InvalidRequest'],
    [[rule({ ExposeHeaders: ['x-amz-*'] })], 'InvalidRequest'],
    [[rule({ ExposeHeaders: ['bad\u00fc'] })], 'InvalidRequest'],
    [[rule({ ID: 'x'.repeat(256) })], 'InvalidRequest'],
    [Array.from({ length: 101 }, () => rule({})), 'InvalidRequest'],
    [[rule({ AllowedOrigins: [] })], 'MalformedXML'],
    [[rule({ AllowedMethods: [] })], 'MalformedXML'],
    [[rule({ MaxAgeSeconds: 2 ** 31 })], 'InvalidRequest'],
    [[], 'MalformedXML'],
  ] as const) {
    t.equal(await put(...wrong), `400 ${code}`, JSON.stringify(wrong[0]))
  }
  for (const content of [
    '<CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod><AllowEverything/></CORSRule>',
    '<Rule/>',
    '<CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod><ID>1</ID><ID>2</ID></CORSRule>',
  ]) {
    const body = `<CORSConfiguration>${content}</CORSConfiguration>`
    const answer = await server.signed({ method: 'PUT', path: `/${Bucket}`, query: 'cors=', body })
    t.match(await answer.text(), '<Code>MalformedXML</Code>', content)
  }
  const { CORSRules } = await client.send(new GetBucketCorsCommand({ Bucket }))
  t.same(CORSRules![0]!.AllowedOrigins, ['https://kept.example'])
  const missing = new PutBucketCorsCommand({ Bucket: 'not-there', CORSConfiguration: { CORSRules: [rule({})] } })
  t.equal(await outcome(client.send(missing)), '404 NoSuchBucket')
})

t.test('preflights', async t => {
  t.equal(
    await put(
      rule({
        AllowedOrigins: ['https://*.example.org'],
        AllowedMethods: ['GET', 'PUT'],
        AllowedHeaders: ['Content-Type', 'x-amz-*'],
        ExposeHeaders: ['ETag', 'x-amz-request-id'],
        MaxAgeSeconds: 600,
      }),
      rule({ AllowedMethods: ['HEAD'] }),
    ),
    'ok',
  )
  const origin = 'https://www.example.org'
  const asked = { origin, 'access-control-request-method': 'PUT' }
  const allowed = await preflight(`/${Bucket}/new/key`, {
    ...asked,
    'access-control-request-headers': 'X-Amz-Date, content-type,x-amz-meta-a',
  })
  t.equal(allowed.status, 200)
  t.same(corsHeaders(allowed), {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, PUT',
    'access-control-allow-headers': 'x-amz-date, content-type, x-amz-meta-a',
    'access-control-expose-headers': 'ETag, x-amz-request-id',
    'access-control-max-age': '600',
    vary,
  })
  t.same([allowed.headers.get('content-length'), await allowed.text()], ['0', ''])
  t.equal((await preflight(`/${Bucket}?uploads`, asked)).status, 200, 'of a sub-resource')
  t.equal((await preflight(`/${Bucket}/key?X-Amz-Signature=00&X-Amz-Algorithm=x`, asked)).status, 200, 'presigned')
  t.equal((await preflight(`/${Bucket}/key`, { ...asked, authorization: 'nonsense' })).status, 200)
  const anybody = await preflight(`/${Bucket}`, { origin: 'null', 'access-control-request-method': 'HEAD' })
  t.same(corsHeaders(anybody), {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'HEAD',
    vary,
  })
  for (const [wrong, status, code] of [
    [{ 'access-control-request-method': 'GET' }, 400, 'BadRequest'],
    [{ origin }, 400, 'BadRequest'],
    [{ ...asked, origin: 'https://www.example.com' }, 403, 'AccessForbidden'],
    [{ ...asked, origin: 'https://example.org' }, 403, 'AccessForbidden'],
    [{ ...asked, 'access-control-request-method': 'DELETE' }, 403, 'AccessForbidden'],
    [{ ...asked, 'access-control-request-headers': 'authorization' }, 403, 'AccessForbidden'],
  ] as const) {
    const answer = await preflight(`/${Bucket}/key`, wrong)
    t.equal(answer.status, status, JSON.stringify(wrong))
    t.match(await answer.text(), `<Code>${code}</Code>`)
    t.equal(answer.headers.get('access-control-allow-origin'), null)
  }
})

t.test('every answer to a page has the headers, refusals too', async t => {
  const origin = 'https://www.example.org'
  const expected = {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, PUT',
    'access-control-expose-headers': 'ETag, x-amz-request-id',
    'access-control-max-age': '600',
    vary,
  }
  const headers = { origin }
  const path = `/${Bucket}/a.txt`
  const get = await server.signed({ method: 'GET', path, headers })
  t.same([get.status, await get.text(), corsHeaders(get)], [200, 'text', expected])
  const missing = await server.signed({ method: 'GET', path: `/${Bucket}/missing`, headers })
  t.same([missing.status, corsHeaders(missing)], [404, expected])
  const anonymous = await fetch(endpoint + path, { headers })
  t.same([anonymous.status, corsHeaders(anonymous)], [403, expected])
  const forged = await fetch(`${endpoint + path}?X-Amz-Algorithm=nonsense&X-Amz-Signature=0`, { headers })
  t.same([forged.status, corsHeaders(forged)], [400, expected])
  const url = await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: 'a.txt' }))
  const presigned = await fetch(url, { headers })
  t.same([presigned.status, corsHeaders(presigned)], [200, expected])

  const other = await server.signed({ method: 'GET', path, headers: { origin: 'https://other.example' } })
  t.same([other.status, corsHeaders(other)], [200, { vary }], 'no rule for it: no cache may mix the two')
  const remove = await server.signed({ method: 'DELETE', path: `/${Bucket}/gone`, headers })
  t.same([remove.status, corsHeaders(remove)], [204, { vary }], 'no rule for the method')
  const plain = await server.signed({ method: 'GET', path })
  t.same(corsHeaders(plain), {}, 'who has no origin gets nothing')

  await client.send(new PutObjectCommand({ Bucket, Key: 'large', Body: Buffer.alloc(3_000_000, 1) }))
  const large = await server.signed({ method: 'GET', path: `/${Bucket}/large`, headers })
  t.same([(await large.arrayBuffer()).byteLength, corsHeaders(large)], [3_000_000, expected], 'streamed')

  t.equal(await outcome(client.send(new DeleteBucketCorsCommand({ Bucket }))), 'ok')
  t.same(corsHeaders(await server.signed({ method: 'GET', path, headers })), {}, 'gone at once')
  for (const method of ['GET', 'PUT', 'DELETE']) {
    t.equal((await server.anonymous(method, `/${Bucket}?cors`)).status, 403, `${method} for a stranger`)
  }
})

t.test('patterns match as the one regular expression that they stand for', async t => {
  const letters = (max: number) => fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: max })
  fc.assert(
    fc.property(letters(6), letters(8), (pattern, origin) => {
      fc.pre(pattern !== '' && pattern.split('*').length <= 2)
      const allowed: CorsRule = {
        allowedOrigins: [pattern],
        allowedMethods: ['GET'],
        allowedHeaders: [],
        exposeHeaders: [],
      }
      const escaped = pattern.replaceAll('.', '\\.').replace('*', '.*')
      const expected = new RegExp(`^${escaped}$`, 's').test(origin)
      return (readyRules([allowed]).forRequest(origin, 'GET') !== undefined) === expected
    }),
  )
  t.same(checkCorsRules([]), [])
  const none = { allowedOrigins: [], allowedMethods: [], allowedHeaders: [], exposeHeaders: [], maxAgeSeconds: 2 ** 31 }
  t.same(
    checkCorsRules([none]).map(({ index, field }) => [index, field]),
    [
      [0, 'allowedOrigins'],
      [0, 'allowedMethods'],
      [0, 'maxAgeSeconds'],
    ],
    'everything that is wrong is told',
  )
})
