/** `svcctl dist keygroup`: from no key to one that has been rotated out. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

  for (const line of [
    'add-key home films',
    'add-key home films --generate --public own.pem',
    'add-key home films --public own.pem --algorithm rsa',
    'add-key home films --public own.pem --no-store-private',
  ]) {
    t.equal((await keygroup(line)).code, 2, line)
  }
  t.equal((await keygroup('add-key home films --public own.pem')).code, 5, 'it is there already')
  t.equal((await keygroup('add-key home none --generate')).code, 3)

  t.equal((await keygroup(`remove-key home films ${id}`)).code, 2, 'it asks first')
  t.equal((await keygroup(`remove-key home films ${id} --yes`)).code, 0)
  t.equal((await keygroup(`remove-key home films ${id} --yes`)).code, 3)
  const removed = await keygroup('remove home films --yes')
  t.match(removed.stdout, /Remove keygroup films: done\./)
  t.equal((await keygroup('get home films')).code, 3)
})
