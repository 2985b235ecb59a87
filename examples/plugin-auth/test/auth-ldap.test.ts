/** The whole server with the plugin: rights by groups on both APIs, passwords that change, and a directory that goes away. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Attribute, Change } from 'ldapts'
import standard from 'svc/plugins/standard'
import { createFakeClock, createSystemPorts, startKernel } from 'svc/testing'
import t, { type Test } from 'tap'
import { checkUrl } from '../config.ts'
import { createDirectory } from '../directory.ts'
import plugin from '../index.ts'
import { createLdapProvider } from '../provider.ts'
import { groupBase, passwords, type Slapd, skipWithoutSlapd, startSlapd, userDn } from './slapd.ts'

const skip = skipWithoutSlapd()
const basic = (user: string, password = passwords[user]!) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

const policy = (...statements: readonly object[]) =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements.map(one => ({ Effect: 'Allow', ...one })) })

/** A variable of policies, and no template. */
const ownFolder = `arn:aws:s3:::shared/$\{ldap:user}/*`

async function startServer(t: Test, { url }: Slapd) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-auth-ldap-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const policyFolder = join(folder, 'policies')
  const drive = join(folder, 'drive')
  for (const path of [policyFolder, drive]) mkdirSync(path)
  const write = (group: string, text: string) => writeFileSync(join(policyFolder, `${group}.json`), text)
  write('readers', policy({ Action: ['s3:GetObject', 's3:ListBucket'], Resource: '*' }))
  write(
    'operators',
    policy(
      { Action: 'admin:ServerInfo', Resource: '*' },
      { Action: 's3:*', Resource: ['arn:aws:s3:::shared', ownFolder] },
    ),
  )
  const kernel = await startKernel({
    plugins: [...standard, plugin],
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [drive] },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
      'auth-ldap': { url, userDn, groupBase, policyFolder, allowPlain: true, remember: 0 },
    },
  })
  t.teardown(() => kernel.stop())
  const origin = (name: string) =>
    `http://127.0.0.1:${kernel.services.http.listeners().find(listener => listener.name === name)!.port}`
  const send = async (target: string, authorization?: string, init: RequestInit = {}) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const answer = await fetch(target, { ...init, headers: { ...headers, ...(init.headers as object) } })
    return { status: answer.status, text: await answer.text() }
  }
  return {
    s3: (path: string, authorization?: string, init?: RequestInit) =>
      send(`${origin('s3')}${path}`, authorization, init),
    admin: (path: string, authorization?: string, init?: RequestInit) =>
      send(`${origin('console')}/api/v1${path}`, authorization, init),
  }
}

t.test('users of the directory have the rights of their groups, on both APIs', { skip }, async t => {
  const slapd = await startSlapd(t)
  const { s3, admin } = await startServer(t, slapd)
  const [ada, bob] = [basic('ada'), basic('bob')]
  const put = (path: string, authorization?: string) => s3(path, authorization, { method: 'PUT', body: 'hello' })
  t.equal((await s3('/shared', ada, { method: 'PUT' })).status, 200)
  t.equal((await put('/shared/ada/a', ada)).status, 200)
  t.equal((await put('/shared/bob/a', ada)).status, 403, 'only below her own name')
  t.equal((await put('/shared/bob/a', bob)).status, 403, 'readers do not write')
  t.equal((await s3('/shared/ada/a', bob)).text, 'hello')
  t.equal((await s3('/shared/ada/a')).status, 403, 'nobody')
  t.match(await s3('/shared/ada/a', basic('ada', 'wrong')), { status: 403, text: /AccessDenied/ })
  t.match(await s3('/shared/ada/a', 'Bearer x'), { status: 400, text: /Unsupported Authorization Type/ })
  t.equal((await admin('/info', ada)).status, 200)
  t.equal((await admin('/info', bob)).status, 403, 'not an operator')
  t.equal((await admin('/info', basic('ada', 'wrong'))).status, 401)
  t.equal((await admin('/info', ada, { headers: { origin: 'https://evil.example' } })).status, 401, 'from a page')

  await slapd.change(client =>
    client.modify(userDn.replace('{user}', 'ada'), [
      new Change({ operation: 'replace', modification: new Attribute({ type: 'userPassword', values: ['another'] }) }),
    ]),
  )
  t.equal((await s3('/shared/ada/a', ada)).status, 403)
  t.equal((await s3('/shared/ada/a', basic('ada', 'another'))).status, 200)
  await slapd.change(client => client.del(`cn=readers,${groupBase}`))
  t.equal((await s3('/shared/ada/a', bob)).status, 403, 'in no group any more')
})

t.test(
  'while the directory is away nobody comes in by it, and it is let in again when it is back',
  { skip },
  async t => {
    const slapd = await startSlapd(t)
    const { s3 } = await startServer(t, slapd)
    await slapd.hang()
    t.match(await s3('/shared', basic('ada')), { status: 503, text: /does not answer/ })
    slapd.resume()
    t.match(await s3('/shared', basic('ada')), { status: 404, text: /NoSuchBucket/ })
    await slapd.stop()
    t.match(await s3('/shared', basic('ada')), { status: 503, text: /does not answer/ })
  },
)

t.test('a right password is remembered for a while, and a wrong one never', { skip }, async t => {
  const slapd = await startSlapd(t)
  const clock = createFakeClock(0)
  const real = createDirectory({ url: slapd.url, userDn, groupBase })
  let asked = 0
  const provider = createLdapProvider({
    directory: {
      verify(user, password) {
        asked++
        return real.verify(user, password)
      },
    },
    principals: {
      make: (user, { groups }) => ({
        accessKey: user,
        isRoot: false,
        ownerId: 'a'.repeat(64),
        displayName: user,
        groups,
      }),
    },
    ports: { clock, random: createSystemPorts().random },
    config: { allowPlain: false, remember: 60_000 },
  })
  const ask = (authorization: string) =>
    provider.authenticate({
      api: 's3',
      method: 'GET',
      rawPath: '/',
      rawQuery: '',
      headers: { authorization },
      host: 'h',
      secure: true,
    })
  const first = await ask(basic('ada'))
  t.same(first?.identity?.groups?.toSorted(), ['operators', 'readers'])
  t.equal(ask(basic('ada')), first, 'at once')
  t.equal(asked, 1)
  for (const count of [2, 3]) {
    await t.rejects(ask(basic('ada', 'wrong')) as Promise<unknown>, { code: 'AccessDenied' })
    t.equal(asked, count)
  }
  await clock.advance(60_000)
  t.match(await ask(basic('ada')), { method: 'header', identity: { accessKey: 'ada' } })
  t.equal(asked, 4)
})

t.test('passwords leave this machine over TLS alone', t => {
  for (const good of ['ldaps://ldap.example.org', 'ldap://127.0.0.1:389', 'ldap://[::1]', 'ldap://localhost']) {
    t.equal(checkUrl(good), undefined, good)
  }
  for (const bad of [
    'ldap://ldap.example.org',
    'http://127.0.0.1',
    'ldap.example.org',
    '',
    'ldap://127.0.0.1.example.org',
  ]) {
    t.match(checkUrl(bad), /must begin with ldaps/, bad)
  }
  t.end()
})
