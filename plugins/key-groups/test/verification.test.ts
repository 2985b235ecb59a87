/** The order of the checks, each refusal by itself, and what is remembered. */
import { sign } from 'node:crypto'
import t from 'tap'
import type { SignedRequest } from '../api.ts'
import { createRemembered, rememberedMax } from '../remembered.ts'
import { ed25519, films, nowMs, outcomeOf, requestFor, rsa, startVerification, toUrlText } from './groups.ts'

const now = nowMs / 1000
const base = 'https://www.example.test/films/a.mp4'
const signText = (text: string | Buffer) => toUrlText(sign(null, Buffer.from(text), ed25519.privateKey))
const cannedText = (url: string, expires: number) =>
  `{"Statement":[{"Resource":${JSON.stringify(url)},"Condition":{"DateLessThan":{"AWS:EpochTime":${expires}}}}]}`
const canned = (url: string, expires = now + 60) =>
  `Expires=${expires}&Signature=${signText(cannedText(url, expires))}&Key-Pair-Id=KEDWARDS`
const custom = (policy: string | Buffer) =>
  `Policy=${toUrlText(policy)}&Signature=${signText(policy)}&Key-Pair-Id=KEDWARDS`
const policyOf = (change: object = {}, conditions: object = {}) =>
  JSON.stringify({
    Statement: [{ Condition: { DateLessThan: { 'AWS:EpochTime': now + 60 }, ...conditions }, ...change }],
  })
const { verify, count, remembered } = startVerification()
const outcome = (query: string, change: Partial<SignedRequest> = {}, url = base) =>
  outcomeOf(verify(requestFor(`${url}?${query}`, change)))

t.test('a request that fails two checks is refused by the earlier', t => {
  const good = canned(base)
  const signature = /Signature=([^&]*)/.exec(good)![1]!
  const wrong = `${'A'.repeat(86)}__`
  const cases: readonly (readonly [string, string])[] = [
    ['', 'missing'],
    ['x=1&Hash-Algorithm=SHA256', 'missing'],
    [`Expires=${now}`, 'missing'],
    [`Key-Pair-Id=KEDWARDS&Signature=${signature}`, 'missing'],
    // A name twice is told before what is missing.
    ['Expires=1&Expires=2', 'duplicate_parameter'],
    [`${good}&Signature=${signature}`, 'duplicate_parameter'],
    [`${good}&Hash-Algorithm=SHA1&Hash-Algorithm=SHA1`, 'duplicate_parameter'],
    [`${good}&Policy=AAAA`, 'ambiguous'],
    ['Expires=x&Signature=!&Key-Pair-Id=KNOBODY', 'unknown_key'],
    ['Expires=x&Signature=!&Key-Pair-Id=%zz', 'unknown_key'],
    [`Expires=x&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Expires=0${now}&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Expires=1234567890123&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Expires=%zz&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Expires=1&Signature=${wrong.slice(4)}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Expires=1&Signature=${wrong.replace('_', '=')}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Policy=&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Policy=AAA&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    [`Policy=${toUrlText(Buffer.alloc(8193))}&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'malformed'],
    // A weak digest is told behind what cannot be decoded.
    [`Policy=!&Signature=${toUrlText(Buffer.alloc(256))}&Key-Pair-Id=KRSA&Hash-Algorithm=SHA1`, 'malformed'],
    [`Policy=AAAA&Signature=${toUrlText(Buffer.alloc(256))}&Key-Pair-Id=KRSA&Hash-Algorithm=MD5`, 'malformed'],
    [`Policy=AAAA&Signature=${toUrlText(Buffer.alloc(256))}&Key-Pair-Id=KRSA&Hash-Algorithm=sha256`, 'malformed'],
    [`Policy=AAAA&Signature=${toUrlText(Buffer.alloc(256))}&Key-Pair-Id=KRSA&Hash-Algorithm=SHA1`, 'weak_hash'],
    // No JSON, expired, for another URL: none of it is looked at.
    [`Policy=AAAA&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'bad_signature'],
    [`Expires=1&Signature=${wrong}&Key-Pair-Id=KEDWARDS`, 'bad_signature'],
    [custom('nothing'), 'malformed_policy'],
    [custom(policyOf({ Resource: 'https://other.test/*' }, { DateLessThan: { 'AWS:EpochTime': 1 } })), 'resource'],
    [
      custom(policyOf({}, { DateLessThan: { 'AWS:EpochTime': 1 }, DateGreaterThan: { 'AWS:EpochTime': now + 60 } })),
      'expired',
    ],
    [
      custom(policyOf({}, { DateGreaterThan: { 'AWS:EpochTime': now + 60 }, IpAddress: { 'AWS:SourceIp': '::1' } })),
      'not_yet',
    ],
    [custom(policyOf({}, { IpAddress: { 'AWS:SourceIp': '::1' } })), 'address'],
    [good, 'url'],
  ]
  for (const [query, expected] of cases) t.equal(outcome(query), expected, query.slice(0, 120))
  t.end()
})

t.test('a signature is of this group alone', t => {
  t.equal(outcomeOf(verify(requestFor(`${base}?${canned(base)}`), 'songs')), 'unknown_key')
  t.equal(verify(requestFor(`${base}?${canned(base)}`), 'songs').isValid, false)
  const hidden = verify(requestFor(`${base}?Expires=1&Signature=!&Key-Pair-Id=KNOBODY`))
  t.same(hidden, { isValid: false, reason: 'unknown_key', keyId: undefined }, 'what somebody sends is in no log')
  t.match(verify(requestFor(`${base}?Expires=1&Signature=!&Key-Pair-Id=KED`)), { keyId: 'KED' })
  t.end()
})

t.test('the URL outranks cookies, and the first cookie of a name counts', t => {
  const asCookie = (query: string) =>
    query
      .split('&')
      .map(pair => `Cdn-${pair}`)
      .join('; ')
  const good = asCookie(canned(base))
  const bad = asCookie(canned(`${base}.other`))
  t.equal(outcomeOf(verify(requestFor(base, { cookie: good }))), 'cookies')
  t.equal(outcomeOf(verify(requestFor(base, { cookie: `${good}; ${bad}` }))), 'cookies')
  t.equal(outcomeOf(verify(requestFor(base, { cookie: `${bad}; ${good}` }))), 'bad_signature')
  t.equal(outcomeOf(verify(requestFor(`${base}?Expires=1`, { cookie: good }))), 'missing')
  t.equal(outcomeOf(verify(requestFor(base, { cookie: good.toLowerCase() }))), 'missing')
  t.equal(outcomeOf(verify(requestFor(base, { cookie: `  ${good.replaceAll('; ', ';')} ;x` }))), 'cookies')
  const spare = verify(requestFor(`${base}?Hash-Algorithm=SHA1`, { cookie: good }))
  t.match(spare, { isValid: true, query: '' }, 'Hash-Algorithm is of the signature wherever it stands')
  t.end()
})

t.test('all other parameters stay byte for byte and in order, and are signed', t => {
  const url = `${base}?b=%7e&a&&=x&b=2&expires=1&signature=%`
  const [first, second, third] = canned(url).split('&')
  const mixed = `${base}?${first}&b=%7e&a&&=x&${second}&b=2&expires=1&signature=%&${third}`
  t.match(verify(requestFor(mixed)), { isValid: true, query: 'b=%7e&a&&=x&b=2&expires=1&signature=%' })
  t.equal(outcomeOf(verify(requestFor(mixed.replace('%7e', '%7E')))), 'bad_signature')
  t.equal(outcomeOf(verify(requestFor(mixed.replace('&b=2', '')))), 'bad_signature')
  t.end()
})

t.test('schemes, hosts and ports', t => {
  const http = 'http://www.example.test/a'
  const https = 'https://www.example.test/a'
  const proxied = { holdsFromProxy: true }
  const sent = (signed: string, to: string, change: Partial<SignedRequest> = {}) =>
    outcomeOf(verify(requestFor(`${to}?${canned(signed)}`, change)))
  t.equal(sent(http, https), 'url', 'http holds on https')
  t.equal(sent(https, http), 'bad_signature', 'and not the other way round')
  t.equal(sent(https, http, proxied), 'url', 'but for a proxy that ends TLS')
  t.equal(sent(https, 'https://www.example.test:443/a'), 'url')
  t.equal(sent(http, 'http://www.example.test:80/a'), 'url')
  t.equal(sent(https, 'http://www.example.test:80/a', proxied), 'url')
  t.equal(sent(https, 'http://www.example.test:443/a', proxied), 'url')
  t.equal(sent(https, 'https://WWW.Example.test/a'), 'url')
  t.equal(sent(https, 'https://www.example.test:8443/a'), 'bad_signature')
  t.equal(sent('https://www.example.test:8443/a', 'https://www.example.test:8443/a'), 'url')
  const policy = custom(policyOf({ Resource: 'https://www.example.test/*' }))
  t.equal(outcome(policy, {}, http), 'resource')
  t.equal(outcome(policy, proxied, http), 'url')
  t.equal(outcome(custom(policyOf({ Resource: 'http://www.example.test/*' })), {}, https), 'url')
  t.end()
})

t.test('a path is bytes: other characters are not cut to bytes', t => {
  const raw = Buffer.from('/r\u00e9sum\u00e9').toString('latin1')
  const url = 'https://www.example.test/r\u00e9sum\u00e9'
  const request = { path: raw, query: canned(url) }
  t.equal(outcomeOf(verify(requestFor(base, request))), 'url')
  // U+0141 is U+0041 in its lower byte.
  const letter = canned('https://www.example.test/A')
  t.equal(outcomeOf(verify(requestFor(base, { path: '/A', query: letter }))), 'url')
  t.equal(outcomeOf(verify(requestFor(base, { path: '/\u0141', query: letter }))), 'malformed')
  const policy = custom(policyOf({ Resource: 'https://www.example.test/r\u00e9*' }))
  t.equal(outcomeOf(verify(requestFor(base, { path: raw, query: policy }))), 'url')
  t.end()
})

t.test('times', t => {
  const at = (query: string, ms: number) => outcome(query, { nowMs: ms })
  const until = canned(base, now + 60)
  t.same([at(until, nowMs + 59_999), at(until, nowMs + 60_000)], ['url', 'expired'])
  const from = custom(policyOf({}, { DateGreaterThan: { 'AWS:EpochTime': now + 30 } }))
  t.same([at(from, nowMs), at(from, nowMs + 1)], ['not_yet', 'url'], 'clocks may differ by 30 seconds')
  t.end()
})

t.test('policies with unknown members are refused', t => {
  const condition = (conditions: object) => custom(policyOf({}, conditions))
  const raw = (text: string | Buffer) => outcome(custom(text))
  const less = '"DateLessThan":{"AWS:EpochTime":4102444800}'
  for (const good of [
    `{"Statement":[{"Condition":{${less}}}]}`,
    `{"Statement":{"Condition":{${less}}}}`,
    ` {\n"Statement" : [ {"Resource":"*","Condition":{"DateLessThan":{"epochTime":4102444800}} } ] }\n`,
  ]) {
    t.equal(raw(good), 'url', good)
  }
  for (const bad of [
    '',
    'null',
    '[]',
    '"x"',
    '{}',
    '{"Statement":[]}',
    `{"Statement":[{"Condition":{${less}}},{"Condition":{${less}}}]}`,
    `{"Statement":[{"Condition":{${less}}}],"Id":"x"}`,
    `{"Statement":[{"Condition":{${less}},"Effect":"Allow"}]}`,
    `{"Statement":[{"Condition":{${less}},"__proto__":{}}]}`,
    `{"Statement":[{"Resource":["*"],"Condition":{${less}}}]}`,
    `{"Statement":[{"Resource":null,"Condition":{${less}}}]}`,
    '{"Statement":[{"Resource":"*"}]}',
    '{"Statement":[{"Condition":{}}]}',
    '{"Statement":[{"Condition":{"DateGreaterThan":{"AWS:EpochTime":1}}}]}',
    '{"Statement":[{"Condition":{"DateLessThan":{}}}]}',
    '{"Statement":[{"Condition":{"DateLessThan":4102444800}}]}',
    '{"Statement":[{"Condition":{"DateLessThan":{"AWS:EpochTime":"4102444800"}}}]}',
    '{"Statement":[{"Condition":{"DateLessThan":{"AWS:EpochTime":4102444800.5}}}]}',
    '{"Statement":[{"Condition":{"DateLessThan":{"AWS:EpochTime":1e300}}}]}',
    '{"Statement":[{"Condition":{"DateLessThan":{"AWS:EpochTime":4102444800,"epochTime":1}}}]}',
    `\ufeff{"Statement":[{"Condition":{${less}}}]}`,
    `${'['.repeat(4000)}`,
  ]) {
    t.equal(raw(bad), bad === '' ? 'malformed' : 'malformed_policy', bad.slice(0, 80))
  }
  const invalidUtf8 = Buffer.concat([Buffer.from('{"Statement":[{"Resource":"'), Buffer.of(0xff), Buffer.from('"}]}')])
  t.equal(raw(invalidUtf8), 'malformed_policy')
  for (const unknown of [
    { StringEquals: { 'AWS:Referer': 'x' } },
    { dateLessThan: { 'AWS:EpochTime': 1 } },
    { DateGreaterThan: { 'aws:CurrentTime': '2026-01-01' } },
    { IpAddress: { 'aws:sourceip': '192.0.2.7' } },
    { IpAddress: { 'AWS:SourceIp': '192.0.2.7', other: 1 } },
  ]) {
    t.equal(outcome(condition(unknown)), 'unsupported_condition', JSON.stringify(unknown))
  }
  const from = (source: unknown, clientAddress = '192.0.2.7') =>
    outcome(condition({ IpAddress: { 'AWS:SourceIp': source } }), { clientAddress })
  for (const source of [
    '192.0.2.7',
    '192.0.2.0/24',
    '0.0.0.0/0',
    ['10.0.0.0/8', '192.0.2.7'],
    '::ffff:192.0.2.0/120',
  ]) {
    t.equal(from(source), 'url', String(source))
  }
  t.equal(outcome(condition({ IpAddress: { sourceIp: '192.0.2.7' } })), 'url')
  for (const source of ['192.0.2.8', '::/0', ['10.0.0.0/8', '192.0.2.8/32']]) t.equal(from(source), 'address')
  t.equal(from('2001:db8::/32', '2001:db8:1::2'), 'url')
  for (const source of ['', '192.0.2', '192.0.2.7/33', '192.0.2.7/-1', 7, [], [7], Array(11).fill('192.0.2.7')]) {
    t.equal(from(source), 'malformed_policy', JSON.stringify(source))
  }
  t.end()
})

t.test('RSA signatures hold as PKCS #1 v1.5 and no other way', t => {
  const text = Buffer.from(cannedText(base, now + 60))
  const withPss = sign('sha256', text, { key: rsa.privateKey, padding: 6 })
  const withSha512 = sign('sha512', text, rsa.privateKey)
  for (const signature of [withPss, withSha512, Buffer.alloc(256), Buffer.alloc(256, 0xff)]) {
    const query = `Expires=${now + 60}&Signature=${toUrlText(signature)}&Key-Pair-Id=KRSA`
    t.equal(outcome(query), 'bad_signature')
  }
  t.end()
})

t.test('invariant 2 and 3: a refused request costs four verifications at most, and is not remembered', t => {
  const zeros = toUrlText(Buffer.alloc(256))
  const known = remembered.size
  const costs = (query: string, change: Partial<SignedRequest> = {}) => {
    const before = count.verified
    t.equal(outcome(query, change), 'bad_signature')
    return count.verified - before
  }
  const rsaQuery = (keyId: string) => `Expires=1&Signature=${zeros}&Key-Pair-Id=${keyId}`
  t.equal(costs(rsaQuery('KRSAOLD')), 4, 'two schemes and two digests')
  t.equal(costs(rsaQuery('KRSA')), 2)
  t.equal(costs(`${rsaQuery('KRSAOLD')}&Hash-Algorithm=SHA1`), 2)
  t.equal(costs(`Policy=${toUrlText('x'.repeat(8192))}&Signature=${zeros}&Key-Pair-Id=KRSAOLD`), 2)
  t.equal(costs(`Expires=1&Signature=${'A'.repeat(86)}__&Key-Pair-Id=KEDWARDS`), 2)
  t.equal(remembered.size, known)
  const before = count.verified
  outcome(`Expires=1&Signature=${'A'.repeat(84)}&Key-Pair-Id=KEDWARDS`)
  outcome(`Policy=${'A'.repeat(16_388)}&Signature=${'A'.repeat(86)}__&Key-Pair-Id=KEDWARDS`)
  outcome(`Expires=1&Signature=${'A'.repeat(86)}__&Key-Pair-Id=KNOBODY`)
  t.equal(count.verified, before, 'what is no signature by its length costs none')
  t.end()
})

t.test('a valid signature is not computed again, but times and conditions are checked again', t => {
  const query = canned(base, now + 90)
  const before = count.verified
  t.equal(outcome(query), 'url')
  t.equal(outcome(query), 'url')
  t.equal(outcome(query, { nowMs: nowMs + 90_000 }), 'expired')
  t.equal(count.verified, before + 1)
  const policy = custom(policyOf({ Resource: 'https://www.example.test/films/*' }))
  t.same([outcome(policy), outcome(policy, {}, 'https://www.example.test/songs/a')], ['url', 'resource'])
  t.equal(count.verified, before + 2)
  t.end()
})

t.test('a changed group remembers nothing', t => {
  const groups = new Map([['films', films]])
  const { verify, count } = startVerification(groups)
  const request = requestFor(`${base}?${canned(base)}`)
  const key = films.keys.get('KEDWARDS')!
  t.equal(outcomeOf(verify(request)), 'url')
  groups.set('films', { ...films, sequence: 2 })
  t.equal(outcomeOf(verify(request)), 'url')
  t.equal(count.verified, 2)
  groups.set('films', { ...films, sequence: 3, keys: new Map() })
  t.equal(outcomeOf(verify(request)), 'unknown_key')
  groups.set('films', {
    ...films,
    sequence: 4,
    keys: new Map([['KEDWARDS', { ...key, publicKey: films.keys.get('KED')!.publicKey }]]),
  })
  t.equal(outcomeOf(verify(request)), 'bad_signature', 'another key under the id of one that is remembered')
  t.end()
})

t.test('the memory of valid signatures is bounded', t => {
  const remembered = createRemembered()
  const large = 'x'.repeat(8192)
  for (let index = 0; index < rememberedMax + 500; index++) {
    const key = remembered.keyOf(['films', 1, 'K'], large + index)
    if (key.length !== 44) t.fail(`a key of ${key.length} characters`)
    remembered.add(key)
  }
  t.equal(remembered.size, rememberedMax)
  const keys = [
    remembered.keyOf(['a', 'b'], 'c'),
    remembered.keyOf(['a'], 'b\nc'),
    remembered.keyOf(['a', 'b', 'c'], ''),
  ]
  t.equal(new Set(keys).size, 3, 'facts and text cannot be taken for each other')
  t.end()
})
