import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import { checkSecretKey } from 'svc/plugins/sealing/api'
import standard from 'svc/plugins/standard'
import { createFakeClock, createSeededRandom, createSystemPorts, startKernel } from 'svc/testing'
import t, { type Test } from 'tap'
import type { KmsBackend, KmsBackendFactory, KmsContext } from '../api.ts'
import { type CreatedKey, createBuiltInKeys } from '../built-in-keys.ts'
import { kmsBackendContract } from '../contract.ts'
import { createDataKeyCache } from '../data-key-cache.ts'
import { kmsErrors } from '../errors.ts'

const masterKey = (name: string, byte: number) => `${name}:${Buffer.alloc(32, byte).toString('base64')}`

/** The plugin over a real drive. */
async function startKms(
  t: Test,
  { folder, ...config }: { folder?: string; secretKey?: string; previousSecretKeys?: string[] } = {},
  backend?: KmsBackendFactory,
) {
  const drive = folder ?? (await mkdtemp(join(tmpdir(), 'svc-kms-')))
  const other = definePlugin({
    name: 'other-keys',
    setup: ({ contribute }) => backend && contribute('kms.backend', 'other', backend),
  })
  const kernel = await startKernel({
    plugins: [...standard, other],
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [drive] },
      prometheus: { authType: 'public' },
      kms: config,
    },
  })
  let isRunning = true
  const stop = async () => {
    if (!isRunning) return
    isRunning = false
    const failures = await kernel.stop()
    if (failures.length > 0) throw new AggregateError(failures)
  }
  t.teardown(async () => {
    await stop()
    await rm(drive, { recursive: true, force: true })
  })
  return { kms: kernel.services.kms, kernel, folder: drive, stop }
}

function endpointOf({ services }: Awaited<ReturnType<typeof startKernel>>): string {
  return `http://127.0.0.1:${services.http.listeners().find(({ name }) => name === 's3')!.port}`
}

/** Created keys in memory. */
function memoryKeys(): Parameters<typeof createBuiltInKeys>[0]['created'] {
  const known = new Map<string, { createdMs: number }>()
  const documents: Partial<Parameters<typeof createBuiltInKeys>[0]['created']> = {
    get: id => (known.has(id) ? { id, value: known.get(id)!, etag: '', sequence: 0, modifiedMs: 0 } : undefined),
    async put(id, value: typeof CreatedKey extends never ? never : { createdMs: number }) {
      if (known.has(id)) throw Object.assign(new Error('there'), { code: 'precondition_failed' })
      known.set(id, value)
      return { etag: '', sequence: 0, modifiedMs: 0 }
    },
    list: ({ startAfter = '', limit = 1000 } = {}) => ({
      documents: [...known.keys()]
        .filter(id => id > startAfter)
        .sort()
        .slice(0, limit)
        .map(id => ({ id, value: known.get(id)!, etag: '', sequence: 0, modifiedMs: 0 })),
      next: undefined,
    }),
  }
  return documents as ReturnType<typeof memoryKeys>
}

function builtIn(key: string, previousMasterKeys: string[] = []): KmsBackend {
  const { clock, random } = createSystemPorts()
  return createBuiltInKeys({ masterKey: key, previousMasterKeys, created: memoryKeys(), random, clock })
}

t.test(
  'a master key has a name and 32 bytes in base64; the problem with one is reported without repeating it',
  async t => {
    const key = Buffer.alloc(32, 7).toString('base64')
    t.equal(checkSecretKey(`default:${key}`), undefined)
    for (const wrong of [
      '',
      key,
      `:${key}`,
      `Upper:${key}`,
      `default:${key.slice(4)}`,
      `default:${key}!`,
      'default:',
    ]) {
      const message = checkSecretKey(wrong)
      t.type(message, 'string', wrong)
      if (wrong.length > 10) t.notOk(message!.includes(wrong.slice(-10)))
    }
  },
)

t.test('the built-in keys keep the contract', t =>
  kmsBackendContract(t, () => ({ backend: builtIn(masterKey('default', 1)) })),
)

t.test('a key wrapped under a former master key is unwrapped with that one only, and is not current', async t => {
  const context = Buffer.from('{}')
  const before = builtIn(masterKey('default', 1))
  const { plaintext, wrapped } = await before.generate('default', context)
  // The same name, other bytes: told apart by their version.
  for (const next of ['default', 'next']) {
    const after = builtIn(masterKey(next, 2), [masterKey('default', 1)])
    t.ok((await after.unwrap('default', wrapped, context)).equals(plaintext))
    t.equal(await after.isCurrent('default', wrapped), false)
    const again = await after.wrap('default', plaintext, context)
    t.equal(await after.isCurrent('default', again), true)
    const later = builtIn(masterKey(next, 2))
    t.ok((await later.unwrap('default', again, context)).equals(plaintext))
    t.throws(() => later.unwrap('default', wrapped, context), {
      code: 'kms_unavailable',
      message: /SECRET_KEY_PREVIOUS/,
    })
  }
})

t.test('a wrapped key names its backend and key, and is unwrapped after a restart', async t => {
  const first = await startKms(t, { secretKey: masterKey('default', 1) })
  const { kms } = first
  t.same([kms.isConfigured, kms.defaultKeyId], [true, 'default'])
  const made = await kms.generate(undefined, { b: '1', a: '2' })
  t.equal(made.keyId, 'default')
  t.ok(made.wrapped.includes('builtin'))
  t.ok(
    (await kms.unwrap(made.wrapped, { a: '2', b: '1' })).equals(made.plaintext),
    'the order of names does not matter',
  )
  const others: KmsContext[] = [{ a: '2' }, { a: '2', b: '1', c: '' }, { a: '1', b: '2' }]
  for (const context of others) {
    await t.rejects(async () => kms.unwrap(made.wrapped, context), { code: 'kms_open_failed' })
  }
  for (const bytes of [Buffer.alloc(0), Buffer.of(1), Buffer.of(9, 9), Buffer.of(1, 200, 1)]) {
    await t.rejects(async () => kms.unwrap(bytes, {}), { code: /kms_open_failed|kms_unavailable/ })
  }
  t.equal((await kms.createKey('second')).id, 'second')
  await t.rejects(kms.createKey('a b'), { code: 'invalid_key_id' })
  await t.rejects(async () => kms.requireKey('third'), { code: 'kms_key_not_found' })
  t.equal(await kms.isCurrent(made.wrapped, undefined), true)
  t.equal(await kms.isCurrent(made.wrapped, 'second'), false)
  const moved = await kms.wrap('second', made.plaintext, { c: '3' })
  t.same(
    (await kms.listKeys({ startAfter: '', limit: 10 })).keys.map(({ id, isDefault }) => [id, isDefault]),
    [
      ['default', true],
      ['second', false],
    ],
  )
  t.equal((await kms.listKeys({ startAfter: '', limit: 1000 })).keys.length, 2, 'a whole page of the Admin API')
  t.same(await kms.listKeys({ startAfter: '', limit: 1 }), {
    keys: [{ id: 'default', createdMs: undefined, isDefault: true }],
    next: 'default',
  })
  await first.stop()

  const second = await startKms(t, {
    folder: first.folder,
    secretKey: masterKey('next', 2),
    previousSecretKeys: [masterKey('default', 1)],
  })
  t.ok((await second.kms.unwrap(moved, { c: '3' })).equals(made.plaintext))
  t.equal(await second.kms.isCurrent(made.wrapped, undefined), false)
  await second.kms.requireKey('second')
  await second.stop()

  const none = await startKms(t)
  t.same([none.kms.isConfigured, none.kms.defaultKeyId], [false, undefined])
  await t.rejects(async () => none.kms.generate(undefined, {}), { code: 'kms_not_configured' })
  await t.rejects(async () => none.kms.unwrap(made.wrapped, {}), { code: 'kms_unavailable' })
})

t.test(
  'a key server is preferred, its failures are counted, and keys that it unwrapped are cached for a while',
  async t => {
    let opened = 0
    let isDown = false
    const inner = builtIn(masterKey('remote', 3))
    const remote: KmsBackend = {
      ...inner,
      async unwrap(...wrapped) {
        opened++
        if (isDown) throw kmsErrors.kms_unavailable()
        return inner.unwrap(...wrapped)
      },
    }
    const factory: KmsBackendFactory = { isConfigured: true, kind: 'remote', create: () => remote }
    const { kms, kernel } = await startKms(t, { secretKey: masterKey('default', 1) }, factory)
    t.match(await kms.status(), { backend: 'other', defaultKeyId: 'remote' })
    const { plaintext, wrapped } = await kms.generate(undefined, {})
    const first = await kms.unwrap(wrapped, {})
    first.fill(0)
    t.ok((await kms.unwrap(wrapped, {})).equals(plaintext), 'what is remembered is nobody else’s')
    t.equal(opened, 1)
    isDown = true
    await t.rejects(async () => kms.unwrap((await kms.generate(undefined, {})).wrapped, {}), {
      code: 'kms_unavailable',
    })
    t.match(await kms.status(), { online: true }, 'as the backend says')
    const scraped = await (await fetch(`${endpointOf(kernel)}/svc/metrics/v1/node`)).text()
    t.match(scraped, /svc_kms_errors_total\{op="decrypt",reason="unavailable".*\} 1\n/)
    t.match(scraped, /svc_kms_online\{.*\} 1\n/)
    // The built-in keys still unwrap the keys that they wrapped before.
    const before = await startKms(t, { secretKey: masterKey('default', 1) })
    const old = await before.kms.generate(undefined, {})
    t.ok((await kms.unwrap(old.wrapped, {})).equals(old.plaintext))
    t.equal(await kms.isCurrent(old.wrapped, undefined), false)
  },
)

t.test('names of former master keys stay valid key ids; without a current one, former ones unwrap', async t => {
  const first = await startKms(t, { secretKey: masterKey('default', 1) })
  const { folder } = first
  const made = await first.kms.generate(undefined, {})
  await first.stop()
  for (const previousSecretKeys of [[masterKey('default', 1)], []]) {
    const { kms, stop } = await startKms(t, { folder, secretKey: masterKey('next', 2), previousSecretKeys })
    t.equal((await kms.generate('default', {})).keyId, 'default', 'objects and buckets have this key')
    await kms.requireKey('default')
    await t.rejects(kms.createKey('default'), { code: 'already_exists' })
    t.strictSame(
      (await kms.listKeys({ startAfter: '', limit: 10 })).keys.map(({ id, isDefault }) => [id, isDefault]),
      [
        ['default', false],
        ['next', true],
      ],
    )
    const again = await kms.wrap('default', made.plaintext, {})
    t.equal(await kms.isCurrent(again, 'default'), true)
    await stop()
  }
  const former = [masterKey('default', 1), masterKey('next', 2)]
  const alone = await startKms(t, { folder, previousSecretKeys: former })
  t.match(await alone.kms.status(), { isConfigured: false, error: '' })
  t.ok((await alone.kms.unwrap(made.wrapped, {})).equals(made.plaintext))
  await t.rejects(async () => alone.kms.generate(undefined, {}), { code: 'kms_not_configured' })
  await alone.stop()
})

t.test('a change to a key server, and the report when it is missing', async t => {
  const keys = builtIn(masterKey('main', 3))
  const asked: string[] = []
  const server: KmsBackend = {
    ...keys,
    async getKey(id) {
      asked.push(id)
      return keys.getKey(id)
    },
  }
  const factory: KmsBackendFactory = { isConfigured: true, kind: 'remote', create: () => server }
  const first = await startKms(t, { secretKey: masterKey('default', 1) })
  const { folder } = first
  const made = await first.kms.generate(undefined, {})
  await first.stop()
  // The former keys alone are enough to unwrap the keys that they wrapped.
  const { kms, stop } = await startKms(t, { folder, previousSecretKeys: [masterKey('default', 1)] }, factory)
  t.ok((await kms.unwrap(made.wrapped, {})).equals(made.plaintext))
  t.equal(await kms.presentKeyId('default'), 'main', 'what stood for the default key stands for that of the server')
  t.equal(await kms.presentKeyId('default'), 'main')
  t.strictSame(asked, ['default'], 'the server is asked once')
  t.equal(await kms.presentKeyId('letters'), 'letters')
  for (const id of ['default', 'letters']) {
    await t.rejects(async () => kms.generate(id, {}), { code: 'kms_key_not_found' }, 'what requests name is meant')
    await t.rejects(async () => kms.requireKey(id), { code: 'kms_key_not_found' })
  }
  for (const id of ['..', 'a/b', 'a'.repeat(300)])
    await t.rejects(async () => kms.generate(id, {}), { code: 'kms_key_not_found' })
  t.notOk(
    asked.some(id => id.includes('..')),
    'what can be no key is not asked for',
  )
  const moved = await kms.wrap('default', made.plaintext, {})
  t.equal(await kms.isCurrent(moved, 'default'), true)
  t.equal(await kms.isCurrent(made.wrapped, 'default'), false)
  t.match(await kms.status(), { isConfigured: true, backend: 'other', error: '' })
  await stop()
  const without = await startKms(t, { folder, secretKey: masterKey('default', 1) })
  t.match(await without.kms.status(), {
    backend: 'builtin',
    error: /by the key server "other", which is not configured/,
  })
  t.match(
    without.kernel.logs.filter(({ level }) => level === 'error'),
    [{ msg: /which is not configured/ }],
  )
  t.match(await without.kernel.services.encryption.reseal(undefined), { failed: 0 })
  t.match(await without.kms.status(), { error: '' }, 'nothing is wrapped by it any more')
})

t.test('cached keys are bounded in number and time, and are overwritten with zeros', async t => {
  const clock = createFakeClock()
  const random = createSeededRandom(1)
  const cache = createDataKeyCache(clock, 2, 1000)
  const keys = Array.from({ length: 3 }, () => random.bytes(32))
  const context = Buffer.from('{}')
  for (const key of keys) cache.set(key, context, key)
  t.equal(cache.get(keys[0]!, context), undefined, 'two are remembered')
  t.ok(cache.get(keys[2]!, context)!.equals(keys[2]!))
  t.equal(cache.get(keys[2]!, Buffer.from('{"a":1}')), undefined, 'in their context')
  await clock.advance(1001)
  t.equal(cache.size, 0, 'gone from memory, though nobody asked')
  t.equal(cache.get(keys[2]!, context), undefined)
  cache.set(keys[0]!, context, keys[0]!)
  await clock.advance(600)
  cache.set(keys[1]!, context, keys[1]!)
  await clock.advance(500)
  t.same([cache.size, cache.get(keys[1]!, context)!.equals(keys[1]!)], [1, true], 'each in its own time')
  await clock.advance(2000)
  t.equal(cache.size, 0)
  const off = createDataKeyCache(clock, 10, 0)
  off.set(keys[0]!, context, keys[0]!)
  t.equal(off.get(keys[0]!, context), undefined)
})

t.test('operations of the Admin API', async t => {
  const without = await startAdmin()
  t.teardown(() => without.stop())
  const status = '/api/v1/kms/status'
  const keys = '/api/v1/kms/keys'
  t.match((await without.signed({ path: status })).json, { configured: false, online: false })
  for (const call of [{ path: keys }, { path: keys, method: 'POST', body: { id: 'a' } }]) {
    const answer = await without.signed(call)
    t.same([answer.status, answer.json.code], [501, 'not_implemented'])
  }

  const server = await startAdmin({ config: { kms: { secretKey: masterKey('default', 1) } } })
  t.teardown(() => server.stop())
  const { signed } = server
  t.same((await signed({ path: status })).json, {
    configured: true,
    backend: 'builtin',
    defaultKeyId: 'default',
    endpoints: [],
    online: true,
    error: '',
    version: '',
    formerKeys: 0,
  })
  const created = await signed({ path: keys, method: 'POST', body: { id: 'photos' } })
  t.match([created.status, created.json], [201, { id: 'photos', default: false, createdAt: /Z$/ }])
  t.equal((await signed({ path: keys, method: 'POST', body: { id: 'photos' } })).json.code, 'already_exists')
  t.equal((await signed({ path: keys, method: 'POST', body: { id: 'default' } })).json.code, 'already_exists')
  t.equal((await signed({ path: keys, method: 'POST', body: { id: '../x' } })).json.code, 'invalid_argument')
  const first = (await signed({ path: `${keys}?limit=1` })).json
  t.match(first.items, [{ id: 'default', default: true }])
  const second = (await signed({ path: `${keys}?limit=1&cursor=${first.nextCursor}` })).json
  t.match([second.items, second.nextCursor], [[{ id: 'photos' }], ''])
  t.notOk(JSON.stringify(server.kernel.logs).includes(Buffer.alloc(32, 1).toString('base64')))
})

t.test('a former master key that is missing before all data keys are rewrapped is reported at the start', async t => {
  const checks = async ({ kernel }: Awaited<ReturnType<typeof startKms>>) => {
    const answer = await fetch(`${endpointOf(kernel)}/svc/health/ready`)
    return { status: answer.status, kms: ((await answer.json()) as { checks: Record<string, string> }).checks.kms }
  }
  const [a, b] = [masterKey('default', 1), masterKey('default', 2)]
  const started = await startKms(t, { secretKey: a })
  t.same(await checks(started), { status: 200, kms: 'ok' })
  await started.stop()
  const { folder } = started
  const formerKeysOf = async ({ kernel }: Awaited<ReturnType<typeof startKms>>) =>
    (await kernel.services.kms.status()).formerKeys
  // The current one among them is no former one.
  const rotated = await startKms(t, { folder, secretKey: b, previousSecretKeys: [a, b] })
  t.equal(await formerKeysOf(rotated), 1)
  await rotated.stop()
  const early = await startKms(t, { folder, secretKey: b })
  t.equal(await formerKeysOf(early), 0, 'those that it needs and does not have do not count')
  t.match(await checks(early), {
    status: 200,
    kms: /former master key "default" \(version [0-9a-f]{16}\), which is missing/,
  })
  await early.stop()
  const both = await startKms(t, { folder, secretKey: b, previousSecretKeys: [a] })
  t.same(await checks(both), { status: 200, kms: 'ok' })
  t.match(await both.kernel.services.encryption.reseal(undefined), { failed: 0 })
  await both.stop()
  const again = await startKms(t, { folder, secretKey: b, previousSecretKeys: [a] })
  await again.stop()
  const done = await startKms(t, { folder, secretKey: b })
  t.same(await checks(done), { status: 200, kms: 'ok' }, 'resealed, also when the former key stayed for another start')
})
