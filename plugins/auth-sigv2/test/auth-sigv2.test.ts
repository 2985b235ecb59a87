/** What Signature Version 2 covers, for whom it is good, and what is refused. */
import { inspect } from 'node:util'
import fc from 'fast-check'
import { isCatalogError } from 'svc/kernel'
import { presignUrl, signRequest } from 'svc/plugins/auth-sigv4/api'
import type { SignedRequest } from 'svc/plugins/iam/api'
import { authProviderContract } from 'svc/plugins/iam/contract'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { createSigv2, expiresAheadMsMax } from '../auth-sigv2.ts'
import { parseDate } from '../date.ts'
import { readParameters } from '../parameters.ts'
import { stringsToSign } from '../string-to-sign.ts'
import {
  accessKey,
  received,
  rootPassword,
  rootUser,
  secretKey,
  sessionToken,
  signText,
  startChain,
} from './fixture.ts'

const nowMs = Date.UTC(2026, 6, 1, 12, 30, 15)
const now = new Date(nowMs).toUTCString()
const iam = await startChain(nowMs)
const minutes = 60_000

type Headers = readonly (readonly [string, string])[]

interface Signing {
  readonly method?: string
  readonly target?: string
  /** What is signed of the target; default: the target. */
  readonly resource?: string
  readonly headers?: Headers
  readonly amzHeaders?: string
  readonly date?: string
  readonly key?: string
  readonly secret?: string
}

function byHeader(signing: Signing = {}): SignedRequest {
  const { method = 'GET', target = '/bucket/key', headers = [], amzHeaders = '', date = now, key = accessKey } = signing
  const text = `${method}\n\n\n${date}\n${amzHeaders}${signing.resource ?? target}`
  const authorization = `AWS ${key}:${signText(text, signing.secret)}`
  return received(method, target, [
    ['host', 'h'],
    ...(date === '' ? [] : [['date', date] as const]),
    ...headers,
    ['authorization', authorization],
  ])
}

const inAnHour = Math.floor(nowMs / 1000) + 3600

function presigned(signing: Signing & { readonly expires?: string; readonly more?: string } = {}): SignedRequest {
  const { method = 'GET', target = '/bucket/key', headers = [], amzHeaders = '', key = accessKey, more = '' } = signing
  const expires = signing.expires ?? String(inAnHour)
  const signature = signText(`${method}\n\n\n${expires}\n${amzHeaders}${signing.resource ?? target}`, signing.secret)
  const query = `AWSAccessKeyId=${encodeURIComponent(key)}&Signature=${encodeURIComponent(signature)}&Expires=${expires}${more}`
  return received(method, `${target}${target.includes('?') ? '&' : '?'}${query}`, [['host', 'h'], ...headers])
}

const form = (policy: string, changes: Readonly<Record<string, string>> = {}, secret?: string) =>
  new Map(Object.entries({ awsaccesskeyid: accessKey, policy, signature: signText(policy, secret), ...changes }))

async function outcomeOf(run: () => unknown): Promise<string> {
  try {
    await run()
    return 'accepted'
  } catch (error) {
    if (!isCatalogError(error)) throw error
    return `${error.code} ${error.status}`
  }
}
const of = (request: SignedRequest, chain = iam) => outcomeOf(() => chain.authenticate(request))
const mismatch = 'SignatureDoesNotMatch 403'

for (const [place, sign] of [
  ['header', byHeader],
  ['presigned', presigned],
] as const) {
  t.test(`${place}: the provider keeps the contract`, t =>
    authProviderContract(t, () => ({
      provider: createSigv2({ iam, clock: createFakeClock(nowMs), isOn: () => true }),
      good: () => sign(),
      wrong: () => [
        sign({ secret: 'another-secret' }),
        sign({ key: 'AKIANOBODY' }),
        sign({ key: 'AKIASHARE' }),
        sign({ key: rootUser, secret: rootPassword }),
        sign({ headers: [['x-amz-security-token', sessionToken]] }),
      ],
      secrets: [secretKey, sessionToken],
    })),
  )
}

t.test(
  'while it is off every place is refused with the name of the setting, and it can be turned on at run time',
  async t => {
    const setting = { isOn: false }
    const chain = await startChain(nowMs, setting)
    for (const run of [
      () => chain.authenticate(byHeader()),
      () => chain.authenticate(presigned()),
      () => chain.authenticateForm(form('e30=')),
    ]) {
      setting.isOn = false
      t.throws(run, {
        code: 'InvalidRequest',
        status: 400,
        title: 'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.',
        message: /api\.signature_v2=on/,
      })
      setting.isOn = true
      t.equal(await outcomeOf(run), 'accepted')
    }
  },
)

t.test('the time is that of x-amz-date, or else of Date, within fifteen minutes', async t => {
  for (const [offsetMs, expected] of [
    [15 * minutes, 'accepted'],
    [-15 * minutes, 'accepted'],
    [15 * minutes + 1000, 'RequestTimeTooSkewed 403'],
    [-15 * minutes - 1000, 'RequestTimeTooSkewed 403'],
  ] as const) {
    const date = new Date(nowMs + offsetMs).toUTCString()
    t.equal(await of(byHeader({ date })), expected)
    const amz = { date: '', headers: [['x-amz-date', date]] as Headers, amzHeaders: `x-amz-date:${date}\n` }
    t.equal(await of(byHeader(amz)), expected)
    // A proxy may put in a Date: the line of the string to sign stays empty.
    t.equal(await of(byHeader({ ...amz, headers: [...amz.headers, ['date', new Date(0).toUTCString()]] })), expected)
  }
  t.equal(await of(byHeader({ date: '' })), 'AccessDenied 403')
  t.equal(await of(byHeader({ date: 'yesterday' })), 'AccessDenied 403')
})

t.test('dates are those of HTTP and of ISO 8601, with a zone', t => {
  for (const text of [
    'Wed, 01 Jul 2026 12:30:15 GMT',
    'Wed, 01 Jul 2026 12:30:15 +0000',
    'Wed, 01 Jul 2026 14:30:15 +0200',
    '1 Jul 2026 12:30:15 UTC',
    'Wednesday, 01-Jul-26 12:30:15 GMT',
    '20260701T123015Z',
  ]) {
    t.equal(parseDate(text), nowMs, text)
  }
  for (const text of ['', 'now', '2026', 'Wed, 01 Jul 2026 12:30:15', '20261301T123015Z', '1751373015', '2026-07-01']) {
    t.ok(Number.isNaN(parseDate(text)), text)
  }
  t.end()
})

t.test('a link is good until Expires, which is at most seven days ahead', async t => {
  const seconds = Math.floor(nowMs / 1000)
  for (const [expires, expected] of [
    [String(seconds - 1), 'AccessDenied 403'],
    [String(seconds), 'accepted'],
    [String(seconds + expiresAheadMsMax / 1000), 'accepted'],
    [String(seconds + expiresAheadMsMax / 1000 + 1), 'AccessDenied 403'],
    ['9999999999', 'AccessDenied 403'],
    ['1e9', 'AccessDenied 403'],
    ['-1', 'AccessDenied 403'],
    [new Date(nowMs + 60_000).toISOString(), 'AccessDenied 403'],
  ] as const) {
    t.equal(await of(presigned({ expires })), expected, expires)
  }
  t.throws(() => iam.authenticate(presigned({ expires: String(seconds - 1) })), { message: 'Request has expired' })
  for (const gone of ['Signature', 'Expires']) {
    const request = presigned()
    const rawQuery = request.rawQuery.replace(new RegExp(`&${gone}=[^&]*`), '')
    t.throws(() => iam.authenticate({ ...request, rawQuery }), {
      code: 'AccessDenied',
      message: /requires the Signature, Expires/,
    })
  }
})

t.test('sub-resources and overrides of the answer are signed, sorted and decoded', async t => {
  const target = '/bucket/key?versionId=a%2Fb&response-content-type=text%2Fplain%3B%20charset%3Dutf-8&acl'
  const resource = '/bucket/key?acl&response-content-type=text/plain; charset=utf-8&versionId=a/b'
  t.equal(await of(byHeader({ target, resource })), 'accepted')
  t.equal(await of(presigned({ target, resource })), 'accepted')
  t.equal(await of(byHeader({ target: target.replace('%20', '+'), resource })), 'accepted')
  t.equal(await of(byHeader({ target: `${target}=`, resource })), 'accepted', 'libraries write acl as acl=')
  t.equal(await of(byHeader({ target: target.replace('a%2Fb', 'c'), resource })), mismatch)
  t.equal(await of(byHeader({ target: target.replace('&acl', ''), resource })), mismatch)
  t.equal(await of(byHeader({ target: `${target}&uploads`, resource })), mismatch)
})

t.test(
  'a bucket is signed with a slash at its end or without, and headers that botocore repeats are accepted',
  async t => {
    for (const [target, resource, expected] of [
      ['/bucket', '/bucket/', 'accepted'],
      ['/bucket/', '/bucket', 'accepted'],
      ['/bucket?versions&prefix=a', '/bucket?versions?versions', 'accepted'],
      ['/bucket?list-type=2&prefix=a', '/bucket?list-type=2', 'accepted'],
      ['/bucket/key?select&select-type=2', '/bucket/key?select&select-type=2?select&select-type=2', 'accepted'],
      ['/bucket?versions', '/bucket?uploads?versions', mismatch],
      ['/bucket/key', '/bucket/key/', mismatch],
      ['/bucket/key/', '/bucket/key', mismatch],
      ['/', '//', mismatch],
    ] as const) {
      t.equal(await of(byHeader({ target, resource })), expected, resource)
    }
    const onHost = byHeader({ target: '/', resource: '/bucket' })
    t.equal(await of({ ...onHost, hostBucket: 'bucket' }), 'accepted')
    t.equal(await of({ ...onHost, hostBucket: 'other' }), mismatch)
  },
)

t.test('a parameter that is not signed is refused unless it is one of a listing', async t => {
  const list = '?prefix=a&delimiter=%2F&max-keys=5&marker=b&list-type=2&continuation-token=x&encoding-type=url'
  t.equal(await of(byHeader({ target: `/bucket${list}`, resource: '/bucket' })), 'accepted')
  t.equal(await of(presigned({ target: `/bucket${list}`, resource: '/bucket' })), 'accepted')
  for (const name of [
    'encryption',
    'publicAccessBlock',
    'x-amz-acl',
    'x-id',
    'Acl',
    '%61cl',
    'constructor',
    'Expires',
  ]) {
    const request = byHeader({ target: `/bucket/key?${name}=a`, resource: '/bucket/key' })
    t.throws(() => iam.authenticate(request), { code: 'AccessDenied', extra: { ParametersNotSigned: name } })
  }
  for (const more of [
    '&encryption',
    '&x-amz-content-sha256=a',
    '&x%2Damz-acl=a',
    '&Expires=9',
    '&Signature=a',
    '&AWSAccessKeyId=a',
  ]) {
    t.throws(() => iam.authenticate(presigned({ more })), { code: 'AccessDenied' }, more)
  }
})

t.test('no parameter can be hidden in the value of another', async t => {
  const resource = '/bucket/key?response-content-type=a/b&versionId=v'
  const both = byHeader({ target: '/bucket/key?versionId=v&response-content-type=a%2Fb', resource })
  t.equal(await of(both), 'accepted')
  t.equal(await of({ ...both, rawQuery: 'response-content-type=a%2Fb%26versionId%3Dv' }), 'AccessDenied 403')
  const name = '/bucket/key?response-content-disposition=attachment; filename="a&b=c.txt"'
  const target = `/bucket/key?response-content-disposition=${encodeURIComponent('attachment; filename="a&b=c.txt"')}`
  t.equal(await of(byHeader({ target, resource: name })), 'accepted')

  const amzHeaders = 'x-amz-acl:private\nx-amz-meta-a:b\n'
  t.equal(await of(presigned({ more: '&x-amz-acl=private&x-amz-meta-a=b', amzHeaders })), 'accepted')
  t.equal(await of(presigned({ more: '&x-amz-acl=private%0Ax-amz-meta-a:b', amzHeaders })), 'AccessDenied 403')
})

t.test('headers x-amz- are all signed, wherever they stand', async t => {
  const amzHeaders = 'x-amz-acl:private\nx-amz-meta-a:1,2\n'
  const headers: Headers = [
    ['X-Amz-Meta-A', ' 1'],
    ['x-amz-meta-a', '2 '],
    ['x-amz-acl', 'private'],
  ]
  t.equal(await of(byHeader({ headers, amzHeaders })), 'accepted')
  t.equal(await of(byHeader({ headers: [...headers, ['x-amz-storage-class', 'STANDARD']], amzHeaders })), mismatch)
  t.equal(await of(byHeader({ headers: headers.slice(0, 2), amzHeaders })), mismatch)
  const inQuery = '&x-amz-meta-a=1%2C2&x-amz-acl=private'
  t.equal(await of(presigned({ more: inQuery, amzHeaders })), 'accepted')
  t.equal(await of(presigned({ more: inQuery, amzHeaders, headers: [['x-amz-acl', 'private']] })), 'accepted')
  t.equal(await of(presigned({ more: '&x-amz-acl=public-read' })), mismatch, 'put in by somebody else')
  t.equal(
    await of(presigned({ more: inQuery, amzHeaders, headers: [['x-amz-acl', 'public-read']] })),
    'AccessDenied 403',
  )
  t.equal(
    await of(presigned({ more: '&x-amz-acl=private&X-Amz-Acl=public-read', amzHeaders: 'x-amz-acl:private\n' })),
    'AccessDenied 403',
  )
  // Text beyond ASCII: Node gives each of its bytes as one character.
  const metadata = Buffer.from('größe', 'utf8').latin1Slice()
  t.equal(await of(byHeader({ headers: [['x-amz-meta-b', metadata]], amzHeaders: 'x-amz-meta-b:größe\n' })), 'accepted')
})

t.test('method, path and content are signed', async t => {
  const request = byHeader()
  t.equal(await of({ ...request, method: 'DELETE' }), mismatch)
  t.equal(await of({ ...request, rawPath: '/bucket/other' }), mismatch)
  t.equal(await of({ ...request, hostBucket: 'other' }), mismatch)
  for (const name of ['content-md5', 'content-type']) {
    t.equal(await of({ ...request, headers: { ...request.headers, [name]: 'a' } }), mismatch)
  }
})

t.test('a digest of the body counts, and signed chunks need Version 4', async t => {
  const hex = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  const withDigest = (text: string) =>
    byHeader({ headers: [['x-amz-content-sha256', text]], amzHeaders: `x-amz-content-sha256:${text}\n` })
  t.match(await iam.authenticate(withDigest(hex)), { payload: { kind: 'sha256', hex } })
  const chunked = await iam.authenticate(withDigest('STREAMING-AWS4-HMAC-SHA256-PAYLOAD'))
  t.throws(() => chunked.createDecoder(), { code: 'InvalidRequest' })
})

t.test('sessions are good with their token, under the signature, and with no other', async t => {
  const headers: Headers = [['x-amz-security-token', sessionToken]]
  const amzHeaders = `x-amz-security-token:${sessionToken}\n`
  const key = 'ASIASESSION'
  t.match(await iam.authenticate(byHeader({ key, headers, amzHeaders })), { identity: { kind: 'session' } })
  t.match(await iam.authenticate(presigned({ key, more: `&x-amz-security-token=${sessionToken}`, amzHeaders })), {
    identity: { kind: 'session' },
  })
  t.equal(
    await outcomeOf(() => iam.authenticateForm(form('e30=', { 'x-amz-security-token': sessionToken }))),
    'accepted',
  )
  t.equal(await of(byHeader({ key, headers: [['x-amz-security-token', 'x']], amzHeaders })), 'InvalidToken 400')
  t.equal(await of(byHeader({ key, headers })), mismatch)
  t.equal(await of(byHeader({ key })), 'InvalidAccessKeyId 403')
})

t.test('root, credentials with the rights of root, and shares are refused', async t => {
  const token = {
    headers: [['x-amz-security-token', sessionToken]] as Headers,
    amzHeaders: `x-amz-security-token:${sessionToken}\n`,
  }
  for (const [name, signing] of [
    ['root', { key: rootUser, secret: rootPassword }],
    ['an access key of root', { key: 'AKIAOFROOT' }],
    ['a share', { key: 'AKIASHARE' }],
    ['a session of root', { key: 'ASIAROOT', ...token }],
  ] as const) {
    t.equal(await of(byHeader(signing)), 'AccessDenied 403', name)
    if (name !== 'a session of root') t.equal(await of(presigned(signing)), 'AccessDenied 403', name)
  }
  const ofRoot = form('e30=', { awsaccesskeyid: rootUser }, rootPassword)
  t.equal(await outcomeOf(() => iam.authenticateForm(ofRoot)), 'AccessDenied 403')
  t.equal(
    await outcomeOf(() => iam.authenticateForm(form('e30=', { awsaccesskeyid: 'AKIASHARE' }))),
    'AccessDenied 403',
  )
  // Without the secret nobody learns of what kind an access key is.
  t.equal(await of(byHeader({ key: rootUser })), mismatch)
})

t.test('never on the Admin API, and never for other services', async t => {
  t.equal(await of({ ...byHeader(), api: 'admin' }), 'InvalidRequest 400')
  t.equal(await of({ ...presigned(), api: 'admin' }), 'InvalidRequest 400')
  const document = { service: 'sts', document: Buffer.alloc(0) }
  t.equal(await outcomeOf(() => iam.authenticateDocument(byHeader(), document)), 'InvalidRequest 400')
})

t.test('a form is verified over its policy', async t => {
  const policy = Buffer.from('{"conditions":[]}').toString('base64')
  t.match(await iam.authenticateForm(form(policy)), {
    identity: { accessKey },
    method: 'form',
    signatureVersion: 'AWS',
  })
  for (const [changes, expected] of [
    [{ policy: 'e30=' }, mismatch],
    [{ signature: 'A'.repeat(27).concat('=') }, mismatch],
    [{ signature: 'short' }, mismatch],
    [{ awsaccesskeyid: 'AKIANOBODY' }, 'InvalidAccessKeyId 403'],
    [{ signature: '' }, 'InvalidArgument 400'],
    [{ policy: '' }, 'InvalidArgument 400'],
  ] as const) {
    t.equal(await outcomeOf(() => iam.authenticateForm(form(policy, changes))), expected, inspect(changes))
  }
  const alone = new Map([['signature', 'a']])
  t.equal(await outcomeOf(() => iam.authenticateForm(alone)), 'InvalidArgument 400')
})

t.test('two mechanisms at once are refused, and errors of malformed headers name the expected form', async t => {
  const { headers } = byHeader()
  t.equal(await of({ ...presigned(), headers }), 'InvalidArgument 400')
  const signer = { accessKey, secret: secretKey, region: 'us-east-1' }
  const url = presignUrl(signer, { method: 'GET', url: 'http://h/bucket/key', expiresSeconds: 60, nowMs })
  t.equal(await of({ ...byHeader(), rawQuery: url.slice(url.indexOf('?') + 1) }), 'InvalidArgument 400')
  for (const authorization of ['AWS', 'AWS ', 'AWS a', 'AWS :b', `AWS ${accessKey}`]) {
    t.throws(
      () =>
        iam.authenticate(
          received('GET', '/', [
            ['authorization', authorization],
            ['date', now],
          ]),
        ),
      {
        code: 'InvalidArgument',
        message: /Expected AwsAccessKeyId:signature/,
      },
    )
  }
  t.equal(await of(byHeader({ key: 'a:key:with:colons' })), 'accepted')
  // Version 4 goes on as if there were no other.
  const four = signRequest(signer, { method: 'GET', host: 'h', path: '/bucket/key', nowMs })
  t.match(await iam.authenticate(received('GET', '/bucket/key', Object.entries(four.headers))), {
    signatureVersion: 'AWS4-HMAC-SHA256',
  })
})

t.test('no head makes anything but an answer or a catalogue error', async t => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      'AWS ',
      accessKey,
      ':',
      '=',
      '&',
      '%',
      '%0A',
      '+',
      '?',
      'acl',
      'Signature=',
      'Expires=1',
      'AWSAccessKeyId=',
    ),
  )
  const noise = fc.array(piece, { maxLength: 9 }).map(pieces => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(noise, noise, noise, noise, fc.boolean(), async (value, date, path, query, inHeader) => {
      const headers: Headers = [
        ['x-amz-date', date],
        ['x-amz-meta-a', value],
        ...(inHeader ? [['authorization', `AWS ${value}`] as const] : []),
      ]
      const presignedQuery = `AWSAccessKeyId=${accessKey}&Signature=${value}&Expires=${inAnHour}&${query}`
      const request = received('GET', `/${path.replaceAll('?', '')}?${inHeader ? query : presignedQuery}`, headers)
      t.not(await of(request), 'accepted')
    }),
    { numRuns: 1000 },
  )
})

t.test('the refusal shows the string to sign, and no token', t => {
  const request = byHeader({
    headers: [['x-amz-security-token', sessionToken]],
    amzHeaders: 'x-amz-security-token:another\n',
  })
  t.throws(() => iam.authenticate(request), {
    code: 'SignatureDoesNotMatch',
    extra: {
      AWSAccessKeyId: accessKey,
      StringToSign: `GET\n\n\n${now}\nx-amz-security-token:<redacted>\n/bucket/key`,
    },
  })
  t.end()
})

t.test('blanks in the middle of a header cost no more than their number', t => {
  const request = {
    method: 'GET',
    rawPath: '/b/k',
    rawQuery: '',
    headers: {},
    rawHeaders: ['x-amz-meta-a', `a${' '.repeat(2_000_000)}b`],
  }
  // A pattern would be tried for each of them, for each of them.
  const [text] = stringsToSign(request as unknown as SignedRequest, 'date', readParameters('', false))
  t.ok(text!.endsWith('b\n/b/k'))
  t.end()
})

t.test('a value from the query is not taken for a part of the signed path', t => {
  const readings = (rawQuery: string) =>
    stringsToSign(
      { method: 'GET', rawPath: '/b/k', rawQuery, headers: {}, rawHeaders: [] } as unknown as SignedRequest,
      '1',
      readParameters(rawQuery, false),
    )
  // What an application signs that puts a name of somebody else's into the link, and what that must not be good for.
  const signed = 'GET\n\n\n1\n/b/k?response-content-disposition=P?acl&response-content-disposition=P'
  t.notOk(readings('response-content-disposition=P&acl').includes(signed))
  t.ok(
    readings('acl').some(text => text.endsWith('/b/k?acl?acl')),
    'as botocore signs',
  )
  t.ok(readings('select&select-type=2').some(text => text.includes('?select&select-type=2?')))
  t.end()
})
