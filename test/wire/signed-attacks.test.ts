/** Forged signed URLs and cookies, against a real server: each is refused in every thread, and what is right is taken. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { request } from 'node:http'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/cloudfront-signer'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const strangeRsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')
const ecdsa = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pemOf = (key: typeof rsa.publicKey) => key.export({ type: 'spki', format: 'pem' }).toString()
const privatePem = (key: typeof rsa.privateKey) => key.export({ type: 'pkcs8', format: 'pem' }).toString()

/** The base64 of signed URLs. */
const encode = (bytes: Uint8Array | string) =>
  Buffer.from(bytes).toString('base64').replaceAll('+', '-').replaceAll('=', '_').replaceAll('/', '~')
const nowSeconds = () => Math.floor(Date.now() / 1000)

for (const workers of ['0', '2']) {
  t.test(`with SVC_WORKERS=${workers}`, async t => {
    const server = await startServer({ environment: { SVC_WORKERS: workers, SVC_S3_DISTRIBUTIONS: 'on' } })
    const s3 = createClient(server)
    t.teardown(async () => {
      s3.destroy()
      await server.remove()
    })
    const admin = createAdminClient(server)
    await s3.send(new CreateBucketCommand({ Bucket: 'films' }))
    for (const Key of ['a.mp4', 'b.mp4', 'dir/c.mp4', 'secret']) {
      await s3.send(new PutObjectCommand({ Bucket: 'films', Key, Body: Key }))
    }
    const keysOf = async (id: string, ...publicKeys: string[]) => {
      const made = await admin.call('POST', '/keygroups', { id, keys: publicKeys.map(publicKey => ({ publicKey })) })
      return made.keys.map((key: { id: string }) => key.id) as string[]
    }
    const [rsaId, edId] = (await keysOf('films', pemOf(rsa.publicKey), pemOf(ed25519.publicKey))) as [string, string]
    const [strangeId] = (await keysOf('others', pemOf(strangeRsa.publicKey))) as [string]
    await t.rejects(keysOf('curve', pemOf(ecdsa.publicKey)), { message: /is a key of the type ec; RSA and Ed25519/ })
    const put = (id: string, keyGroup: string) =>
      admin.call('PUT', `/distributions/${id}`, {
        id,
        aliases: [`${id}.example.test`],
        origin: { bucket: 'films' },
        defaultBehavior: { access: 'signed', signing: { keyGroup } },
      })
    await put('www', 'films')
    await put('other', 'others')
    const host = `www.example.test:${server.port}`
    const origin = `http://${host}`

    /** Each over a connection of its own, so that they come to every thread. */
    const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
      const once = () =>
        new Promise<string>((done, fail) => {
          const sent = request({ port: server.port, path, headers: { host, ...headers }, agent: false }, answer => {
            answer.resume().on('end', () => done(String(answer.statusCode)))
          })
          sent.on('error', fail).end()
        })
      return [...new Set(await Promise.all([once(), once(), once(), once()]))].join(' ')
    }
    interface Signer {
      readonly id: string
      sign(text: string): Buffer
    }
    const byRsa: Signer = { id: rsaId, sign: text => sign('sha256', Buffer.from(text), rsa.privateKey) }
    const byEd: Signer = { id: edId, sign: text => sign(null, Buffer.from(text), ed25519.privateKey) }
    const policyOf = (condition: object = {}, resource: unknown = `${origin}/a.mp4`) =>
      JSON.stringify({
        Statement: [
          {
            Resource: resource,
            Condition: { DateLessThan: { 'AWS:EpochTime': nowSeconds() + 3600 }, ...condition },
          },
        ],
      })
    const queryOf = (signer: Signer, policy: string, { id = signer.id, signed = policy } = {}) =>
      `Policy=${encode(policy)}&Signature=${encode(signer.sign(signed))}&Key-Pair-Id=${id}`
    const canned = (signer: Signer, expires: number, path = '/a.mp4') => {
      const text = `{"Statement":[{"Resource":"${origin}${path}","Condition":{"DateLessThan":{"AWS:EpochTime":${expires}}}}]}`
      return `Expires=${expires}&Signature=${encode(signer.sign(text))}&Key-Pair-Id=${signer.id}`
    }
    const sdkUrl = new URL(
      getSignedUrl({
        url: `${origin}/a.mp4`,
        keyPairId: rsaId,
        privateKey: privatePem(rsa.privateKey),
        algorithm: 'SHA256',
        dateLessThan: new Date(Date.now() + 3600_000),
      }),
    )

    t.equal(await get(`${sdkUrl.pathname}${sdkUrl.search}`), '200', "of the SDK's signer")
    t.equal(await get('/a.mp4'), '403', 'unsigned')
    for (const [name, signer] of [['RSA', byRsa] as const, ['Ed25519', byEd] as const]) {
      t.test(name, async t => {
        const good = queryOf(signer, policyOf())
        t.equal(await get(`/a.mp4?${good}`), '200')
        t.equal(await get(`/a.mp4?${canned(signer, nowSeconds() + 3600)}`), '200')
        const wide = queryOf(signer, policyOf({}, `${origin}/*`))
        t.equal(await get(`/dir/c.mp4?${wide}`), '200', 'a wildcard')
        const parameter = (query: string, name: string) => new URLSearchParams(query).get(name)!
        const signature = parameter(good, 'Signature')
        const forged: Readonly<Record<string, string>> = {
          'another path': `/b.mp4?${good}`,
          'another path of a canned policy': `/b.mp4?${canned(signer, nowSeconds() + 3600)}`,
          'a parameter more': `/a.mp4?download=1&${canned(signer, nowSeconds() + 3600)}`,
          'a later time': `/a.mp4?${canned(signer, nowSeconds() + 3600).replace(/Expires=\d+/, `Expires=${nowSeconds() + 7200}`)}`,
          'a changed policy': `/secret?${queryOf(signer, policyOf({}, `${origin}/*`), { signed: policyOf() })}`,
          'a policy with spaces': `/a.mp4?${queryOf(signer, `${policyOf()} `, { signed: policyOf() })}`,
          'a policy of another resource': `/a.mp4?${queryOf(signer, policyOf({}, `${origin}/b.mp4`))}`,
          'a wildcard of another host': `/a.mp4?${queryOf(signer, policyOf({}, `http://other.example.test:${server.port}/*`))}`,
          'a wildcard that ends early': `/dir/c.mp4?${queryOf(signer, policyOf({}, `${origin}/?.mp4`))}`,
          'a wildcard in dots': `/x/../secret?${queryOf(signer, policyOf({}, `${origin}/x/*`))}`,
          'two statements': `/a.mp4?${queryOf(signer, JSON.stringify({ Statement: [...JSON.parse(policyOf()).Statement, ...JSON.parse(policyOf()).Statement] }))}`,
          'no time': `/a.mp4?${queryOf(signer, JSON.stringify({ Statement: [{ Resource: '*', Condition: {} }] }))}`,
          expired: `/a.mp4?${canned(signer, nowSeconds() - 1)}`,
          'an expired policy': `/a.mp4?${queryOf(signer, policyOf({ DateLessThan: { 'AWS:EpochTime': nowSeconds() - 1 } }))}`,
          'not yet': `/a.mp4?${queryOf(signer, policyOf({ DateGreaterThan: { 'AWS:EpochTime': nowSeconds() + 600 } }))}`,
          'another network': `/a.mp4?${queryOf(signer, policyOf({ IpAddress: { 'AWS:SourceIp': '198.51.100.0/24' } }))}`,
          'an unknown condition': `/a.mp4?${queryOf(signer, policyOf({ StringEquals: { a: 'b' } }))}`,
          'a key of another group': `/a.mp4?${queryOf({ ...byRsa, id: strangeId, sign: text => sign('sha256', Buffer.from(text), strangeRsa.privateKey) }, policyOf())}`,
          'the id of our key, and a signature of another': `/a.mp4?${queryOf({ ...signer, sign: text => sign('sha256', Buffer.from(text), strangeRsa.privateKey) }, policyOf())}`,
          'the id of the other algorithm': `/a.mp4?${queryOf(signer, policyOf(), { id: signer === byRsa ? edId : rsaId })}`,
          'an ECDSA signature': `/a.mp4?${queryOf({ ...signer, sign: text => sign('sha256', Buffer.from(text), ecdsa.privateKey) }, policyOf())}`,
          'a hash for a signature': `/a.mp4?${queryOf({ ...signer, sign: text => createHash('sha256').update(text).digest() }, policyOf())}`,
          'no signature': `/a.mp4?${good.replace(/Signature=[^&]*/, 'Signature=')}`,
          'a signature that is cut': `/a.mp4?${good.replace(signature, signature.slice(0, -4))}`,
          'a signature with more behind it': `/a.mp4?${good.replace(signature, `${signature.replace(/_+$/, '')}AAAA`)}`,
          'plain base64': `/a.mp4?${good.replace(signature, signature.replaceAll('_', '='))}`,
          'padding in the middle': `/a.mp4?${good.replace(signature, `${signature.slice(0, 8)}_${signature.slice(8)}`)}`,
          'the signature twice': `/a.mp4?${good}&Signature=${signature}`,
          'the policy twice, a wider one first': `/secret?Policy=${encode(policyOf({}, `${origin}/*`))}&${good}`,
          'the key twice': `/a.mp4?${good}&Key-Pair-Id=${signer.id}`,
          'a policy and a time': `/a.mp4?${good}&Expires=${nowSeconds() + 3600}`,
          'names in another case': `/a.mp4?${good.toLowerCase()}`,
          'a fragment of the query as its path': `/a.mp4%3F${good}`,
        }
        for (const [what, path] of Object.entries(forged)) {
          // A client that resolves dots itself is not the attacker here; the server refuses the path at all.
          t.match(await get(path), what === 'a wildcard in dots' ? /^40[03]$/ : '403', what)
        }
        t.equal(await get(`/a.mp4?${good}`, { host: `other.example.test:${server.port}` }), '403', 'on another host')
        const here = queryOf(signer, policyOf({ IpAddress: { 'AWS:SourceIp': '127.0.0.1/32' } }))
        t.equal(await get(`/a.mp4?${here}`), '200', 'from its network')
        const mapped = queryOf(signer, policyOf({ IpAddress: { 'AWS:SourceIp': '::ffff:127.0.0.1/128' } }))
        t.equal(await get(`/a.mp4?${mapped}`), '200', 'an IPv4 address within IPv6')
        const away = queryOf(signer, policyOf({ IpAddress: { 'AWS:SourceIp': '203.0.113.9' } }))
        t.equal(await get(`/a.mp4?${away}`, { 'x-forwarded-for': '203.0.113.9' }), '403', 'an address that is forged')

        const cookie = (query: string) =>
          [...new URLSearchParams(query)].map(([name, value]) => `Cdn-${name}=${value}`).join('; ')
        t.equal(await get('/dir/c.mp4', { cookie: cookie(wide) }), '200', 'cookies')
        t.equal(await get('/dir/c.mp4', { cookie: cookie(good) }), '403', 'cookies of another path')
        t.equal(await get(`/dir/c.mp4?${good}`, { cookie: cookie(wide) }), '403', 'a bad URL is not saved by cookies')
        t.equal(
          await get('/dir/c.mp4', { cookie: `${cookie(good)}; ${cookie(wide)}` }),
          '403',
          'the first cookie counts',
        )
      })
    }
  })
}
