/** Both protocols over real TLS: the contract, fail-over, refusals, and a whole server with a key server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KmsBackend } from 'svc/plugins/kms/api'
import { kmsBackendContract } from 'svc/plugins/kms/contract'
import standard from 'svc/plugins/standard'
import { createFakeClock, createSystemPorts, startKernel } from 'svc/testing'
import t, { type Test } from 'tap'
import { checkRemote, type RemoteConfig } from '../config.ts'
import plugin from '../index.ts'
import { createKes } from '../kes.ts'
import { createKeyServers } from '../key-servers.ts'
import { createTransit } from '../transit.ts'
import { createCertificates, type KeyServer, Keys, startKeyServer } from './key-server.ts'

const folder = await mkdtemp(join(tmpdir(), 'svc-kms-remote-'))
t.teardown(() => rm(folder, { recursive: true }))
const certificates = createCertificates(folder)
const { random } = createSystemPorts()
const context = Buffer.from('{}')
const main = 'main-key'

async function start(t: Test, protocol: 'kes' | 'transit', keys = new Keys(main)): Promise<KeyServer> {
  const server = await startKeyServer(protocol, certificates, keys)
  t.teardown(() => server.stop())
  return server
}

function connect(
  t: Test,
  protocol: 'kes' | 'transit',
  servers: readonly KeyServer[],
  more: { token?: string; client?: { certificate: string; key: string }; authorities?: string; clock?: never } = {},
) {
  const { certificate, key } = more.client ?? certificates.client
  const keyServers = createKeyServers({
    endpoints: servers.map(({ url }) => url),
    clientCertificate: certificate,
    clientKey: key,
    authorities: more.authorities ?? certificates.authority,
    timeoutMs: 1000,
  })
  const clock = more.clock ?? createSystemPorts().clock
  const transit = { servers: keyServers, defaultKeyId: main, token: more.token, mount: 'transit', namespace: undefined }
  const backend = protocol === 'kes' ? createKes(keyServers, main) : createTransit({ ...transit, random, clock })
  t.teardown(() => backend.stop?.())
  return backend
}

for (const protocol of ['kes', 'transit'] as const) {
  t.test(`${protocol} keeps the contract`, t =>
    kmsBackendContract(t, async t => ({ backend: connect(t, protocol, [await start(t, protocol)]) })),
  )

  t.test(
    `${protocol}: the next server is asked where one does not answer, and all of them tell how they are`,
    async t => {
      const keys = new Keys(main)
      const servers = [await start(t, protocol, keys), await start(t, protocol, keys), await start(t, protocol, keys)]
      const backend: KmsBackend & { probe(): Promise<void> } = connect(t, protocol, servers)
      const { plaintext, wrapped } = await backend.generate(main, context)
      servers[0]!.mode = 'fail'
      t.ok((await backend.unwrap(main, wrapped, context)).equals(plaintext), 'one is sealed')
      servers[1]!.mode = 'hang'
      t.ok((await backend.unwrap(main, wrapped, context)).equals(plaintext), 'and one hangs')
      t.same(
        backend.status().endpoints.map(({ online }) => online),
        [false, false, true],
      )
      const before = servers[0]!.requests.length + servers[1]!.requests.length
      await backend.unwrap(main, wrapped, context)
      t.equal(
        servers[0]!.requests.length + servers[1]!.requests.length,
        before,
        'those that failed are not asked first',
      )
      await servers[2]!.stop()
      await t.rejects(async () => backend.unwrap(main, wrapped, context), {
        code: 'kms_unavailable',
        status: 503,
        message: /answers 503.*in time.*ECONN/,
      })
      t.match(backend.status(), { online: false, error: /503/ })
      servers[0]!.mode = 'fine'
      await backend.probe()
      t.match(backend.status(), { online: true, error: '', version: /^(2025|1\.20)/ })
      t.same(
        backend.status().endpoints.map(({ online }) => online),
        [true, false, false],
      )
      t.ok((await backend.unwrap(main, wrapped, context)).equals(plaintext))
    },
  )

  t.test(
    `${protocol}: a client without a trusted certificate, or that does not trust the server, is refused`,
    async t => {
      const server = await start(t, protocol)
      const stranger = connect(t, protocol, [server], { client: certificates.stranger })
      await t.rejects(async () => stranger.generate(main, context), { code: 'kms_unavailable' })
      const distrusting = connect(t, protocol, [server], { authorities: certificates.stranger.certificate })
      await t.rejects(async () => distrusting.generate(main, context), { code: 'kms_unavailable' })
      t.same(server.requests, [], 'no request came so far')
      await connect(t, protocol, [server], { authorities: folder }).generate(main, context)
      t.pass('authorities in a folder')
    },
  )
}

t.test('kes: former releases use POST and list keys in lines', async t => {
  const server = await start(t, 'kes')
  server.mode = 'former'
  const backend = connect(t, 'kes', [server])
  const { plaintext, wrapped } = await backend.generate(main, context)
  t.ok((await backend.unwrap(main, wrapped, context)).equals(plaintext))
  await t.rejects(backend.createKey(main), { code: 'already_exists' })
  t.same(await backend.listKeys('', 10), [{ id: main, createdMs: undefined }])
  t.equal(server.requests.filter(line => line.startsWith('PUT')).length, 1, 'learned once')
})

t.test('transit: tokens, their expiry, and versions of keys', async t => {
  const keys = new Keys(main)
  const server = await start(t, 'transit', keys)
  const clock = createFakeClock()
  const given = connect(t, 'transit', [server], { token: 'given-token' })
  await given.generate(main, context)
  t.notOk(server.requests.some(line => line.includes('login')))
  const wrong = connect(t, 'transit', [server], { token: 'wrong-token' })
  await t.rejects(async () => wrong.generate(main, context), { code: 'kms_unavailable', message: /does not allow/ })
  const backend = connect(t, 'transit', [server], { clock: clock as never })
  const { plaintext, wrapped } = await backend.generate(main, context)
  server.tokens.clear()
  t.ok((await backend.unwrap(main, wrapped, context)).equals(plaintext), 'it logs in again')
  t.equal(await backend.isCurrent(main, wrapped), true)
  keys.rotate(main)
  await clock.advance(60_000)
  t.equal(await backend.isCurrent(main, wrapped), false)
  t.ok((await backend.unwrap(main, wrapped, context)).equals(plaintext))
  t.equal(await backend.isCurrent(main, await backend.wrap(main, plaintext, context)), true)
})

t.test('the configuration must be complete, with HTTPS', async t => {
  const base = { protocol: 'kes', mount: 'transit', timeoutMs: 1000, probeIntervalMs: 1000 } as const
  const check = (more: Partial<RemoteConfig>) => checkRemote({ ...base, endpoints: ['https://k'], ...more }).join('\n')
  t.equal(checkRemote({ ...base, endpoints: [] }).length, 0)
  t.match(check({}), /KEY_NAME[\s\S]*CLIENT_CERT/)
  t.match(check({ keyName: 'k', clientCertificate: '/c' }), /go together/)
  t.match(check({ keyName: 'k', token: 't' }), /kes needs/)
  t.equal(check({ keyName: 'k', token: 't', protocol: 'transit' }), '')
  for (const url of ['http://k', 'nonsense', 'https://user:secret@k', 'https://k?a=b']) {
    const config = { 'kms-remote': { endpoints: [url], keyName: 'k' } }
    await t.rejects(startKernel({ plugins: [...standard, plugin], config }), { name: 'ConfigurationError' }, url)
  }
})

t.test('a whole server: encrypted objects need the key server, others do not', async t => {
  const keys = new Keys(main)
  const key = await start(t, 'kes', keys)
  const drive = await mkdtemp(join(folder, 'drive-'))
  const kernel = await startKernel({
    plugins: [...standard, plugin],
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [drive] },
      kms: { cachedKeysMax: 0 },
      'kms-remote': {
        endpoints: [key.url],
        keyName: main,
        clientCertificate: certificates.client.certificate,
        clientKey: certificates.client.key,
        authorities: certificates.authority,
        timeoutMs: 500,
        probeIntervalMs: 100,
      },
    },
  })
  t.teardown(() => kernel.stop())
  const { objects, kms } = kernel.services
  const owner = { accessKey: 'admin', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'admin' }
  const { encryption } = kernel.services
  keys.create('letters')
  const named = { algorithm: 'aws:kms', kmsKeyId: 'letters' } as const
  await objects.createBucket('archive', { region: 'us-east-1', owner })
  await objects.createBucket('vault', { region: 'us-east-1', owner })
  for (const bucket of ['vault', 'archive']) await encryption.replace(bucket, named)
  t.equal((await kms.status()).error, '')
  keys.delete('letters')
  t.match(await kms.status(), {
    online: true,
    error: /^the key "letters" of the default encryption of the bucket "archive" is not there: create it$/,
  })
  keys.delete(main)
  t.match((await kms.status()).error, /^the default key "main-key" is not there: create it; the key "letters"/)
  keys.create(main)
  keys.create('letters')
  for (const bucket of ['vault', 'archive']) await encryption.replace(bucket, undefined)
  const put = (name: string, bytes: Buffer, encryptionRequest?: { type: 'SSE-S3' }) =>
    objects.putObject({
      bucket: 'vault',
      key: name,
      attributes: { system: {}, user: {}, storageClass: 'STANDARD', encryptionRequest },
      checksumAlgorithm: undefined,
      body: {
        sizeBytes: bytes.length,
        expectedDigests: () => ({ md5: undefined, checksum: undefined }),
        consume: async sink => sink(bytes),
      },
    })
  const read = async (name: string) => {
    const version = await objects.getObject('vault', name)
    const data = await objects.read(version, 0, version.sizeBytes)
    if (data.kind === 'whole') return data.bytes
    const chunks: Buffer[] = []
    for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next())
      chunks.push(Buffer.from(chunk.bytes))
    data.close()
    return Buffer.concat(chunks)
  }
  const small = random.bytes(1000)
  const large = random.bytes(500_000)
  for (const [name, bytes] of [
    ['small', small],
    ['large', large],
  ] as const) {
    await put(name, bytes, { type: 'SSE-S3' })
    await put(`plain-${name}`, bytes)
    t.ok((await read(name)).equals(bytes))
  }
  const status = await kms.status()
  t.match(status, { backend: 'kes', defaultKeyId: main, online: true })
  t.notOk('formerKeys' in status, 'those of the key server are its own')
  key.mode = 'hang'
  for (const name of ['small', 'large']) {
    await t.rejects(read(name), { code: 'kms_unavailable', status: 503 }, name)
    await t.rejects(put('refused', small, { type: 'SSE-S3' }), { code: 'kms_unavailable' })
    t.ok((await read(`plain-${name}`)).length > 0, 'what is not encrypted is served')
  }
  await put('plain-new', small)
  await t.rejects(async () => objects.getObject('vault', 'refused'), { code: 'NoSuchKey' })
  t.match(await kms.status(), { online: false, endpoints: [{ online: false }], error: /in time/ })
  key.mode = 'fine'
  for (let i = 0; i < 1800 && !(await kms.status()).online; i++) await new Promise(resolve => setTimeout(resolve, 50))
  t.match(await kms.status(), { online: true }, 'it comes back by itself')
  t.ok((await read('large')).equals(large))

  key.says = path => (/decrypt/.test(path) ? { plaintext: Buffer.alloc(7).toString('base64') } : undefined)
  await t.rejects(read('small'), { code: 'kms_unavailable' }, 'a key that is too short')
  const long = { plaintext: Buffer.alloc(32).toString('base64'), ciphertext: Buffer.alloc(700_000).toString('base64') }
  key.says = path => (/generate/.test(path) ? long : undefined)
  await t.rejects(put('refused', small, { type: 'SSE-S3' }), { code: 'kms_unavailable' }, 'more than a key')
  for (const said of [null, 'no JSON', { created_at: [] }]) {
    key.says = path => (/describe/.test(path) ? said : undefined)
    await kms.requireKey(main)
  }
  key.says = path => (/list/.test(path) ? { names: ['..', '<b>', main, null] } : undefined)
  t.same(
    (await kms.listKeys({ startAfter: '', limit: 10 })).keys.map(({ id }) => id),
    [main],
  )
})
