/** Access logs of distributions as objects in buckets, read back over S3. */
import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { region, startServer, type TestServer } from './server.ts'
import { createSignedClient } from './signed-client.ts'

const environment = (workers: string) => ({
  SVC_WORKERS: workers,
  SVC_S3_DISTRIBUTIONS: 'on',
  SVC_DISTRIBUTION_LOG_INTERVAL: '200ms',
})

/** Over a connection of its own, so that all threads are asked. */
function get(server: TestServer, host: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<number>((done, fail) => {
    const named = { host: `${host}:${server.port}`, ...headers }
    const sent = request({ port: server.port, path, headers: named, agent: false }, answer => {
      answer.resume().on('end', () => done(answer.statusCode!))
    })
    sent.on('error', fail).end()
  })
}

async function startLogged(t: Test, workers: string) {
  const server = await startServer({ environment: environment(workers) })
  const s3 = createClient(server)
  t.teardown(async () => {
    s3.destroy()
    await server.remove()
  })
  for (const Bucket of ['site', 'logs']) await s3.send(new CreateBucketCommand({ Bucket }))
  await s3.send(new PutObjectCommand({ Bucket: 'site', Key: 'a.txt', Body: 'twelve bytes' }))
  const admin = createAdminClient(server)
  const put = (id: string, fields: object) =>
    admin.call('PUT', `/distributions/${id}`, {
      id,
      aliases: [`${id}.example.test`],
      origin: { bucket: 'site' },
      ...fields,
    })
  const objects = async (Prefix: string) => {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: 'logs', Prefix }))
    const keys = Contents.map(({ Key }) => Key!)
    const texts = await Promise.all(
      keys.map(async Key => {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'logs', Key }))
        return gunzipSync(await Body!.transformToByteArray()).toString()
      }),
    )
    return { keys, lines: texts.join('').split('\n').slice(0, -1) }
  }
  /** The lines, as soon as there are so many. */
  const linesOf = async (prefix: string, count: number) => {
    for (let tries = 0; tries < 600; tries++) {
      const found = await objects(prefix)
      if (found.lines.length >= count) return found
      await new Promise(next => setTimeout(next, 100))
    }
    return objects(prefix)
  }
  return { server, s3, admin, put, objects, linesOf }
}

for (const workers of ['0', '2']) {
  t.test(`each request is a line in a bucket, with SVC_WORKERS=${workers}`, async t => {
    const { server, put, linesOf } = await startLogged(t, workers)
    await put('json', { logging: { accessLog: true, target: 'bucket:logs/web/' } })
    await put('combined', { logging: { accessLog: true, format: 'combined', target: 'bucket:logs/' } })
    await put('silent', { logging: { target: 'bucket:logs/' } })
    const asked = Array.from({ length: 20 }, (_, index) => `/a.txt?page=${index}&Signature=s3cret`)
    const told = { 'user-agent': 'a "browser"', referer: 'https://www.example.test/?Signature=s3cret' }
    for (const host of ['json', 'combined', 'silent'])
      await Promise.all(asked.map(path => get(server, `${host}.example.test`, path, told)))
    await get(server, 'json.example.test', '/missing')

    const json = await linesOf('web/json/', 21)
    t.equal(json.lines.length, 21)
    t.match(json.keys[0], /^web\/json\/20\d\d\/\d\d\/\d\d\/\d{4}-[A-Za-z0-9.-]+-[0-9a-f]{8}\.log\.gz$/)
    const records = json.lines.map(line => JSON.parse(line))
    t.same(records.map(({ path, status }) => `${status} ${path}`).sort(), [
      ...asked.map(() => '200 /a.txt'),
      '404 /missing',
    ])
    t.match(
      records.find(({ query }) => query.startsWith('page=7&')),
      {
        distribution: 'json',
        host: 'json.example.test',
        client: '127.0.0.1',
        method: 'GET',
        bytes: 12,
        userAgent: 'a "browser"',
      },
    )
    const combined = await linesOf('combined/', 20)
    t.equal(combined.lines.length, 20)
    const apache =
      /^127\.0\.0\.1 - - \[\d\d\/[A-Z][a-z]{2}\/20\d\d:[\d:]{8} \+0000\] "GET \/a\.txt\?page=\d+&Signature=\S+ HTTP\/1\.1" 200 12 "https:\/\/www\.example\.test\/\?Signature=\S+" "a \\x22browser\\x22"$/
    for (const line of combined.lines) t.match(line, apache)
    t.notMatch(json.lines.join() + combined.lines.join(), 's3cret')
    t.equal((await linesOf('silent/', 0)).keys.length, 0, 'a target alone logs nothing')
    t.notMatch(server.log(), '"component":"access"', 'and nothing is in the log of the server')
  })
}

t.test('a clean stop loses no line', async t => {
  const { server, put, linesOf } = await startLogged(t, '2')
  await put('json', { logging: { accessLog: true, target: 'bucket:logs/' } })
  await Promise.all(Array.from({ length: 40 }, () => get(server, 'json.example.test', '/a.txt')))
  t.equal(await server.stop(), 0)
  await server.start(environment('2'))
  t.equal((await linesOf('json/', 40)).lines.length, 40)
})

t.test('the next bucket of that name gets no line of a log that ended, nor one that waited', async t => {
  const { server, s3, put, objects, linesOf } = await startLogged(t, '2')
  const logging = { accessLog: true, target: 'bucket:logs/' }
  await put('old', { logging })
  await get(server, 'old.example.test', '/a.txt')
  await linesOf('old/', 1)
  const { keys } = await objects('')
  for (const Key of keys) await s3.send(new DeleteObjectCommand({ Bucket: 'logs', Key }))
  // Some of them wait when the bucket goes.
  const visits = Array.from({ length: 40 }, () => get(server, 'old.example.test', '/a.txt'))
  await s3.send(new DeleteBucketCommand({ Bucket: 'logs' }))
  await s3.send(new CreateBucketCommand({ Bucket: 'logs' }))
  await Promise.all(visits)
  for (let round = 0; round < 3; round++) {
    await get(server, 'old.example.test', '/a.txt')
    await put('new', { logging })
    await get(server, 'new.example.test', '/a.txt')
    t.equal((await linesOf('new/', round + 1)).lines.length, round + 1, 'a queue is written in its order')
  }
  t.same((await objects('old/')).keys, [])
  await put('old', { logging })
  await get(server, 'old.example.test', '/a.txt')
  t.ok((await linesOf('old/', 1)).lines.length > 0, 'saved again it writes into the bucket that is there')
})

t.test('what waits is written when the log is turned off, goes elsewhere, or its distribution is deleted', async t => {
  const { server, put, admin, linesOf } = await startLogged(t, '0')
  const logging = { accessLog: true, target: 'bucket:logs/' }
  for (const id of ['off', 'moved', 'deleted']) await put(id, { logging })
  for (const id of ['off', 'moved', 'deleted']) await get(server, `${id}.example.test`, '/a.txt')
  await Promise.all([
    put('off', {}),
    put('moved', { logging: { accessLog: true } }),
    admin.call('DELETE', '/distributions/deleted'),
  ])
  for (const id of ['off', 'moved', 'deleted']) t.equal((await linesOf(`${id}/`, 1)).lines.length, 1, id)
})

t.test('a log goes only where its writer may write, and where no website shows it', async t => {
  const { put, admin, server } = await startLogged(t, '0')
  const refused = async (id: string, fields: object, expected: RegExp) =>
    t.rejects(put(id, fields), { message: expected })
  const to = (target: string) => ({ logging: { accessLog: true, target } })
  await refused('a', to('bucket:nowhere/'), /404 .*bucket_not_found/)
  await refused('a', to('elsewhere'), /400 .*\/logging\/target is neither log nor bucket:<bucket>\/<prefix>/)
  await refused('a', to('bucket:logs/web'), /400 .*a prefix that does not end in a slash/)
  await refused(
    'a',
    to('bucket:site/'),
    /400 .*\/logging\/target lies where everybody could read it, through its own pages/,
  )
  const closed = { defaultBehavior: { access: 'deny' } }
  await put('a', { ...to('bucket:site/logs/'), ...closed })
  await refused('b', {}, /400 .*\/origin has the access log of the distribution a, which everybody could read then/)
  await refused(
    'b',
    { origin: { bucket: 'site', pathPrefix: 'logs/a/2026/' } },
    /400 .*access log of the distribution a/,
  )
  await put('b', { origin: { bucket: 'site', pathPrefix: 'pages/' } })
  await refused(
    'c',
    { ...to('bucket:site/pages/'), origin: { bucket: 'site', pathPrefix: 'c/' } },
    /400 .*through the pages of b/,
  )

  await admin.putPolicy('publisher', { Action: ['admin:ManageDistributions'] })
  const eve = await admin.createUser('eve', { policyNames: ['publisher'] })
  const console = createSignedClient(Number(String(server.startup.console).split(':')[1]))
  t.teardown(() => console.disconnect())
  const body = {
    id: 'e',
    aliases: ['e.example.test'],
    origin: { bucket: 'site', pathPrefix: 'pages/' },
    ...to('bucket:logs/'),
  }
  const putAsEve = async () => {
    const answer = await console.send({
      method: 'PUT',
      path: '/api/v1/distributions/e',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signer: { accessKey: eve.accessKeyId, secret: eve.secretAccessKey, region },
    })
    return `${answer.status} ${answer.body}`
  }
  t.match(await putAsEve(), /^403 .*s3:PutObject/)
  await admin.putPolicy('writer', { Action: ['s3:PutObject'], Resource: ['arn:aws:s3:::logs/e/*'] })
  await admin.call('POST', '/policies/attach', { user: 'eve', policyNames: ['writer'] })
  t.match(await putAsEve(), /^201 /)
})
