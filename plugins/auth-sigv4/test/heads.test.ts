import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { CatalogError } from 'svc/kernel'
import t from 'tap'
import { presignUrl, signPolicy, signRequest } from '../api.ts'
import { createAuthSigv4 } from '../auth-sigv4.ts'
import { emptySha256, parseQuery } from '../canonical.ts'
import { checkRegion } from '../config.ts'
import { formatAmzDate, parseAmzDate } from '../date.ts'
import { asSent } from '../head.ts'
import { parsePresentedCredential } from '../presented-credential.ts'
import { createVerifier, knownCredentialsMax, otherReadingsCharsMax, otherReadingsParametersMax } from '../verifier.ts'
import { accessKey, outcome, received, region, secretKey, signer, startAuth } from './fixture.ts'

const nowMs = Date.UTC(2026, 6, 1, 12, 30, 15)
const auth = await startAuth(nowMs)
const host = 'storage.example.org'
const minutes = 60_000

type Headers = Record<string, string>

const signed = (changes: Partial<Parameters<typeof signRequest>[1]> = {}, by = signer): Headers => ({
  ...signRequest(by, { method: 'GET', host, path: '/bucket/key', nowMs, ...changes }).headers,
})

const failure = (call: () => unknown): CatalogError => {
  try {
    call()
  } catch (error) {
    assert.ok(error instanceof CatalogError, inspect(error))
    return error
  }
  return assert.fail('was accepted')
}

const of = (headers: Headers, target = '/bucket/key', method = 'GET') =>
  outcome(() => auth.authenticate(received(method, target, headers)))
const failureOf = (headers: Headers, target = '/bucket/key', method = 'GET') =>
  failure(() => auth.authenticate(received(method, target, headers)))

t.test('a request without a signature is anonymous, and the form of its body is read', async () => {
  const plain = auth.authenticate(received('GET', '/bucket/key?prefix=X-Amz-Signature', { host }))
  assert.deepEqual([plain.identity, plain.method, plain.payload], [undefined, 'anonymous', { kind: 'unsigned' }])
  assert.equal(plain.createDecoder(), undefined)
  assert.equal(auth.authenticate(received('GET', '/', { host, authorization: '' })).method, 'anonymous')
  const digest = auth.authenticate(received('PUT', '/', { host, 'x-amz-content-sha256': emptySha256 }))
  assert.equal(
    outcome(() => digest.createDecoder()!.end()),
    'accepted',
  )
  const chunks = auth.authenticate(
    received('PUT', '/', { host, 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' }),
  )
  assert.equal(
    outcome(() => chunks.createDecoder()),
    'InvalidRequest 400',
  )
})

t.test('a signed request is accepted within fifteen minutes and not beyond', async () => {
  for (const [offsetMs, expected] of [
    [0, 'accepted'],
    [15 * minutes, 'accepted'],
    [-15 * minutes, 'accepted'],
    [15 * minutes + 1000, 'RequestTimeTooSkewed 403'],
    [-15 * minutes - 1000, 'RequestTimeTooSkewed 403'],
  ] as const) {
    assert.equal(of(signed({ nowMs: nowMs + offsetMs })), expected, String(offsetMs))
  }
  assert.deepEqual(failureOf(signed({ nowMs: nowMs - 3600_000 })).extra, {
    RequestTime: '20260701T113015Z',
    ServerTime: '2026-07-01T12:30:15Z',
    MaxAllowedSkewMilliseconds: '900000',
  })
})

t.test('the time comes from x-amz-date, or else from Date', async () => {
  const { 'x-amz-date': _, ...rest } = signed()
  assert.equal(of(rest), 'AccessDenied 403')
  for (const bad of ['', 'yesterday', '20260701T123015', '20261301T123015Z', '2026070112:3015Z', '20260701T123015Zx']) {
    assert.equal(of({ ...signed(), 'x-amz-date': bad }), 'AccessDenied 403', bad)
  }
  assert.equal(of({ ...rest, date: 'not a date' }), 'AccessDenied 403')
  // Signed by hand with the header `date`, like old clients.
  const { provider } = createAuthSigv4({
    iam: { credentials: () => undefined, sessionCredentials: () => 'invalid' },
    clock: { now: () => nowMs, monotonicNs: () => 0n, after: () => () => {} },
    region,
  })
  // The error about the access key comes after the check of the time: both formats of Date are accepted.
  for (const date of ['Wed, 01 Jul 2026 12:30:15 GMT', '20260701T123015Z']) {
    assert.equal(
      outcome(() => provider.authenticate(received('GET', '/', { ...rest, date }))),
      'InvalidAccessKeyId 403',
    )
  }
})

t.test('a malformed Authorization header gets an error with the problem and the expected region', async () => {
  const { authorization = '', ...rest } = signed()
  const swap = (from: string | RegExp, to: string) =>
    failureOf({ ...rest, authorization: authorization.replace(from, to) })
  const malformed = 'AuthorizationHeaderMalformed'
  const wrongRegion = swap('us-east-1', 'eu-west-1')
  assert.equal(wrongRegion.code, malformed)
  assert.equal(wrongRegion.status, 400)
  assert.equal(
    wrongRegion.message,
    "The authorization header is malformed; the region 'eu-west-1' is wrong; expecting 'us-east-1'",
  )
  assert.deepEqual(wrongRegion.extra, { Region: 'us-east-1' })
  for (const [from, to] of [
    ['/s3/', '/sts/'],
    ['aws4_request', 'aws4'],
    ['20260701/', '2026-07-01/'],
    ['20260701/', '20260702/'],
    [`${accessKey}/`, ''],
    [accessKey, ''],
    ['Credential=', 'Credentials='],
    ['SignedHeaders=', 'SignedHeaders=host, SignedHeaders='],
    ['SignedHeaders=host;', 'SignedHeaders=Host;'],
    ['SignedHeaders=host;', 'SignedHeaders=host;host;'],
    ['SignedHeaders=host;', 'SignedHeaders=;host;'],
    [/, Signature=.*/, ''],
    [/Credential=[^,]*, /, ''],
    [/Signature=.*/, 'Signature='],
    [/ .*/, ''],
  ] as const) {
    assert.equal(swap(from, to).code, malformed, `${from} -> ${to}`)
  }
})

t.test('other schemes get errors of their own, and the text after the scheme is never repeated', async () => {
  const of = (authorization: string) => failureOf({ ...signed(), authorization })
  assert.equal(of('AWS AKIAIOSFODNN7EXAMPLE:frJIUN8DYpKDtOLCwo=').code, 'InvalidRequest')
  assert.match(of('AWS a:b').message, /Please use AWS4-HMAC-SHA256/)
  assert.equal(of('AWS4-ECDSA-P256-SHA256 Credential=a').status, 501)
  for (const authorization of ['Basic cm9vdDpodW50ZXIy', 'Bearer cm9vdDpodW50ZXIy', 'cm9vdDpodW50ZXIy']) {
    const error = of(authorization)
    assert.equal(error.code, 'InvalidArgument')
    assert.equal(inspect(error).includes('cm9vdDpodW50ZXIy'), false)
  }
  assert.equal(
    outcome(() => auth.authenticate(received('GET', '/b?AWSAccessKeyId=a&Expires=1&Signature=b', { host }))),
    'InvalidRequest 400',
  )
})

t.test('two mechanisms at once are refused', async () => {
  const url = new URL(
    presignUrl(signer, { method: 'GET', url: `http://${host}/bucket/key`, expiresSeconds: 60, nowMs }),
  )
  assert.equal(of(signed(), url.pathname + url.search), 'InvalidArgument 400')
})

t.test(
  'an unknown access key and a wrong secret get different errors, and no error has the right signature',
  async () => {
    const unknown = failureOf(signed({}, { ...signer, accessKey: 'AKIAOTHER' }))
    assert.equal(unknown.code, 'InvalidAccessKeyId')
    assert.equal(unknown.status, 403)
    assert.deepEqual(unknown.extra, { AWSAccessKeyId: 'AKIAOTHER' })

    const right = signed()
    const rightSignature = right.authorization!.slice(-64)
    const wrong = signed({}, { ...signer, secret: 'another secret key' })
    const error = failureOf(wrong)
    assert.equal(error.code, 'SignatureDoesNotMatch')
    assert.equal(error.status, 403)
    assert.deepEqual(Object.keys(error.extra!), [
      'AWSAccessKeyId',
      'StringToSign',
      'SignatureProvided',
      'CanonicalRequest',
    ])
    assert.equal(error.extra!.SignatureProvided, wrong.authorization!.slice(-64))
    assert.equal(
      error.extra!.CanonicalRequest,
      `GET\n/bucket/key\n\nhost:${host}\nx-amz-content-sha256:${emptySha256}\nx-amz-date:20260701T123015Z\n\nhost;x-amz-content-sha256;x-amz-date\n${emptySha256}`,
    )
    assert.match(
      error.extra!.StringToSign!,
      /^AWS4-HMAC-SHA256\n20260701T123015Z\n20260701\/us-east-1\/s3\/aws4_request\n[0-9a-f]{64}$/,
    )
    const shown = inspect(error, { depth: 10 })
    assert.equal(shown.includes(rightSignature), false)
    assert.equal(shown.includes(secretKey), false)
  },
)

t.test('secrets in signed headers stay out of the error', async () => {
  const headers = signed({
    headers: {
      'x-amz-server-side-encryption-customer-key': 'c2VjcmV0LWN1c3RvbWVyLWtleQ==',
      'x-amz-copy-source-server-side-encryption-customer-key': 'c2VjcmV0LXNvdXJjZS1rZXk=',
      cookie: 'session=c2VjcmV0',
    },
  })
  assert.equal(of(headers), 'accepted')
  const shown = inspect(
    failureOf({ ...headers, authorization: headers.authorization!.replace(/.$/, c => (c === '0' ? '1' : '0')) }),
    {
      depth: 10,
    },
  )
  assert.match(shown, /customer-key:<redacted>/)
  assert.equal(shown.includes('c2VjcmV0'), false)
})

t.test('keys of customers in a presigned query stay out of the error, in any spelling of their names', async () => {
  const key = 'x-amz-server-side-encryption-customer-key'
  for (const name of [
    key,
    `${key}-md5`,
    `x-amz-copy-source${key.slice(5)}`,
    key.replace('key', '%6bey').toUpperCase(),
  ]) {
    const headers = signed({ headers: { [decodeURIComponent(name).toLowerCase()]: 'c2VjcmV0' } })
    const inHeader = { ...headers, authorization: headers.authorization!.replace(/.{4}$/, 'dead') }
    assert.equal(inspect(failureOf(inHeader), { depth: 10 }).includes('c2VjcmV0'), false, `${name} as a header`)
    const target = `${presigned()}&${name}=c2VjcmV0&versionId=v1`
    const error = failureOf({ host }, target)
    assert.equal(error.code, 'SignatureDoesNotMatch')
    assert.equal(inspect(error, { depth: 10 }).includes('c2VjcmV0'), false, name)
    assert.match(error.extra!.CanonicalRequest!, /=<redacted>&|=<redacted>\n/)
    assert.match(error.extra!.CanonicalRequest!, /versionId=v1/, 'the others are shown')
  }
})

t.test('the signature covers every part of the head', async () => {
  const headers = signed({ headers: { range: 'bytes=0-9', 'x-amz-meta-a': 'one' }, query: 'partNumber=1&uploadId=a' })
  const target = '/bucket/key?partNumber=1&uploadId=a'
  assert.equal(of(headers, target), 'accepted')
  // The order of parameters is not covered.
  assert.equal(of(headers, '/bucket/key?uploadId=a&partNumber=1'), 'accepted')
  const no = 'SignatureDoesNotMatch 403'
  assert.equal(of(headers, target, 'PUT'), no)
  assert.equal(of(headers, target.replace('key', 'Key')), no)
  assert.equal(of(headers, target.replace('key', 'x/../key')), no)
  assert.equal(of(headers, target.replace('/key', '//key')), no)
  assert.equal(of(headers, target.replace('=1', '=2')), no)
  assert.equal(of(headers, `${target}&x-id=GetObject`), no)
  assert.equal(of(headers, '/bucket/key?partNumber=1'), no)
  assert.equal(of({ ...headers, host: 'other.example.org' }, target), no)
  assert.equal(of({ ...headers, range: 'bytes=0-10' }, target), no)
  assert.equal(of({ ...headers, 'x-amz-date': formatAmzDate(nowMs + 1000) }, target), no)
  assert.equal(of({ ...headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }, target), no)
  const { range: _, ...withoutRange } = headers
  assert.equal(of(withoutRange, target), no)
  for (const signature of ['', '0', 'g'.repeat(64), '0'.repeat(64), '0'.repeat(63), '0'.repeat(66)]) {
    const authorization = headers.authorization!.replace(/Signature=.*/, `Signature=${signature}`)
    assert.notEqual(of({ ...headers, authorization }, target), 'accepted', signature)
  }
})

t.test('an x-amz header that is not signed is refused by name', async () => {
  const error = failureOf({ ...signed(), 'x-amz-acl': 'public-read', 'x-amz-meta-a': 'b' })
  assert.equal(error.code, 'AccessDenied')
  assert.equal(error.status, 403)
  assert.deepEqual(error.extra, { HeadersNotSigned: 'x-amz-acl, x-amz-meta-a' })
  // A missing signed header does not compensate for an unsigned one.
  const { 'x-amz-meta-a': _, ...without } = signed({ headers: { 'x-amz-meta-a': 'b' } })
  assert.equal(failureOf({ ...without, 'x-amz-acl': 'public-read' }).code, 'AccessDenied')
  assert.equal(failureOf(without).code, 'SignatureDoesNotMatch')
  // Headers that a CDN adds have no meaning in S3.
  assert.equal(of({ ...signed(), 'x-amz-cf-id': 'abc', 'user-agent': 'anything' }), 'accepted')
  const url = new URL(
    presignUrl(signer, { method: 'PUT', url: `http://${host}/bucket/key`, expiresSeconds: 60, nowMs }),
  )
  const target = url.pathname + url.search
  assert.equal(of({ host }, target, 'PUT'), 'accepted')
  assert.equal(of({ host, 'x-amz-acl': 'public-read' }, target, 'PUT'), 'AccessDenied 403')
  assert.equal(of({ host, 'content-type': 'text/plain' }, target, 'PUT'), 'accepted')
})

t.test('the host must be signed', async () => {
  const headers = signed()
  const authorization = headers.authorization!.replace('SignedHeaders=host;', 'SignedHeaders=')
  assert.deepEqual(failureOf({ ...headers, authorization }).extra, { HeadersNotSigned: 'host' })
})

t.test('names of inherited properties are no headers', async () => {
  for (const name of ['constructor', '__proto__', 'tostring', 'hasownproperty']) {
    const headers = signed()
    const authorization = headers.authorization!.replace('SignedHeaders=host;', `SignedHeaders=${name};host;`)
    assert.equal(of({ ...headers, authorization }), 'SignatureDoesNotMatch 403', name)
  }
})

t.test('x-amz-content-sha256 is required and must have one of its forms', async () => {
  const { 'x-amz-content-sha256': _, ...without } = signed()
  assert.equal(failureOf(without).message, 'Missing required header for this request: x-amz-content-sha256')
  assert.equal(of(without), 'InvalidRequest 400')
  for (const payload of ['', 'unsigned-payload', 'a'.repeat(63), 'g'.repeat(64), 'STREAMING-PAYLOAD', 'constructor']) {
    const expected = payload === '' ? 'InvalidRequest 400' : 'InvalidArgument 400'
    assert.equal(of(signed({ payload })), expected, payload)
  }
  assert.equal(of(signed({ payload: 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD' })), 'NotImplemented 501')
  assert.equal(of(signed({ payload: 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER' })), 'NotImplemented 501')
  const form = (payload: string) => auth.authenticate(received('GET', '/bucket/key', signed({ payload }))).payload
  assert.deepEqual(form('UNSIGNED-PAYLOAD'), { kind: 'unsigned' })
  assert.deepEqual(form('AB'.repeat(32)), { kind: 'sha256', hex: 'ab'.repeat(32) })
  assert.deepEqual(form('STREAMING-UNSIGNED-PAYLOAD-TRAILER'), { kind: 'chunked', signed: false, trailer: true })
  assert.deepEqual(form('STREAMING-AWS4-HMAC-SHA256-PAYLOAD'), { kind: 'chunked', signed: true, trailer: false })
  assert.deepEqual(form('STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'), { kind: 'chunked', signed: true, trailer: true })
})

t.test('a forged token is refused, in a header and in a query', async () => {
  assert.equal(of(signed({ headers: { 'x-amz-security-token': 'token' } })), 'InvalidToken 400')
  const url = `http://${host}/bucket/key?X-Amz-Security-Token=token`
  const presigned = new URL(presignUrl(signer, { method: 'GET', url, expiresSeconds: 60, nowMs }))
  assert.equal(of({ host }, presigned.pathname + presigned.search), 'InvalidToken 400')
})

t.test('clients that differ in escapes, the host or repeated headers are accepted', async () => {
  // [signed, sent]
  for (const [path, sent] of [
    ['/bucket/a%20b', '/bucket/a b'],
    ['/bucket/%C3%A9%2B%28%29', '/bucket/%c3%a9+()'],
    ['/bucket/a%2Fb', '/bucket/a%2Fb'],
    ['/bucket/a/b', '/bucket/a%2Fb'],
    ['/bucket/~', '/bucket/%7E'],
    ['/bucket/100%25', '/bucket/100%'],
    ['/bucket/%FF', '/bucket/%ff'],
    ['/bucket/%E9', '/bucket/\xe9'],
    ['/bucket/a b', '/bucket/a b'],
  ] as const) {
    assert.equal(of(signed({ path }), sent), 'accepted', sent)
  }
  for (const [query, sent] of [
    ['prefix=a%20b', 'prefix=a+b'],
    ['prefix=a%2Bb', 'prefix=a%2bb'],
    ['prefix=a%2Fb', 'prefix=a/b'],
    ['prefix=a+b', 'prefix=a+b'],
    ['a=&b=', '&&b&a=&'],
    ['a-b=1&a=2', 'a=2&a-b=1'],
    ['a=1&a=2', 'a=2&a=1'],
    ['a=1&a-b=2&a%3D=3', 'a%3d=3&a-b=2&a=1'],
  ] as const) {
    assert.equal(of(signed({ query }), `/bucket/key?${sent}`), 'accepted', sent)
  }
  // Very long queries must be sent as they were signed.
  for (const [count, expected] of [
    [otherReadingsParametersMax, 'accepted'],
    [otherReadingsParametersMax + 1, 'SignatureDoesNotMatch 403'],
  ] as const) {
    const query = Array.from({ length: count }, (_, i) => `p${i}=%2F`).join('&')
    assert.equal(of(signed({ query }), `/bucket/key?${query}`), 'accepted')
    assert.equal(of(signed({ query }), `/bucket/key?${query.replaceAll('%2F', '/')}`), expected)
  }
  // For long heads, too: the first variant is tried at any length, others only up to their common bound.
  for (const [length, expected] of [
    [1000, 'accepted'],
    [otherReadingsCharsMax, 'SignatureDoesNotMatch 403'],
  ] as const) {
    const query = `p=%2F${'x'.repeat(length)}`
    assert.equal(of(signed({ query }), `/bucket/key?${query}`), 'accepted')
    assert.equal(of(signed({ query }), `/bucket/key?${query.replace('%2F', '/')}`), expected)
  }
  for (const [name, sent] of [
    [`${host}:80`, host],
    [`${host}:443`, host],
    [host, `${host}:443`],
    [host, `${host}:80`],
    ['[::1]:80', '[::1]'],
    ['[::1]', '[::1]:443'],
    ['Storage.Example.ORG', 'Storage.Example.ORG'],
  ] as const) {
    assert.equal(of({ ...signed({ host: name }), host: sent }), 'accepted', `${name} as ${sent}`)
  }
  assert.equal(of({ ...signed({ host: `${host}:9000` }), host }), 'SignatureDoesNotMatch 403')
  assert.equal(of({ ...signed({ host: '[::1]:8' }), host: '[::1]' }), 'SignatureDoesNotMatch 403')
  // Behind a trusted proxy the host of the client counts, not that of the proxy.
  const forwarded = { ...received('GET', '/bucket/key', { ...signed(), host: 'internal:9000' }), host }
  assert.equal(
    outcome(() => auth.authenticate(forwarded)),
    'accepted',
  )
  const internal = { ...received('GET', '/bucket/key', signed({ host: 'internal:9000' })), host }
  assert.equal(
    outcome(() => auth.authenticate(internal)),
    'SignatureDoesNotMatch 403',
  )

  const repeated: Headers = { ...signed({ headers: { 'x-amz-meta-a': 'one,two' } }), 'x-amz-meta-a': 'one, two' }
  const raw = ['Host', host, 'X-Amz-Meta-A', 'one', 'x-amz-meta-a', ' two ']
  assert.equal(
    outcome(() => auth.authenticate(received('GET', '/bucket/key', repeated))),
    'SignatureDoesNotMatch 403',
  )
  const rawHeaders = [...raw, ...['x-amz-date', 'x-amz-content-sha256'].flatMap(name => [name, repeated[name]!])]
  assert.equal(
    outcome(() => auth.authenticate(received('GET', '/bucket/key', repeated, rawHeaders))),
    'accepted',
  )
  // A single header with a space in its value is a different value.
  const once = rawHeaders.filter((_, i) => i !== 4 && i !== 5).map(value => (value === 'one' ? 'one, two' : value))
  assert.equal(
    outcome(() => auth.authenticate(received('GET', '/bucket/key', repeated, once))),
    'SignatureDoesNotMatch 403',
  )

  // Node.js decodes bytes as latin1; the client signed UTF-8, or characters.
  const bytes = Buffer.from('Zürich', 'utf8').toString('latin1')
  assert.equal(of(signed({ headers: { 'x-amz-meta-place': bytes } })), 'accepted')
  const endsInA0 = Buffer.from('voilà  là', 'utf8').toString('latin1')
  const cut = { ...signed({ headers: { 'x-amz-meta-place': endsInA0 } }), 'x-amz-meta-place': endsInA0.slice(0, -1) }
  assert.equal(of(signed({ headers: { 'x-amz-meta-place': endsInA0 } })), 'accepted')
  assert.equal(of(cut), 'SignatureDoesNotMatch 403')
  assert.equal(
    of({ ...signed({ headers: { 'x-amz-meta-place': '  a   b ' } }), 'x-amz-meta-place': 'a b' }),
    'accepted',
  )
})

const presigned = (changes: Partial<Parameters<typeof presignUrl>[1]> = {}, by = signer) => {
  const url = presignUrl(by, { method: 'GET', url: `http://${host}/bucket/key`, expiresSeconds: 60, nowMs, ...changes })
  return url.slice(`http://${host}`.length)
}

t.test('a presigned request is valid from its date until it expires', async () => {
  for (const [offsetMs, expiresSeconds, expected] of [
    [0, 1, 'accepted'],
    [-1000, 1, 'accepted'],
    [-2000, 1, 'AccessDenied 403'],
    [-604_800_000, 604_800, 'accepted'],
    [-604_801_000, 604_800, 'AccessDenied 403'],
    [15 * minutes, 60, 'accepted'],
    [15 * minutes + 1000, 60, 'AccessDenied 403'],
  ] as const) {
    assert.equal(
      of({ host }, presigned({ nowMs: nowMs + offsetMs, expiresSeconds })),
      expected,
      `${offsetMs} ${expiresSeconds}`,
    )
  }
  const expired = failureOf({ host }, presigned({ nowMs: nowMs - 61_000 }))
  assert.equal(expired.message, 'Request has expired')
  assert.deepEqual(expired.extra, {
    'X-Amz-Expires': '60',
    Expires: '2026-07-01T12:30:14Z',
    ServerTime: '2026-07-01T12:30:15Z',
  })
  assert.equal(failureOf({ host }, presigned({ nowMs: nowMs + 3600_000 })).message, 'Request is not yet valid')
})

t.test('parameters of a presigned request that are missing, repeated or out of bounds are refused', async () => {
  const target = presigned()
  const parameters = target.slice(target.indexOf('?') + 1).split('&')
  const code = 'AuthorizationQueryParametersError 400'
  for (const parameter of parameters) {
    const rest = parameters.filter(other => other !== parameter).join('&')
    assert.equal(of({ host }, `/bucket/key?${rest}`), code, `without ${parameter}`)
    assert.equal(of({ host }, `${target}&${parameter}`), code, `${parameter} twice`)
  }
  for (const [name, value] of [
    ['Algorithm', 'AWS4-HMAC-SHA512'],
    ['Expires', '0'],
    ['Expires', '-1'],
    ['Expires', '604801'],
    ['Expires', '60s'],
    ['Expires', '1e3'],
    ['Expires', '9'.repeat(30)],
    ['Date', '2026-07-01T12:30:15Z'],
    ['Date', '20260702T123015Z'],
    ['Credential', `${accessKey}%2F20260701%2Feu-west-1%2Fs3%2Faws4_request`],
    ['Credential', 'a'],
    ['SignedHeaders', 'host%3Bhost'],
  ] as const) {
    const changed = target.replace(new RegExp(`(X-Amz-${name}=)[^&]*`), `$1${value}`)
    assert.notEqual(changed, target)
    assert.equal(of({ host }, changed), code, `${name}=${value}`)
  }
  assert.equal(of({ host }, target.replace('AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256')), 'NotImplemented 501')
  assert.equal(
    failureOf({ host }, target.replace('us-east-1', 'eu-west-1')).message,
    "Error parsing the X-Amz-Credential parameter; the region 'eu-west-1' is wrong; expecting 'us-east-1'",
  )
})

t.test('a presigned URL with an added parameter is refused', async () => {
  assert.equal(of({ host }, `${presigned()}&v=2`), 'SignatureDoesNotMatch 403')
  assert.equal(of({ host }, presigned().replace('?', '?v=2&')), 'SignatureDoesNotMatch 403')
  assert.equal(of({ host }, presigned({ url: `http://${host}/bucket/key?v=2` })), 'accepted')
  assert.equal(of({ host }, presigned({}, { ...signer, accessKey: 'AKIAOTHER' })), 'InvalidAccessKeyId 403')
  assert.equal(of({ host }, presigned({}, { ...signer, secret: 'another secret' })), 'SignatureDoesNotMatch 403')
  assert.equal(of({ host }, presigned({ headers: { 'x-amz-acl': 'private' } })), 'SignatureDoesNotMatch 403')
  assert.equal(of({ host, 'x-amz-acl': 'private' }, presigned({ headers: { 'x-amz-acl': 'private' } })), 'accepted')
})

t.test('the usual presigned request is verified at the first attempt', async () => {
  const target = presigned()
  const request = received('GET', target, { host })
  const parameters = parseQuery(request.rawQuery)
  const signatureParameter = parameters.find(({ name }) => name === 'X-Amz-Signature')!
  const presented = parsePresentedCredential(
    `${accessKey}/20260701/us-east-1/s3/aws4_request`,
    'host',
    region,
    assert.fail,
  )
  const first = asSent({ request, presented, parameters, signatureParameter, payloads: ['UNSIGNED-PAYLOAD'] })
  assert.equal(
    first,
    `GET\n/bucket/key\n${request.rawQuery.replace(`&${signatureParameter.pair}`, '')}\nhost:${host}\n\nhost\nUNSIGNED-PAYLOAD`,
  )
})

t.test('the holder of a presigned URL may restrict the body further, but not less', async () => {
  const form = (target: string, contentSha256?: string) => {
    const headers: Headers = contentSha256 === undefined ? { host } : { host, 'x-amz-content-sha256': contentSha256 }
    try {
      return auth.authenticate(received('PUT', target, headers)).payload.kind
    } catch (error) {
      return (error as CatalogError).code
    }
  }
  const put = { method: 'PUT' }
  const withUnsigned = presigned({ ...put, url: `http://${host}/bucket/key?X-Amz-Content-Sha256=UNSIGNED-PAYLOAD` })
  for (const target of [presigned(put), withUnsigned]) {
    assert.equal(form(target), 'unsigned')
    assert.equal(form(target, 'UNSIGNED-PAYLOAD'), 'unsigned')
    assert.equal(form(target, emptySha256), 'sha256')
    assert.equal(form(target, 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'), 'chunked')
    assert.equal(form(target, 'nonsense'), 'InvalidArgument')
  }
  assert.equal(form(withUnsigned, 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'), 'InvalidArgument')
  const withDigest = `http://${host}/bucket/key?X-Amz-Content-Sha256=${emptySha256}`
  // Our own presigning never restricts the payload, so a parameter that does was not signed.
  assert.equal(form(presigned({ ...put, url: withDigest })), 'SignatureDoesNotMatch')
  assert.equal(form(presigned({ ...put, url: withDigest }), 'UNSIGNED-PAYLOAD'), 'InvalidArgument')
})

t.test('the signature of a POST form covers its policy', async () => {
  const fields = new Map(Object.entries(signPolicy(signer, '{"conditions":[]}', nowMs)))
  const of = (changes: Record<string, string | undefined>) =>
    outcome(() => {
      const changed = new Map(fields)
      for (const [name, value] of Object.entries(changes))
        value === undefined ? changed.delete(name) : changed.set(name, value)
      return auth.authenticateForm(changed)
    })
  assert.equal(of({}), 'accepted')
  assert.equal(auth.authenticateForm(new Map([['key', 'a']])).method, 'anonymous')
  assert.equal(of({ policy: Buffer.from('{"conditions":[ ]}').toString('base64') }), 'SignatureDoesNotMatch 403')
  assert.equal(of({ 'x-amz-signature': '0'.repeat(64) }), 'SignatureDoesNotMatch 403')
  assert.equal(of({ 'x-amz-algorithm': 'AWS4-HMAC-SHA1' }), 'InvalidRequest 400')
  assert.equal(of({ 'x-amz-algorithm': 'AWS4-ECDSA-P256-SHA256' }), 'NotImplemented 501')
  assert.equal(of({ 'x-amz-date': 'today' }), 'InvalidArgument 400')
  assert.equal(of({ 'x-amz-date': '20260702T000000Z' }), 'InvalidArgument 400')
  assert.equal(of({ 'x-amz-credential': 'a/20260701/us-east-1/s3/aws4_request' }), 'InvalidAccessKeyId 403')
  assert.equal(of({ 'x-amz-credential': 'a/20260701/eu-west-1/s3/aws4_request' }), 'InvalidArgument 400')
  assert.equal(of({ 'x-amz-security-token': 'token' }), 'InvalidToken 400')
  for (const name of fields.keys()) assert.equal(of({ [name]: undefined }), 'InvalidArgument 400', `without ${name}`)
  const old = new Map([...fields].filter(([name]) => !name.startsWith('x-amz-')))
  assert.equal(
    outcome(() => auth.authenticateForm(old.set('awsaccesskeyid', 'a').set('signature', 'b'))),
    'InvalidRequest 400',
  )
})

t.test('the cache of a verifier is bounded, and entries are dropped when credentials change', async () => {
  const credentials = {
    identity: { accessKey } as never,
    signingSecret: createSecretKey('AWS4secret', 'utf8'),
    verificationKey: createSecretKey('secret', 'utf8'),
  }
  const verifier = createVerifier()
  const presented = { credential: { accessKey, date: '20260701', region, service: 's3' } } as never
  const known = { presented, credentials, key: {} as never }
  for (let i = 0; i <= knownCredentialsMax; i++) verifier.remember(`credential ${i}`, known)
  assert.equal(verifier.recall('credential 0'), undefined)
  assert.equal(verifier.recall('credential 1'), known)
  assert.equal(verifier.recall(`credential ${knownCredentialsMax}`), known)
  verifier.remember('x'.repeat(5000), known)
  assert.equal(verifier.recall('x'.repeat(5000)), undefined)
  assert.equal(verifier.know('credential 1', known, presented, credentials), known)
  const others = { ...credentials }
  assert.equal(verifier.know('credential 1', known, presented, others).credentials, others)
  assert.equal(verifier.recall('credential 1'), undefined)
})

t.test('dates are formatted and parsed to the same value, and other texts are no dates', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) / 1000 }), seconds => {
      assert.equal(parseAmzDate(formatAmzDate(seconds * 1000)), seconds * 1000)
    }),
  )
  fc.assert(fc.property(fc.string(), text => assert.ok(Number.isNaN(parseAmzDate(text)))))
  for (const bad of [
    '2026a701T123015Z',
    '20260001T123015Z',
    '20260732T123015Z',
    '20260701T243015Z',
    '20260701t123015z',
  ]) {
    assert.ok(Number.isNaN(parseAmzDate(bad)), bad)
  }
})

t.test('any head gives a result or a catalogue error', async () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(
      'AWS4-HMAC-SHA256 ',
      'Credential=',
      `${accessKey}/20260701/us-east-1/s3/aws4_request`,
      ', ',
      ',',
      'SignedHeaders=host;x-amz-date',
      'Signature=',
      'a'.repeat(64),
      '/',
      ';',
      '=',
      '%',
    ),
  )
  const noise = fc.array(piece, { maxLength: 9 }).map(pieces => pieces.join(''))
  const parameter = fc.tuple(
    fc.constantFrom('Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders', 'Signature', 'Content-Sha256'),
    fc.oneof(noise, fc.constantFrom('AWS4-HMAC-SHA256', '20260701T123015Z', '60', 'host')),
  )
  fc.assert(
    fc.property(
      noise,
      noise,
      noise,
      fc.array(parameter, { maxLength: 8 }),
      fc.boolean(),
      (value, date, path, query, inHeader) => {
        const headers: Headers = { host, 'x-amz-content-sha256': emptySha256, 'x-amz-date': date }
        if (inHeader) headers.authorization = `AWS4-HMAC-SHA256 ${value}`
        const target = `/${path}?${query.map(([name, text]) => `X-Amz-${name}=${text}`).join('&')}`
        const result = outcome(() => {
          assert.equal(auth.authenticate(received('GET', target, headers)).identity, undefined)
        })
        if (inHeader) assert.notEqual(result, 'accepted')
      },
    ),
    { numRuns: 2000 },
  )
})

t.test('regions are lower-case names', async () => {
  for (const good of ['us-east-1', 'eu', 'a', 'home-lab']) assert.equal(checkRegion(good), undefined)
  for (const bad of ['', 'US-EAST-1', '-a', 'a-', 'a/b', 'a b', 'é', 'x'.repeat(65)]) {
    assert.match(checkRegion(bad) ?? '', /^must /, bad)
  }
})
