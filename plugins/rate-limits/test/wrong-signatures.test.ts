/**
 * Guesses of secrets: by the clock, and in a server over real sockets, at S3, in its forms and at the Admin API. Time stands still unless
 * the test moves it.
 */
import { createHmac } from 'node:crypto'
import { GetObjectCommand, HeadBucketCommand, ListBucketsCommand, type S3ServiceException } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { CatalogError } from 'svc/kernel'
import { startAdmin, userSecret } from 'svc/plugins/admin/testing'
import { signPolicy, signRequest } from 'svc/plugins/auth-sigv4/api'
import { createClients } from 'svc/plugins/s3/testing'
import { createFakeClock, createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { TokenBuckets, tokenBucketsBytes } from '../token-buckets.ts'
import { createWrongSignatures, refusingBytes, wrongPerKeyMax, wrongPerNetworkMax } from '../wrong-signatures.ts'

function createThrottle() {
  const clock = createFakeClock(0)
  let lookups = 0
  class CountedBuckets extends TokenBuckets {
    override exhaustedUntil(...given: Parameters<TokenBuckets['exhaustedUntil']>): bigint {
      lookups++
      return super.exhaustedUntil(...given)
    }
  }
  const buckets = new CountedBuckets(new SharedArrayBuffer(tokenBucketsBytes), 1, 2)
  const refusing = new SharedArrayBuffer(refusingBytes)
  const options = { refusing, buckets, keySpace: 1, networkSpace: 2, clock }
  const [one, other] = [createWrongSignatures(options), createWrongSignatures(options)]
  return {
    clock,
    lookups: () => lookups,
    one,
    /** As another thread asks. */
    refused(client: string, accessKey: string): string {
      try {
        other.guard(client)?.(accessKey)
        return ''
      } catch (error) {
        const { code, status, extra, tags } = error as CatalogError
        return `${status} ${code} ${tags?.throttled} ${extra?.['retry-after']}`
      }
    },
  }
}

t.test('a hundred of a network on a key: refused until the minute is over', async t => {
  const { clock, lookups, one, refused } = createThrottle()
  for (let n = 1; n < wrongPerKeyMax; n++) one.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '')
  t.equal(lookups(), 0, 'nothing is looked up while nobody is refused')
  await clock.advance(20_000)
  one.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '503 SlowDown user 40')
  t.equal(refused('192.0.2.1', 'bob'), '', 'another key')
  t.equal(refused('192.0.2.2', 'ada'), '', 'the key itself is not locked')
  await clock.advance(39_000)
  t.equal(refused('192.0.2.1', 'ada'), '503 SlowDown user 1')
  await clock.advance(1_000)
  t.equal(refused('192.0.2.1', 'ada'), '')
  const before = lookups()
  await clock.advance(2_000)
  t.equal(refused('192.0.2.1', 'ada'), '')
  t.equal(lookups(), before, 'again nothing is looked up')
  for (let n = 1; n < wrongPerKeyMax; n++) one.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '', 'a new minute, a new count')
  one.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '503 SlowDown user 60')
})

t.test('a thousand of a network on all keys, and wider IPv6 networks', async t => {
  const { one, refused } = createThrottle()
  for (let n = 1; n < wrongPerNetworkMax[64]; n++) one.failed('192.0.2.1', n % 2 ? undefined : `key${n}`)
  t.equal(refused('192.0.2.1', 'ada'), '')
  one.failed('192.0.2.1', undefined)
  t.equal(refused('192.0.2.1', 'ada'), '503 SlowDown ip 60')
  t.equal(refused('192.0.2.2', 'ada'), '')

  for (let n = 1; n < wrongPerNetworkMax[48]; n++) {
    if (n === wrongPerNetworkMax[56] - 1) t.equal(refused('2001:db8:6:1ff::1', 'ada'), '')
    if (n === wrongPerNetworkMax[56] + 1) t.equal(refused('2001:db8:6:1ff::1', 'ada'), '503 SlowDown ip 60', 'the /56')
    one.failed(`2001:db8:6:${(n <= wrongPerNetworkMax[56] ? 0x100 + (n % 250) : n).toString(16)}::1`, `key${n}`)
  }
  t.equal(refused('2001:db8:6:ff00::1', 'ada'), '')
  one.failed('2001:db8:6:2ff::1', 'ada')
  t.equal(refused('2001:db8:6:ff00::1', 'ada'), '503 SlowDown ip 60', 'the /48')
  t.equal(refused('2001:db8:7::1', 'ada'), '')
})

t.test('however many clients guess, the memory is the same', async t => {
  const { one, refused } = createThrottle()
  for (let n = 0; n < wrongPerKeyMax; n++) one.failed('192.0.2.1', 'ada')
  const memory = process.memoryUsage().arrayBuffers
  for (let n = 0; n < 200_000; n++) one.failed(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, 'ada')
  t.ok(process.memoryUsage().arrayBuffers <= memory + 1024)
  t.equal(refused('10.0.0.1', 'ada'), '', 'and few wrong signatures of many are no many of one')
})

const rightAnswer = { status: 200 }

async function start(t: Test) {
  let nowNs = 0n
  const { clock } = createSystemPorts()
  const server = await startAdmin({
    ports: { clock: { ...clock, monotonicNs: () => nowNs } },
    config: { http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', trustedProxies: ['127.0.0.1'] } },
  })
  t.teardown(() => server.stop())
  const { signed, s3Port, kernel } = server
  const endpoint = `http://127.0.0.1:${s3Port}`
  const clients = createClients(endpoint)
  t.teardown(() => clients.destroy())
  const user = { accessKey: 'ada', secretKey: userSecret, policyNames: ['consoleAdmin'] }
  t.equal((await signed({ method: 'POST', path: '/api/v1/users', body: user })).status, 201)
  t.equal((await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos' } })).status, 201)
  /** An S3 request with a signature in its head: status and code. */
  const s3 = async (secretKey: string, address = '192.0.2.1', accessKey = 'ada') => {
    const client = clients.as({ accessKey, secretKey })
    const url = await getSignedUrl(client, new GetObjectCommand({ Bucket: 'photos', Key: 'missing' }))
    return plain(await fetch(url, { headers: { 'x-forwarded-for': address } }))
  }
  async function plain(answer: Response) {
    const text = await answer.text()
    const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? ''
    return { status: answer.status, code, retryAfter: answer.headers.get('retry-after'), text }
  }
  return {
    ...server,
    clients,
    endpoint,
    presigned: s3,
    plain,
    wait: (seconds: number) => {
      nowNs += BigInt(Math.round(seconds * 1e9))
    },
    nowMs: () => kernel.ports.clock.now(),
    async throttled(api: string, kind: string) {
      const text = await kernel.services.metrics.scrape()
      const line = new RegExp(`^svc_ratelimit_throttled_total\\{.*api="${api}",kind="${kind}".*\\} (\\d+)$`, 'm')
      return Number(line.exec(text)?.[1] ?? 0)
    },
  }
}

/** Status and code of what a client of the SDK gets. */
async function told(sent: Promise<unknown>): Promise<string> {
  try {
    await sent
    return 'ok'
  } catch (error) {
    const { name, $metadata, $response } = error as S3ServiceException
    const seconds = $response?.headers['retry-after']
    return `${$metadata.httpStatusCode} ${name}${seconds === undefined ? '' : ` ${seconds}`}`
  }
}

t.test('S3, in the header', async t => {
  const { clients, wait, throttled } = await start(t)
  const [guesser, ada, nobody] = [
    clients.as({ accessKey: 'ada', secretKey: 'wrong-secret' }),
    clients.as({ accessKey: 'ada', secretKey: userSecret }),
    clients.as({ accessKey: 'nobody', secretKey: 'wrong-secret' }),
  ]
  const list = (client: typeof ada) => told(client.send(new ListBucketsCommand({})))
  for (let n = 0; n < wrongPerKeyMax; n++) {
    const answer = await list(guesser)
    if (answer !== '403 SignatureDoesNotMatch') t.fail(`${answer} of wrong signature ${n + 1}`)
    if (n < 3) t.equal(await list(ada), 'ok')
    if (n < 3) t.equal(await list(nobody), '403 InvalidAccessKeyId')
  }
  t.equal(await list(guesser), '503 SlowDown 60')
  t.equal(await list(ada), '503 SlowDown 60', 'also if it is right')
  t.equal(await list(nobody), '403 InvalidAccessKeyId', 'another key')
  t.equal(await throttled('s3', 'user'), 2)
  wait(61)
  t.equal(await list(ada), 'ok')
  t.equal(await list(guesser), '403 SignatureDoesNotMatch')
})

t.test('S3, presigned; every client by its address behind a trusted proxy', async t => {
  const { presigned, wait } = await start(t)
  for (let n = 0; n < wrongPerKeyMax; n++) {
    const { status, code } = await presigned('wrong-secret')
    if (code !== 'SignatureDoesNotMatch') t.fail(`${status} ${code} of wrong signature ${n + 1}`)
  }
  t.match(await presigned('wrong-secret'), { status: 503, code: 'SlowDown', retryAfter: '60' })
  t.match(await presigned(userSecret), { status: 503, code: 'SlowDown', retryAfter: '60' })
  t.match(await presigned(userSecret, '192.0.2.2'), { status: 404, code: 'NoSuchKey' })
  wait(60)
  t.match(await presigned(userSecret), { status: 404, code: 'NoSuchKey' })
})

t.test('S3, forms of both versions', async t => {
  const { endpoint, signed, plain, nowMs } = await start(t)
  const settings = { settings: { signature_v2: 'on' } }
  t.match(await signed({ method: 'PATCH', path: '/api/v1/config/api', body: settings }), rightAnswer)
  const post = async (fields: Readonly<Record<string, string>>, address: string) => {
    const body = new FormData()
    for (const [name, value] of Object.entries({ key: 'a', ...fields })) body.append(name, value)
    body.append('file', new Blob(['text']))
    return plain(await fetch(`${endpoint}/photos`, { method: 'POST', body, headers: { 'x-forwarded-for': address } }))
  }
  const expiration = new Date(nowMs() + 3_600_000).toISOString()
  const policy = JSON.stringify({ expiration, conditions: [['starts-with', '$', '']] })
  const encoded = Buffer.from(policy).toString('base64')
  const ways = {
    '192.0.2.4': (secret: string) => signPolicy({ accessKey: 'ada', secret, region: 'us-east-1' }, policy, nowMs()),
    '192.0.2.5': (secret: string) => ({
      policy: encoded,
      AWSAccessKeyId: 'ada',
      signature: createHmac('sha1', secret).update(encoded).digest('base64'),
    }),
  }
  for (const [address, sign] of Object.entries(ways)) {
    for (let n = 0; n < wrongPerKeyMax; n++) {
      const { status, code } = await post(sign('wrong-secret'), address)
      if (code !== 'SignatureDoesNotMatch') t.fail(`${status} ${code} of wrong signature ${n + 1}`)
    }
    t.match(await post(sign(userSecret), address), { status: 503, code: 'SlowDown', retryAfter: '60' }, address)
  }
})

t.test('requests to STS', async t => {
  const { endpoint, plain, nowMs } = await start(t)
  const body = 'Action=GetCallerIdentity&Version=2011-06-15'
  const ask = async (secret: string) => {
    const given = { 'content-type': 'application/x-www-form-urlencoded' }
    const { host } = new URL(endpoint)
    const { headers } = signRequest(
      { accessKey: 'ada', secret, region: 'us-east-1', service: 'sts' },
      { method: 'POST', host, path: '/', query: '', headers: given, payload: Buffer.from(body), nowMs: nowMs() },
    )
    return plain(await fetch(endpoint, { method: 'POST', body, headers: { ...given, ...headers } }))
  }
  t.match(await ask(userSecret), { status: 200 })
  for (let n = 0; n < wrongPerKeyMax; n++) {
    const { status, code } = await ask('wrong-secret')
    if (code !== 'SignatureDoesNotMatch') t.fail(`${status} ${code} of wrong signature ${n + 1}`)
  }
  t.match(await ask(userSecret), { status: 503, code: 'SlowDown', retryAfter: '60' })
})

t.test('the Admin API: unknown keys and what is no wrong signature count for no key', async t => {
  const { signedBy, login, throttled, wait, clients } = await start(t)
  const info = { path: '/api/v1/info', headers: { 'x-forwarded-for': '192.0.2.7' } }
  const [ada, guesser, nobody] = [
    signedBy('ada', userSecret),
    signedBy('ada', 'wrong-secret'),
    signedBy('nobody', 'wrong-secret'),
  ]
  for (let n = 0; n < wrongPerKeyMax - 1; n++) {
    const { status } = await guesser(info)
    if (status !== 401) t.fail(`${status} of wrong signature ${n + 1}`)
    if ((await nobody(info)).status !== 401) t.fail('an unknown key is another one')
  }
  t.match(await ada(info), rightAnswer)
  t.match(await guesser(info), { status: 401, json: { code: 'invalid_credentials' } })
  for (const refused of [await guesser(info), await ada(info)]) {
    t.match(refused, { status: 429, json: { code: 'too_many_requests' } })
    t.equal(refused.headers['retry-after'], '60')
  }
  t.equal(await throttled('admin', 'user'), 2)
  t.match(await ada({ path: '/api/v1/info' }), rightAnswer, 'another address')
  t.match(await (await login()).call(info), rightAnswer, 'a session has no signature')

  const left = wrongPerNetworkMax[64] - 2 * wrongPerKeyMax + 1
  for (let n = 0; n < left; n++) {
    const { status } = await nobody(info)
    if (status !== 401) t.fail(`${status} of request ${n + 1} with an unknown key`)
  }
  t.match(await nobody(info), { status: 429, json: { code: 'too_many_requests' } })
  t.ok((await throttled('admin', 'ip')) > 0)
  const s3 = clients.as({ accessKey: 'ada', secretKey: userSecret })
  t.equal(await told(s3.send(new HeadBucketCommand({ Bucket: 'photos' }))), 'ok')
  wait(60)
  t.match(await ada(info), rightAnswer)
})
