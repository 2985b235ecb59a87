/** What is taken of chains and keys, and in which words the rest is refused. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeCertificate } from 'svc/plugins/tls/api'
import t, { type Test as Tap } from 'tap'
import { checkChain } from '../chain.ts'
import { covers, nameProblem, uncovered } from '../names.ts'
import { createTestAuthority } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-chain-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const authority = createTestAuthority(folder)
const good = authority.issue(['a.test', '*.A.test'])
const dayMs = 86_400_000

const refused = (t: Tap, message: RegExp, chain: string, key: string, nowMs = Date.now()) =>
  t.throws(() => checkChain(chain, key, nowMs), { code: 'invalid_certificate', message })

t.test('a chain in order with its key is taken, with or without the root', async t => {
  const { chain, privateKey, domains } = checkChain(good.chain, good.key, Date.now())
  t.same(domains, ['a.test', '*.a.test'])
  t.equal(chain.match(/BEGIN CERTIFICATE/g)?.length, 2)
  t.match(privateKey, /^-----BEGIN PRIVATE KEY-----/)
  t.same(checkChain(`text between\n${good.chain}${authority.root}`, good.key, Date.now()).domains, domains)
  t.same(checkChain(good.leaf, good.key, Date.now()).domains, domains, 'a leaf alone')
  for (const key of [
    ['-newkey', 'rsa:2048'],
    ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
    ['-newkey', 'ed25519'],
  ]) {
    const { chain, key: pem } = authority.issue(['k.test'], { key })
    t.same(checkChain(chain, pem, Date.now()).domains, ['k.test'], key.join(' '))
  }
})

/** The certificate with another end, whose signature is not right any more: nobody verifies that of a leaf. */
function endingAt(pem: string, end: string): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64')
  const times = [...der.toString('latin1').matchAll(/\d{12}Z/g)]
  der.write(end, times[1]!.index, 'latin1')
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

t.test('a date that does not exist is refused, and shown as none', async t => {
  for (const end of ['991301000000Z', '490231000000Z', '499901000000Z']) {
    const chain = endingAt(good.leaf, end)
    refused(t, /Certificate 1 of the chain begins or ends at a date that does not exist/, chain, good.key)
    t.equal(describeCertificate(new X509Certificate(chain), 'x').notAfter, '', end)
  }
})

t.test('errors name the problem, and never repeat the key', async t => {
  const other = authority.issue(['b.test'])
  refused(t, /private key does not match the first certificate/, good.chain, other.key)
  refused(
    t,
    /The chain begins with CN=test intermediate; the leaf, to which the key belongs, is certificate 2: put it first/,
    authority.intermediate + good.leaf,
    good.key,
  )
  refused(
    t,
    /Certificate 1 .* not issued by certificate 2; its issuer is certificate 3: the order is the leaf/,
    good.leaf + authority.root + authority.intermediate,
    good.key,
  )
  refused(t, /not issued by certificate 2; its issuer is not in the chain/, good.leaf + other.leaf, good.key)
  refused(t, /block "PRIVATE KEY"/, good.chain + good.key, good.key)
  refused(t, /no certificate in PEM form/, 'nothing', good.key)
  refused(t, /more than 10 certificates/, good.leaf.repeat(11), good.key)
  refused(t, /Certificate 1 of the chain is damaged/, good.leaf.replace(/\n[A-Za-z]{8}/, '\nAAAAAAAA'), good.key)
  refused(t, /no unencrypted key in PEM form/, good.chain, 'swordfish')
  const encrypted = execFileSync('openssl', ['pkcs8', '-topk8', '-passout', 'pass:x'], { input: good.key }).toString()
  refused(t, /encrypted with a password/, good.chain, encrypted)
  refused(t, /Certificate 1 of the chain has expired/, good.chain, good.key, Date.now() + 11 * dayMs)
  const weak = authority.issue(['w.test'], { key: ['-newkey', 'rsa:1024'] })
  refused(t, /RSA key has 1024 bits, which is too weak/, weak.chain, weak.key)
  const curve = authority.issue(['w.test'], { key: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'] })
  refused(t, /Keys of the type ecdsa-secp256k1 are not taken/, curve.chain, curve.key)
  const sha1 = authority.issue(['w.test'], { digest: 'sha1' })
  refused(t, /Certificate 1 of the chain is signed with .*SHA1, which is broken/i, sha1.chain, sha1.key)
  const nameless = authority.issue([])
  refused(t, /no DNS name/, nameless.chain, nameless.key)
  const client = authority.issue(['c.test'], { extensions: ['extendedKeyUsage=clientAuth'] })
  refused(t, /not for servers/, client.chain, client.key)
  try {
    checkChain(good.chain, other.key.replace('-----END', 'x-----END'), Date.now())
    t.fail('it was taken')
  } catch (error) {
    t.notOk(String((error as Error).stack).includes(other.key.split('\n')[1]!))
  }
})

t.test('a long text that is no PEM is refused at once', async t => {
  refused(t, /no certificate in PEM form/, '-----BEGIN CERTIFICATE-----'.repeat(9000), good.key)
})

t.test('names: a wildcard stands for one label', async t => {
  t.ok(covers('a.test', 'a.test'))
  t.ok(covers('*.test.example', 'a.test.example'))
  t.ok(covers('*.test.example', '*.test.example'))
  t.notOk(covers('*.test.example', 'test.example'))
  t.notOk(covers('*.test.example', 'a.b.test.example'))
  t.notOk(covers('*.test.example', '*.a.test.example'))
  t.same(uncovered(['*.x.test', 'y.test'], ['a.x.test', 'y.test', 'x.test']), ['x.test'])
  for (const name of ['a.test', '*.a.test', 'xn--bcher-kva.test', '1.2.test'])
    t.equal(nameProblem(name), undefined, name)
  for (const name of [
    'A.test',
    'localhost',
    '127.0.0.1',
    'a..test',
    '-a.test',
    'a.*.test',
    'a.test.',
    '*',
    `${'a'.repeat(64)}.test`,
    'a_.te st',
  ]) {
    t.type(nameProblem(name), 'string', name)
  }
})
