/** The formats on the drive, which must stay readable: canonical JSON, keys, sealed values, the sealed deployment key. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { pino } from 'pino'
import { canonicalJson, deriveKey, deriveKeyFromPassword, openSealed, seal } from 'svc/plugins/sealing/api'
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import type { StoreService } from '../api.ts'
import { checkDeploymentKey, openDeploymentKey, type SealingCredentials } from '../deployment-key.ts'
import { bucketRange, collectionRange, deploymentKeyKey, documentKey, isDocumentId, parseDocumentKey } from '../keys.ts'
import { createSealer } from '../sealer.ts'
import { findSecretFields, placeAt, secretPlaces } from '../secret-fields.ts'
import { startStore } from './start.ts'

t.test('canonical JSON is that of RFC 8785', async t => {
  const example = {
    numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false],
  }
  t.equal(
    canonicalJson(example),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
  // Section 3.2.3: by UTF-16 code units, which is not the order of code points.
  const names = ['€', '\r', '\ufb33', '1', '😀', '\u0080', 'ö']
  t.equal(
    canonicalJson(Object.fromEntries(names.map(name => [name, 0]))),
    '{"\\r":0,"1":0,"\u0080":0,"ö":0,"€":0,"😀":0,"\ufb33":0}',
  )
  t.equal(canonicalJson({ a: undefined, b: -0 }), '{"b":0}')
  t.equal(canonicalJson(JSON.parse('{"__proto__":{"x":1}}')), '{"__proto__":{"x":1}}')
  const deep = (levels: number): unknown => (levels === 0 ? 0 : [deep(levels - 1)])
  t.doesNotThrow(() => canonicalJson(deep(64)))
  for (const [wrong, field] of [
    [{ a: [1, Number.NaN] }, '/a/1'],
    [{ 'a/b': { '~': 1n } }, '/a~1b/~0'],
    [{ at: new Date() }, '/at'],
    [{ text: '\ud800' }, '/text'],
    [deep(65), '/0'.repeat(64)],
    [() => 1, '/'],
  ] as const) {
    t.throws(() => canonicalJson(wrong), { code: 'invalid_document', status: 400, extra: { Field: field } })
  }
})

t.test('any JSON value is preserved, and the order of properties does not matter', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const text = canonicalJson(value)
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
        assert.equal(canonicalJson(JSON.parse(text)), text)
        const reversed = JSON.parse(JSON.stringify(value), (_, inner) =>
          typeof inner === 'object' && inner !== null && !Array.isArray(inner)
            ? Object.fromEntries(Object.entries(inner).reverse())
            : inner,
        )
        assert.equal(canonicalJson(reversed), text)
      }),
      { numRuns: 300 },
    ),
  )
})

const anyId = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter(id => isDocumentId('global', id))

t.test('keys of documents sort by the bytes of ids, and a range holds exactly the ids with its prefix', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyId, anyId, (a, b) => {
        const [x, y] = [documentKey('global', 'user', a), documentKey('global', 'user', b)]
        assert.equal(Math.sign(x.compare(y)), Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))))
        assert.deepEqual(parseDocumentKey(x), { scope: 'global', collection: 'user', id: a })
        const [start, end] = collectionRange('global', 'user', b)
        const isInside = x.compare(start) >= 0 && x.compare(end) < 0
        assert.equal(isInside, Buffer.from(a).subarray(0, Buffer.byteLength(b)).equals(Buffer.from(b)))
        const other = documentKey('global', 'user-group', a)
        const [all, behind] = collectionRange('global', 'user', '')
        assert.ok(other.compare(all) < 0 || other.compare(behind) >= 0)
      }),
      { numRuns: 500 },
    ),
  )
  const [start, end] = bucketRange('abc')
  const inside = (key: Buffer) => key.compare(start) >= 0 && key.compare(end) < 0
  t.ok(inside(documentKey('bucket', 'policy', 'abc')))
  for (const other of ['ab', 'abcd', 'abc.d', 'abc-d']) t.notOk(inside(documentKey('bucket', 'policy', other)), other)
  t.same(
    ['', 'x'.repeat(1025), '\ud800', 'é'.repeat(513)].map(id => isDocumentId('global', id)),
    [false, false, false, false],
  )
})

t.test('a sealed value is the output of AES-256-GCM', async t => {
  const key = createSecretKey(Buffer.from(Array.from({ length: 32 }, (_, i) => i)))
  const nonce = Buffer.from(Array.from({ length: 12 }, (_, i) => 0xa0 + i))
  const sealed = seal(key, Buffer.from('a secret'), 'the context', nonce)
  // Made with the Python package cryptography 48.0.0.
  t.equal(sealed.toString('hex'), '01a0a1a2a3a4a5a6a7a8a9aaab87380f4826b967cbc665a49490409509ca6c4a42f945c1c6')
  t.equal(openSealed(key, sealed, 'the context').toString(), 'a secret')
  t.throws(() => openSealed(key, sealed, 'another'), { name: 'SealError' })
  t.throws(() => openSealed(createSecretKey(Buffer.alloc(32)), sealed, 'the context'), { name: 'SealError' })
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed)
    changed[i]! ^= 1
    t.throws(() => openSealed(key, changed, 'the context'), { name: 'SealError' }, `byte ${i}`)
  }
  for (const size of [0, 28, sealed.length - 1]) {
    t.throws(() => openSealed(key, sealed.subarray(0, size), 'the context'), { name: 'SealError' })
  }
  // RFC 5869, test case 3.
  const derived = deriveKey(Buffer.alloc(22, 0x0b), Buffer.alloc(0), '')
  t.equal(derived.export().toString('hex'), '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d')
  // RFC 7914, section 12.
  const fromPassword = await deriveKeyFromPassword('password', Buffer.from('NaCl'), { n: 1024, r: 8, p: 16 })
  t.equal(fromPassword.export().toString('hex'), 'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162')
})

t.test('a sealed field opens in its place only', async t => {
  const sealer = createSealer(Buffer.alloc(32, 1), createSeededRandom(1))
  const field = { collection: 'user', id: 'ann', pointer: '/secret' }
  const sealed = sealer.seal(field, Buffer.from('x'))
  t.equal(sealer.open(field, sealed).toString(), 'x')
  for (const other of [{ collection: 'key' }, { id: 'bob' }, { pointer: '/other' }]) {
    t.throws(() => sealer.open({ ...field, ...other }, sealed), { name: 'SealError' })
  }
  t.equal(sealer.fingerprint(field, Buffer.from('x')), sealer.fingerprint(field, Buffer.from('x')))
  t.not(sealer.fingerprint(field, Buffer.from('x')), sealer.fingerprint({ ...field, id: 'bob' }, Buffer.from('x')))
})

t.test('secret fields are found in every part of a schema', async t => {
  const secret = Type.String({ secret: true })
  const schema = Type.Object({
    plain: Type.String(),
    own: Type.Optional(secret),
    list: Type.Array(Type.Object({ key: secret, id: Type.String() })),
    map: Type.Record(Type.String(), secret),
    'a/b': Type.Object({ '~': Type.Union([Type.String(), Type.Null()], { secret: true }) }),
    pair: Type.Tuple([Type.String(), secret]),
    rest: Type.Object({ named: Type.String() }, { additionalProperties: secret }),
  })
  const value = {
    plain: 'p',
    own: '1',
    list: [{ key: '2', id: 'i' }],
    map: { x: '3' },
    'a/b': { '~': '4' },
    pair: ['q', '5'],
    rest: { named: 'r', other: '6' },
  }
  const places = secretPlaces(value, findSecretFields(schema))
  t.same(
    places.map(({ container, name, pointer }) => [pointer, container[name]]).sort(),
    [
      ['/own', '1'],
      ['/list/0/key', '2'],
      ['/map/x', '3'],
      ['/a~1b/~0', '4'],
      ['/pair/1', '5'],
      ['/rest/other', '6'],
    ].sort(),
  )
  for (const { pointer, container, name } of places) t.equal(placeAt(value, pointer).container[name], container[name])
  for (const none of ['', '/none', '/list/9/key', '/plain/x', '/__proto__/x']) {
    t.throws(() => placeAt(value, none), { name: 'RangeError' }, none)
  }
  t.throws(() => findSecretFields(Type.Object({ x: Type.Union([secret, Type.Null()]) })), /inside a union/)
  t.throws(() => findSecretFields(secret), /whole document/)
})

const log = pino({ level: 'silent' })
const masterKey = (name: string, fill: number) => `${name}:${Buffer.alloc(32, fill).toString('base64')}`

t.test('the deployment key is sealed under new credentials only if the former ones are given', async t => {
  const random = createSeededRandom(2)
  let stored: Buffer | undefined
  let writes = 0
  const open = (credentials: SealingCredentials, isNeeded = false) =>
    openDeploymentKey({
      credentials,
      stored,
      isNeeded: async () => isNeeded,
      store: async record => {
        stored = record
        writes++
      },
      random,
      log,
    })
  const [k1, k2] = [masterKey('first', 1), masterKey('second', 2)]
  await t.rejects(open({ rootPassword: 'the password' }, true), { code: 'sealing_key_lost' })
  await t.rejects(open({}), { code: 'sealing_key_missing', message: /SVC_KMS_SECRET_KEY or SVC_ROOT_PASSWORD/ })
  t.equal(writes, 0)
  const key = await open({ rootPassword: 'the password' })
  t.equal(key.length, 32)
  t.notOk(stored!.includes(key) || stored!.includes(key.toString('base64')))
  const rows: [SealingCredentials, 'same' | 'sealed again' | RegExp][] = [
    [{ rootPassword: 'the password' }, 'same'],
    [{ rootPassword: 'new password' }, /SVC_ROOT_PASSWORD_PREVIOUS/],
    [{ rootPassword: 'new password', masterKey: k1 }, /SVC_ROOT_PASSWORD_PREVIOUS/],
    [
      { rootPassword: 'new password', previousRootPassword: 'wrong' },
      /SVC_ROOT_PASSWORD_PREVIOUS is another one as well/,
    ],
    [{ rootPassword: 'new password', previousRootPassword: 'the password' }, 'sealed again'],
    [{ rootPassword: 'the password' }, /another root password/],
    [{ rootPassword: 'new password', masterKey: k1 }, 'sealed again'],
    [{ rootPassword: 'whatever', masterKey: k1 }, 'same'],
    [{ rootPassword: 'whatever', masterKey: k2 }, /named "first".*SVC_KMS_SECRET_KEY_PREVIOUS/],
    [{ rootPassword: 'whatever', masterKey: masterKey('first', 3) }, /named "first"/],
    [{ rootPassword: 'whatever' }, /named "first"/],
    [{ rootPassword: 'whatever', masterKey: k2, previousMasterKeys: [masterKey('x', 9), k1] }, 'sealed again'],
    [{ rootPassword: 'whatever', masterKey: k2 }, 'same'],
    [{ rootPassword: 'last password', previousMasterKeys: [k2] }, 'sealed again'],
    [{ rootPassword: 'last password' }, 'same'],
  ]
  for (const [credentials, expected] of rows) {
    const before = { stored, writes }
    const given = Object.keys(credentials).join(', ')
    const check = () => checkDeploymentKey(Buffer.from(stored!), credentials, async () => true)
    if (expected instanceof RegExp) await t.rejects(check(), { message: expected }, given)
    else await check()
    if (expected instanceof RegExp) {
      await t.rejects(open(credentials), { code: 'sealing_key_wrong', message: expected }, given)
    } else t.ok((await open(credentials)).equals(key), given)
    t.equal(writes - before.writes, expected === 'sealed again' ? 1 : 0)
    if (expected !== 'sealed again') t.equal(stored, before.stored)
  }
  for (const damaged of ['', '{}', '{"format":2}', stored!.toString().replace('32768', '1073741824')]) {
    stored = Buffer.from(damaged)
    await t.rejects(open({ rootPassword: 'last password' }), { code: 'sealing_key_lost' })
  }
})

t.test('a dry run sees that the key is lost, and only where documents need it', async t => {
  const schema = Type.Object({ token: Type.String({ secret: true }) })
  const declare = (store: StoreService) => store.collection({ name: 'with-secret', version: 1, schema })
  const first = await startStore(t, declare)
  const { folder, storage } = first
  const inspect = async () => {
    const { kernel } = await startStore(t, declare, { folder, until: 'set-up' })
    return (await kernel.inspect()).problems
  }
  await storage.execute('user.delete', { key: deploymentKeyKey })
  await first.stop()
  t.same(await inspect(), [], 'no document has a secret: a start makes a new key')
  const second = await startStore(t, declare, { folder })
  await second.collections.put('one', { token: 'x' })
  await second.storage.execute('user.delete', { key: deploymentKeyKey })
  await second.stop()
  t.match(JSON.stringify(await inspect()), /the key that they are sealed with is not in the store/)
  await t.rejects(startStore(t, declare, { folder }), {
    message: /the key that they are sealed with is not in the store/,
  })
})
