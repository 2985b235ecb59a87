/** Signing by the server, over a real drive, and the way back: what it signs is verified, by openssl too, until its key goes. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { startAdmin } from 'svc/plugins/admin/testing'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import type { Signed, SignedRequest, ToSign } from '../api.ts'
import { nowMs, outcomeOf, requestFor, rsa, spki } from './groups.ts'

const clock = createFakeClock(nowMs)
const server = await startAdmin({ ports: { clock } })
t.teardown(server.stop)
const { keyGroups } = server.kernel.services
const expiresMs = nowMs + 3600_000
const url = 'https://www.example.test/films/a.mp4?v=2'
const outcome = async (to: string, change: Partial<SignedRequest> = {}, group = 'films') =>
  outcomeOf(await keyGroups.verify(group, requestFor(to, change)))
const signUrl = (change: Partial<ToSign> = {}) => keyGroups.sign('films', { kind: 'url', url, expiresMs, ...change })
const cookieOf = ({ cookies }: Signed) => cookies!.map(({ name, value }) => `${name}=${value}`).join('; ')

await keyGroups.create('films', {})
const { key: first } = await keyGroups.addKey('films', { generate: true, name: 'first' })
await clock.advance(1000)
const { key: second } = await keyGroups.addKey('films', { generate: true, algorithm: 'rsa', name: 'second' })

t.test('a URL with Expires, and nothing more than is needed', async t => {
  const made = await signUrl()
  t.equal(made.keyId, second.id, 'by the newest key')
  t.match(
    made.url,
    new RegExp(`^${url.replace('?', '\\?')}&Expires=${expiresMs / 1000}&Key-Pair-Id=${second.id}&Signature=[\\w~-]+$`),
  )
  t.equal(await outcome(made.url!), 'url')
  t.equal(await outcome(made.url!, { nowMs: expiresMs }), 'expired')
  const older = await signUrl({ keyId: first.id, url: 'HTTP://WWW.Example.test:80/a b/\u00e9?' })
  t.match(older.url, /^http:\/\/www\.example\.test\/a%20b\/%C3%A9\?Expires=/, 'as a browser sends it')
  t.equal(await outcome(older.url!), 'url')
  t.equal(await outcome(older.url!.replace('http:', 'https:')), 'url')
})

t.test('a policy where more is wanted', async t => {
  const made = await signUrl({ startsMs: nowMs + 600_000, ip: '192.0.2.0/24' })
  t.equal(
    made.policy,
    `{"Statement":[{"Resource":"https://www.example.test/films/a.mp4\\\\?v=2","Condition":{"DateLessThan":{"AWS:EpochTime":${expiresMs / 1000}},"DateGreaterThan":{"AWS:EpochTime":${nowMs / 1000 + 600}},"IpAddress":{"AWS:SourceIp":"192.0.2.0/24"}}}]}`,
  )
  const later = { nowMs: nowMs + 600_000 }
  t.equal(await outcome(made.url!), 'not_yet')
  t.equal(await outcome(made.url!, later), 'url')
  t.equal(await outcome(made.url!, { ...later, clientAddress: '198.51.100.1' }), 'address')
  t.equal(await outcome(made.url!.replace('a.mp4?v', 'a.mp4Xv').replace('&Policy', '?Policy'), later), 'resource')
  const wild = await signUrl({ resource: 'https://www.example.test/films/*' })
  t.equal(await outcome(wild.url!), 'url')
  t.equal(await outcome(wild.url!.replace('a.mp4', 'b.mp4')), 'url')
  t.equal(await outcome(wild.url!.replace('films', 'songs')), 'resource')
})

t.test('cookies for a folder', async t => {
  const made = await signUrl({ kind: 'cookies', resource: 'https://www.example.test/films/hd/*.ts' })
  const shared = { domain: 'www.example.test', path: '/films/hd/', secure: true, httpOnly: true, expiresMs }
  t.same(
    made.cookies!.map(({ value: _, ...cookie }) => cookie),
    ['Cdn-Policy', 'Cdn-Key-Pair-Id', 'Cdn-Signature'].map(name => ({ name, ...shared })),
  )
  t.equal(made.url, undefined)
  t.equal(await outcome('https://www.example.test/films/hd/7.ts', { cookie: cookieOf(made) }), 'cookies')
  t.equal(await outcome('https://www.example.test/films/hd/7.mp4', { cookie: cookieOf(made) }), 'resource')
  const folder = 'https://www.example.test/films/*'
  for (const kind of ['cookies', 'url'] as const) {
    const same = await keyGroups.sign('films', { kind, url: folder, resource: folder, expiresMs })
    t.match(same.policy, `"Resource":"${folder}"`, 'a resource is one where it is the URL, too')
    const [to, headers] =
      kind === 'cookies' ? [folder.replace('*', '7.ts'), { cookie: cookieOf(same) }] : [same.url!.replace('*', '7.ts')]
    t.equal(await outcome(to, headers), kind)
  }
  const canned = await keyGroups.sign('films', { kind: 'cookies', url: 'http://a.test:8080/b/c', expiresMs })
  t.match(canned.cookies, [{ name: 'Cdn-Expires', domain: 'a.test', path: '/b/', secure: false }])
  t.equal(await outcome('http://a.test:8080/b/c', { cookie: cookieOf(canned) }), 'cookies')
  for (const [resource, path] of [
    ['*', '/'],
    ['https://*', '/'],
    ['https://*.example.test/a/b*', '/'],
    ['https://www.example.test/a/b*c/d', '/a/'],
    ['https://www.example.test/a/b;c/d/*', '/a/'],
    ['https://www.example.test/a/b\\?c=*', '/a/'],
    ['https://www.example.test/a?/b', '/'],
  ]) {
    t.match(await signUrl({ kind: 'cookies', resource }), { cookies: [{ path }] }, resource)
  }
})

t.test('a URL that would be refused is not signed', async t => {
  const cases: readonly (readonly [Partial<ToSign>, RegExp | string])[] = [
    [{ url: '/films/a.mp4' }, /no absolute URL/],
    [{ url: 'ftp://www.example.test/a' }, /neither with https/],
    [{ url: 'https://user:pass@www.example.test/a' }, /user name or a password/],
    [{ url: 'https://www.example.test/a#b' }, /fragment/],
    [{ url: 'https://www.example.test/a#' }, /fragment/],
    [{ url: 'https://www.example.test/a?Expires=1' }, /already signed/],
    [{ url: 'https://www.example.test/a?b&Hash-Algorithm' }, /already signed/],
    [{ url: `https://www.example.test/${'a'.repeat(8192)}` }, /more than 8192 characters/],
    [{ expiresMs: nowMs }, /already be expired/],
    [{ expiresMs: nowMs + 366 * 86_400_000 }, /365 days/],
    [{ startsMs: expiresMs }, /expire before it becomes valid/],
    [{ ip: '192.0.2.0/40' }, /"192\.0\.2\.0\/40" is no address/],
    [{ resource: 'https://www.example.test/songs/*' }, /does not match the URL/],
    [{ kind: 'cookies', resource: '/films/*' }, /is no URL/],
    [{ kind: 'cookies', resource: `https://www.example.test/${'a'.repeat(8192)}*` }, /policy would have more/],
    [{ ip: '192.0.2.7', url: 'https://www.example.test/a*' }, /write %2A/],
    [{ ip: '192.0.2.7', url: 'https://www.example.test/a?b=*' }, /write %2A/],
    [{ ip: '192.0.2.7', url: 'https://www.example.test/a?b=c?d' }, /write %2A or %3F/],
    [{ keyId: 'KNOBODY' }, 'key_not_found'],
  ]
  for (const [change, expected] of cases) {
    const error = typeof expected === 'string' ? { code: expected } : { code: 'invalid_argument', message: expected }
    await t.rejects(signUrl(change), error, JSON.stringify(change).slice(0, 80))
  }
  await t.rejects(keyGroups.sign('songs', { kind: 'url', url, expiresMs }), { code: 'key_group_not_found' })
  await keyGroups.create('public', { keys: [{ publicKey: spki(rsa.publicKey) }] })
  const { keys } = await keyGroups.get('public')
  await t.rejects(keyGroups.sign('public', { kind: 'url', url, expiresMs }), {
    message: /no private key of an enabled key/,
  })
  await t.rejects(keyGroups.sign('public', { kind: 'url', url, expiresMs, keyId: keys[0]!.id }), {
    message: /does not have the private key/,
  })
})

t.test('openssl verifies signatures of the server', async t => {
  const folder = t.testdir()
  for (const { id, algorithm, publicKey } of [first, second]) {
    const made = await signUrl({ keyId: id })
    const text = new URL(made.url!).searchParams.get('Signature')!
    const bytes = Buffer.from(text.replaceAll('-', '+').replaceAll('_', '=').replaceAll('~', '/'), 'base64')
    for (const [name, content] of [
      ['key', publicKey],
      ['text', made.policy],
      ['signature', bytes],
    ] as const) {
      writeFileSync(join(folder, name), content)
    }
    const args =
      algorithm === 'rsa'
        ? ['dgst', '-sha256', '-verify', 'key', '-signature', 'signature', 'text']
        : ['pkeyutl', '-verify', '-pubin', '-inkey', 'key', '-rawin', '-in', 'text', '-sigfile', 'signature']
    t.match(execFileSync('openssl', args, { cwd: folder }).toString(), /Verified OK|Signature Verified Successfully/)
  }
})

t.test('every signature is valid for its own path, and for no other', async t => {
  const path = fc.webPath({ size: 'small' }).map(path => (path.startsWith('/') ? path : `/${path}`))
  await fc.assert(
    fc.asyncProperty(
      path,
      fc.webQueryParameters(),
      fc.boolean(),
      fc.boolean(),
      async (path, query, isCustom, isCookie) => {
        const to = `https://www.example.test${path}${query === '' ? '' : `?${query}`}`
        const wanted: ToSign = {
          kind: isCookie ? 'cookies' : 'url',
          url: to,
          expiresMs,
          keyId: first.id,
          ...(isCustom && { ip: '0.0.0.0/0' }),
        }
        const made = await keyGroups.sign('films', wanted).catch((error: Error) => {
          // A random query may have the name of a parameter, and a random URL a wildcard.
          if (/signed already|write %2A/.test(error.message)) return undefined
          throw error
        })
        if (made === undefined) return
        const sent = isCookie ? new URL(to).href : made.url!
        const cookie = isCookie ? cookieOf(made) : undefined
        const found = await outcome(sent, { cookie })
        if (found !== wanted.kind) throw new Error(`${sent}: ${found}`)
        const other = await outcome(sent.replace('example.test/', 'example.test/x'), { cookie })
        if (other === found) throw new Error(`${sent} holds for another path`)
      },
    ),
    {
      numRuns: Number(process.env.RUNS ?? 200),
      seed: process.env.SEED === undefined ? undefined : Number(process.env.SEED),
    },
  )
  t.pass('in every case')
})

t.test('rotation: a change of keys is in force with its acknowledgement', async t => {
  const old = await signUrl({ keyId: first.id })
  const made = await signUrl()
  t.same([await outcome(old.url!), await outcome(made.url!)], ['url', 'url'], 'both keys hold')
  const { keys } = await keyGroups.get('films')
  const disable = (id: string) => keys.map(key => ({ id: key.id, enabled: key.id !== id }))
  await keyGroups.put('films', { keys: disable(second.id) })
  t.same([await outcome(old.url!), await outcome(made.url!)], ['url', 'unknown_key'])
  t.equal((await signUrl()).keyId, first.id, 'the newest that is enabled')
  await t.rejects(signUrl({ keyId: second.id }), { message: /is disabled/ })
  await keyGroups.put('films', { keys: disable('') })
  t.equal(await outcome(made.url!), 'url', 'enabled again it holds again')
  await keyGroups.removeKey('films', second.id)
  t.equal(await outcome(made.url!), 'unknown_key')
  await keyGroups.delete('films')
  t.equal(await outcome(old.url!), 'unknown_key')
})
