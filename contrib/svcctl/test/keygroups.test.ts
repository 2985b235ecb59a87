/** `svcctl dist keygroup`: from no key to one that has been rotated out. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import 'svc/plugins/key-groups/api'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer({ derivesStoreKey: true })
t.teardown(() => server.stop())
const { run, folder } = createSession(temporaryFolder(t))
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
  env: { SVCCTL_SECRET_KEY: 'change-me-please' },
})
const keygroup = (line: string) => run(['dist', 'keygroup', ...line.split(' ')])

const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ownPem = own.publicKey.export({ type: 'spki', format: 'pem' }).toString()
writeFileSync(join(folder, 'own.pem'), ownPem)
writeFileSync(join(folder, 'private.pem'), own.privateKey.export({ type: 'pkcs8', format: 'pem' }))

t.test('a group is created with a key of mine, shown, changed and listed', async t => {
  const created = await keygroup('create home films --key own.pem --comment films')
  t.equal(created.code, 0, created.stderr)
  const id = /Key-Pair-Id: (K[A-Z2-7]{13})/.exec(created.stderr)![1]!
  const [group] = (await keygroup('get home films --json')).records
  t.match(group, { id: 'films', comment: 'films', keys: [{ id, algorithm: 'rsa', publicKey: ownPem, enabled: true }] })

  const shown = await keygroup('get home films')
  writeFileSync(join(folder, 'films.json'), shown.stdout.replace('"allowSha1": false', '"allowSha1": true'))
  t.equal((await keygroup('set home films films.json')).code, 0)
  t.match((await keygroup('get home films --json')).records, [{ keys: [{ id, allowSha1: true }] }])
  t.match((await keygroup('list home')).stdout, /ID +COMMENT +(USED BY +)?UPDATED AT\n *films +films/)
  t.equal((await keygroup('set home films films.json --if-match 0123')).code, 5)

  const again = await keygroup('create home films')
  t.equal(again.code, 5)
  t.match(again.stderr, /There is a key group "films" already/)
  const refused = await keygroup('create home songs --key private.pem')
  t.equal(refused.code, 1)
  t.match(refused.stderr, /is a private key\. Nothing was stored/)
  t.notMatch(refused.stderr, /PRIVATE KEY-----/)
  t.equal((await keygroup('get home songs')).code, 3)
})

t.test('a pair is made; its private key is shown once, or is in a file of its own', async t => {
  const made = await keygroup('add-key home films --generate --name second')
  t.equal(made.code, 0, made.stderr)
  const pem = /-----BEGIN PRIVATE KEY-----.*-----END PRIVATE KEY-----\n/s.exec(made.stdout)![0]
  t.equal(createPrivateKey(pem).asymmetricKeyType, 'ed25519')
  t.match(made.stderr, /not shown again/)
  const toFile = await keygroup(
    'add-key home films --generate --algorithm rsa --no-store-private --private-key-out out.pem --json',
  )
  t.equal(toFile.code, 0, toFile.stderr)
  t.notMatch(toFile.stdout + toFile.stderr, 'PRIVATE')
  t.match(toFile.records, [{ algorithm: 'rsa', hasPrivateKey: false }])
  const path = join(folder, 'out.pem')
  t.equal(statSync(path).mode & 0o777, 0o600)
  const [{ publicKey, id }] = toFile.records as [{ publicKey: string; id: string }]
  t.equal(createPublicKey(readFileSync(path)).export({ type: 'spki', format: 'pem' }), publicKey)

  const keyCount = async () =>
    ((await keygroup('get home films --json')).records as [{ keys: unknown[] }])[0].keys.length
  const before = await keyCount()
  const overwriting = await keygroup('add-key home films --generate --private-key-out out.pem')
  t.match(overwriting, { code: 1, stderr: /out\.pem already exists and is not changed/ })
  t.equal((await keygroup('add-key home films --generate --private-key-out gone/new.pem')).code, 3, 'no such folder')
  t.equal(createPublicKey(readFileSync(path)).export({ type: 'spki', format: 'pem' }), publicKey)
  t.equal(await keyCount(), before, 'no key was made that has no place')
  t.equal((await keygroup('add-key home none --generate --private-key-out new.pem')).code, 3)
  t.notOk(existsSync(join(folder, 'new.pem')))

  for (const line of [
    'add-key home films',
    'add-key home films --generate --public own.pem',
    'add-key home films --public own.pem --algorithm rsa',
    'add-key home films --public own.pem --no-store-private',
  ]) {
    t.equal((await keygroup(line)).code, 2, line)
  }
  t.equal((await keygroup('add-key home films --public own.pem')).code, 5, 'the key already exists')
  t.equal((await keygroup('add-key home none --generate')).code, 3)

  t.equal((await keygroup(`remove-key home films ${id}`)).code, 2, 'it asks first')
  t.equal((await keygroup(`remove-key home films ${id} --yes`)).code, 0)
  t.equal((await keygroup(`remove-key home films ${id} --yes`)).code, 3)
  const removed = await keygroup('remove home films --yes')
  t.match(removed.stdout, /Remove keygroup films: done\./)
  t.equal((await keygroup('get home films')).code, 3)
})

t.test('dist sign: URLs and cookies for a path with signed access', async t => {
  await server.s3.send(new CreateBucketCommand({ Bucket: 'films' }))
  await keygroup('create home films')
  await keygroup('add-key home films --generate --private-key-out films.pem')
  const document = {
    aliases: ['www.example.test'],
    origin: { bucket: 'films' },
    defaultBehavior: { access: 'signed', signing: { keyGroup: 'films' } },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/open/' }, access: 'public' }],
  }
  writeFileSync(join(folder, 'site.json'), JSON.stringify(document))
  const stored = await run(['dist', 'set', 'home/site', 'site.json'])
  t.equal(stored.code, 0, stored.stderr)
  const sign = (...args: string[]) => run(['dist', 'sign', 'home/site', ...args])
  const verify = async (text: string, more: object = {}) => {
    const { protocol, host, pathname, search } = new URL(text)
    const verdict = await server.kernel.services.keyGroups.verify('films', {
      secure: protocol === 'https:',
      host,
      path: pathname,
      query: search.slice(1),
      cookie: undefined,
      clientAddress: '192.0.2.7',
      nowMs: Date.now(),
      holdsFromProxy: false,
      ...more,
    })
    return verdict.isValid ? verdict.carrier : verdict.reason
  }
  const made = await sign('https://www.example.test/a.mp4', '--expire', '2h', '--ip', '192.0.2.0/24')
  t.equal(made.code, 0, made.stderr)
  t.match(made.stderr, /Signed by K[A-Z2-7]{13}, good until /)
  t.equal(await verify(made.stdout.trim()), 'url')
  t.equal(await verify(made.stdout.trim(), { clientAddress: '192.0.2.255', nowMs: Date.now() + 7_300_000 }), 'expired')
  const late = await sign('https://www.example.test/a.mp4', '--start', '30m')
  t.equal(await verify(late.stdout.trim()), 'not_yet')
  const cookies = await sign('/hd/', '--cookies', '--resource', 'http://www.example.test/hd/*')
  t.equal(cookies.code, 0, cookies.stderr)
  const lines = cookies.stdout.trim().split('\n')
  t.match(lines[0], /^Set-Cookie: Cdn-Policy=\S+; Domain=www\.example\.test; Path=\/hd\/; Expires=.* GMT; HttpOnly$/)
  const cookie = lines.map(line => /: ([^;]+)/.exec(line)![1]).join('; ')
  t.equal(await verify('http://www.example.test/hd/1.ts', { cookie }), 'cookies')
  const refused = await sign('/open/x')
  t.equal(refused.code, 1)
  t.match(refused.stderr, /does not have signed access/)
  t.equal((await sign('/x', '--key-id', 'KNOBODY')).code, 3)
})
