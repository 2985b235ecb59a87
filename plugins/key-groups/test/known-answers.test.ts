/** Signatures that others made: published vectors, the SDK's signer, openssl. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getSignedCookies, getSignedUrl } from '@aws-sdk/cloudfront-signer'
import t from 'tap'
import { ed25519, nowMs, outcomeOf, pkcs8, requestFor, rsa, rsa4096, startVerification, toUrlText } from './groups.ts'

const { verify } = startVerification()
const later = new Date(nowMs + 3600_000)
const laterSeconds = later.getTime() / 1000

t.test('Ed25519 (RFC 8032 7.1, test 1): a URL with Expires', t => {
  const url =
    'https://www.example.test/docs/report.pdf?v=2&Expires=4102444800&Key-Pair-Id=KED&Signature=XNIaFuEhGGAmRhFqcMSZ8Sv4l2dkZncHL9J8kgV1mOJVtDmlBemFhReHX7dWioKZMFgjs0RSEo4uXGgzTpCxDQ__'
  t.same(verify(requestFor(url)), {
    isValid: true,
    keyId: 'KED',
    carrier: 'url',
    expiresMs: 4_102_444_800_000,
    query: 'v=2',
  })
  t.equal(outcomeOf(verify(requestFor(url.replace('v=2', 'v=3')))), 'bad_signature')
  t.end()
})

t.test('Ed25519 (RFC 8032 7.1, test 1): a policy with a wildcard, times and a network', t => {
  const policy =
    '{"Statement":[{"Resource":"https://www.example.test/videos/*","Condition":{"DateLessThan":{"AWS:EpochTime":4102444800},"DateGreaterThan":{"AWS:EpochTime":1700000000},"IpAddress":{"AWS:SourceIp":"192.0.2.0/24"}}}]}'
  const signature = 'n8Y1L8DPGFzzhdOZRySN12KpNHYJhGpE0pwrCBmUnfo9LNecdbMhCH8JsEJEIqgnaioGyInnSDUdOcGBZvPJDQ__'
  const query = `Policy=${toUrlText(policy)}&Signature=${signature}&Key-Pair-Id=KED`
  const cookie = `a=b; Cdn-Policy=${toUrlText(policy)}; Cdn-Signature=${signature}; Cdn-Key-Pair-Id=KED`
  t.equal(outcomeOf(verify(requestFor(`https://www.example.test/videos/a/b.ts?${query}`))), 'url')
  t.equal(outcomeOf(verify(requestFor(`https://www.example.test/videos/b.ts?x=1&${query}`))), 'url')
  t.equal(outcomeOf(verify(requestFor('https://www.example.test/videos/a/b.ts', { cookie }))), 'cookies')
  t.equal(outcomeOf(verify(requestFor('https://www.example.test/docs/a', { cookie }))), 'resource')
  t.equal(outcomeOf(verify(requestFor('https://www.example.org/videos/a', { cookie }))), 'resource')
  const from = (clientAddress: string) =>
    outcomeOf(verify(requestFor('https://www.example.test/videos/a', { cookie, clientAddress })))
  t.same(['192.0.2.0', '192.0.2.255', '::ffff:192.0.2.9', '192.0.3.0', '2001:db8::1', ''].map(from), [
    'cookies',
    'cookies',
    'cookies',
    'address',
    'address',
    'address',
  ])
  t.end()
})

t.test("URLs of the SDK's signer", t => {
  const urls = [
    'https://www.example.test/a.mp4',
    'http://www.example.test:8080/a%20b/c.mp4?quality=high&x=%2F&y',
    'https://www.example.test/',
    'https://www.example.test/r%C3%A9sum%C3%A9.pdf?download=r%C3%A9sum%C3%A9',
    `https://www.example.test/"quoted'(1)*!~.txt?q="a"&b=\\`,
    'https://www.example.test/a//b/../c?x=1&&y=2',
  ]
  for (const url of urls) {
    for (const [privateKey, keyPairId, algorithm] of [
      [pkcs8(rsa.privateKey), 'KRSA', 'SHA256'],
      [pkcs8(rsa.privateKey), 'KRSAOLD', 'SHA256'],
      [pkcs8(rsa.privateKey), 'KRSAOLD', 'SHA1'],
      [pkcs8(rsa4096.privateKey), 'KRSALONG', 'SHA256'],
    ] as const) {
      const wanted = { url, keyPairId, privateKey, algorithm, dateLessThan: later }
      const canned = getSignedUrl(wanted)
      t.match(canned, /[?&]Expires=/)
      t.equal(outcomeOf(verify(requestFor(canned))), 'url', canned)
      const custom = getSignedUrl({ ...wanted, dateGreaterThan: new Date(nowMs), ipAddress: '192.0.2.7' })
      t.match(custom, /[?&]Policy=/)
      t.equal(outcomeOf(verify(requestFor(custom))), 'url', custom)
      t.equal(outcomeOf(verify(requestFor(custom, { clientAddress: '192.0.2.8' }))), 'address')
      t.equal(outcomeOf(verify(requestFor(`${custom}&more=1`))), 'resource', 'a parameter more')
    }
  }
  const old = { url: urls[0]!, keyPairId: 'KRSA', privateKey: pkcs8(rsa.privateKey), dateLessThan: later }
  t.equal(
    outcomeOf(verify(requestFor(getSignedUrl(old)))),
    'bad_signature',
    'SHA-1 is not taken unless the key says so',
  )
  t.equal(outcomeOf(verify(requestFor(`${getSignedUrl(old)}&Hash-Algorithm=SHA1`))), 'weak_hash')
  t.end()
})

t.test("cookies of the SDK's signer, under our names", t => {
  const privateKey = pkcs8(rsa.privateKey)
  const url = 'https://www.example.test/films/a.mp4'
  const headerOf = (cookies: object) =>
    Object.entries(cookies)
      .map(([name, value]) => `${name.replace('CloudFront-', 'Cdn-')}=${value}`)
      .join('; ')
  const canned = headerOf(
    getSignedCookies({ url, keyPairId: 'KRSA', privateKey, algorithm: 'SHA256', dateLessThan: later }),
  )
  t.equal(outcomeOf(verify(requestFor(url, { cookie: canned }))), 'cookies')
  t.equal(outcomeOf(verify(requestFor(`${url}?x=1`, { cookie: canned }))), 'bad_signature')
  const policy = JSON.stringify({
    Statement: [
      { Resource: 'https://*.example.test/films/*', Condition: { DateLessThan: { 'AWS:EpochTime': laterSeconds } } },
    ],
  })
  const custom = headerOf(getSignedCookies({ policy, keyPairId: 'KRSA', privateKey, algorithm: 'SHA256' }))
  for (const part of ['1.ts', '2.ts?x=1', '']) {
    t.equal(outcomeOf(verify(requestFor(`https://www.example.test/films/${part}`, { cookie: custom }))), 'cookies')
  }
  t.equal(outcomeOf(verify(requestFor('https://example.test/films/1.ts', { cookie: custom }))), 'resource')
  t.end()
})

t.test('signatures of openssl are verified', t => {
  const folder = t.testdir()
  const file = (name: string, content: string) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const url = 'https://www.example.test/open%20ssl?a=b'
  const text = `{"Statement":[{"Resource":"${url}","Condition":{"DateLessThan":{"AWS:EpochTime":${laterSeconds}}}}]}`
  const input = file('text', text)
  const byOpenssl = {
    KRSA: ['dgst', '-sha256', '-sign', file('rsa.pem', pkcs8(rsa.privateKey)), input],
    KRSAOLD: ['dgst', '-sha1', '-sign', file('rsa.pem', pkcs8(rsa.privateKey)), input],
    KEDWARDS: ['pkeyutl', '-sign', '-rawin', '-inkey', file('ed.pem', pkcs8(ed25519.privateKey)), '-in', input],
  }
  for (const [keyId, args] of Object.entries(byOpenssl)) {
    const signature = toUrlText(execFileSync('openssl', args))
    const signed = `${url}&Expires=${laterSeconds}&Signature=${signature}&Key-Pair-Id=${keyId}`
    t.equal(outcomeOf(verify(requestFor(signed))), 'url', keyId)
    const encoded = `${url}&Signature=${encodeURIComponent(signature).replaceAll('~', '%7E')}&Expires=${laterSeconds}&Key-Pair-Id=%4B${keyId.slice(1)}`
    t.equal(outcomeOf(verify(requestFor(encoded))), 'url', 'values are percent-decoded, and in any order')
    const elsewhere = signed.replace(keyId, keyId === 'KRSA' ? 'KRSALONG' : 'KRSA')
    t.match(outcomeOf(verify(requestFor(elsewhere))), /malformed|bad_signature/, 'not of another key')
  }
  t.end()
})
