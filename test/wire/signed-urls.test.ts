/** Signed URLs with worker threads: a change of keys is in force in every thread from its acknowledgement on. */
import { generateKeyPairSync } from 'node:crypto'
import { request } from 'node:http'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/cloudfront-signer'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

t.test('keys come and go in both workers at once', async t => {
  const server = await startServer({ environment: { SVC_WORKERS: '2', SVC_S3_DISTRIBUTIONS: 'on' } })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  const admin = createAdminClient(server)
  await s3.send(new CreateBucketCommand({ Bucket: 'films' }))
  await s3.send(new PutObjectCommand({ Bucket: 'films', Key: 'a.mp4', Body: 'a film' }))
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const { keys } = await admin.call('POST', '/keygroups', { id: 'films', keys: [{ publicKey }] })
  const [{ id: keyPairId }] = keys
  await admin.call('POST', '/keygroups/films/keys', { generate: true })
  await admin.call('PUT', '/distributions/site', {
    id: 'site',
    aliases: ['www.example.test'],
    origin: { bucket: 'films' },
    defaultBehavior: { access: 'signed', signing: { keyGroup: 'films' } },
  })
  const host = `www.example.test:${server.port}`
  const url = getSignedUrl({
    url: `http://${host}/a.mp4`,
    keyPairId,
    privateKey,
    algorithm: 'SHA256',
    dateLessThan: new Date(Date.now() + 3600_000),
  })
  const path = url.slice(`http://${host}`.length)
  /** Each over a connection of its own, so that they come to both workers. */
  const statuses = async (target: string, more: { readonly cookie?: string } = {}) => {
    const ask = () =>
      new Promise<number>((done, fail) => {
        const headers = { host, ...more }
        const sent = request({ port: server.port, path: target, headers, agent: false }, answer => {
          answer.resume().on('end', () => done(answer.statusCode!))
        })
        sent.on('error', fail).end()
      })
    return [...new Set(await Promise.all(Array.from({ length: 20 }, ask)))]
  }
  t.same(await statuses(path), [200])
  t.same(await statuses('/a.mp4'), [403])
  const group = await admin.call('GET', '/keygroups/films')
  for (const enabled of [false, true, false, true, false, true]) {
    const changed = group.keys.map((key: { id: string }) => ({ ...key, enabled: key.id !== keyPairId || enabled }))
    await admin.call('PUT', '/keygroups/films', { ...group, keys: changed })
    t.same(await statuses(path), [enabled ? 200 : 403], enabled ? 'enabled' : 'disabled')
  }
  const made = await admin.call('POST', '/distributions/site/sign', { url: `http://${host}/a.mp4` })
  t.same(await statuses(made.url.slice(`http://${host}`.length)), [200], 'signed by the server')
  const resource = `http://${host}/*`
  const { cookies } = await admin.call('POST', '/distributions/site/sign', { path: '/*', kind: 'cookies', resource })
  const cookie = cookies.map(({ name, value }: { name: string; value: string }) => `${name}=${value}`).join('; ')
  t.same(await statuses('/a.mp4', { cookie }), [200], 'cookies of everything below the path')
  await admin.call('DELETE', `/keygroups/films/keys/${keyPairId}`)
  t.same(await statuses(path), [403])
  await admin.call('PUT', '/distributions/site', {
    id: 'site',
    aliases: ['www.example.test'],
    origin: { bucket: 'films' },
    defaultBehavior: { access: 'deny' },
  })
  await admin.call('DELETE', '/keygroups/films')
  t.notMatch(server.log(), /PRIVATE KEY|Signature=[A-Za-z0-9~-]{20}/, 'neither keys nor signatures are in the log')
})
