/** Answers whose URL, object and headers are kept from the request before: the same as the first, until anything changes. */
import { CopyObjectCommand, PutObjectCommand, PutPublicAccessBlockCommand } from '@aws-sdk/client-s3'
import { eventually } from 'svc/testing'
import t from 'tap'
import { type Answer, startSite } from './site.ts'

const site = {
  id: 'site',
  aliases: ['www.example.test', 'other.example.test'],
  origin: { bucket: 'pages' },
  defaultBehavior: { indexDocument: 'index.html' },
}

/** But for what tells single answers apart. */
function facts({ status, headers, body }: Answer) {
  const { date: _, 'x-amz-request-id': __, age: ___, 'x-cache': ____, 'cache-status': _____, ...rest } = headers
  return { status, body, rest }
}

for (const cached of [true, false]) {
  t.test(cached ? 'through the cache' : 'read from the bucket each time', async t => {
    const server = await startSite()
    t.teardown(() => server.stop())
    const admin = (path: string, body: unknown) => server.signed({ method: 'PUT', path: `/api/v1/${path}`, body })
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, index) => index & 0xff)).toString('latin1')
    await server.put('pages', {
      'index.html': { body: '<h1>home</h1>', ContentType: 'text/html', CacheControl: 'max-age=60' },
      'docs/index.html': { body: 'docs', ContentType: 'text/html', CacheControl: 'max-age=60' },
      'long.txt': { body: 'line\n'.repeat(1000), ContentType: 'text/plain', CacheControl: 'max-age=60' },
      'empty.txt': { body: '', CacheControl: 'max-age=60' },
      'there.txt': { body: 'one', CacheControl: 'max-age=60' },
    })
    const put = (Key: string, Body: string, more = {}) =>
      server.s3.send(
        new PutObjectCommand({
          Bucket: 'pages',
          Key,
          Body: Buffer.from(Body, 'latin1'),
          CacheControl: 'max-age=60',
          ...more,
        }),
      )
    await put('bytes.png', bytes, { ContentType: 'image/png' })
    await server.publish(site)
    if (!cached) await admin('distributions/site/cache/settings', { cache: { policy: 'disabled' } })
    /** Until what a request finds is kept. */
    const settled = (target: string, options = {}) =>
      cached
        ? eventually(
            () => server.get(target, options),
            ({ headers }) => headers['x-cache'] === 'HIT',
          )
        : server.get(target, options)

    await t.test('the third answer is that of the first', async t => {
      for (const target of ['/', '/docs/', '/docs', '/long.txt', '/empty.txt', '/bytes.png', '/?a=b']) {
        const first = await server.get(target)
        await server.get(target)
        if (cached && first.status === 200) await settled(target)
        t.same(facts(await server.get(target)), facts(first), target)
      }
      t.equal((await settled('/bytes.png')).body, bytes, 'every byte is as it was stored')
    })

    await t.test('what a request asks for beside the path counts for it alone', async t => {
      await settled('/long.txt')
      const { headers } = await server.get('/long.txt')
      const etag = headers.etag as string
      t.match(await server.get('/long.txt', { headers: { Range: 'bytes=0-3' } }), { status: 206, body: 'line' })
      t.match(await server.get('/long.txt', { headers: { 'If-None-Match': etag } }), { status: 304, body: '' })
      t.match(await server.get('/long.txt', { headers: { 'If-Match': '"other"' } }), { status: 412 })
      t.match(await server.get('/long.txt', { method: 'HEAD' }), {
        status: 200,
        body: '',
        headers: { 'content-length': '5000' },
      })
      t.match(await server.get('/long.txt', { headers: { 'Accept-Encoding': 'gzip' } }), {
        headers: { 'content-encoding': 'gzip' },
      })
      t.match(await server.get('/long.txt', { method: 'POST' }), { status: 405 })
      t.match(await server.get('/long.txt'), {
        status: 200,
        headers: { etag, vary: 'Accept-Encoding', 'content-length': '5000' },
      })
      const other = await server.get('/there.txt', { host: 'other.example.test' })
      t.match(other, { status: 200, body: 'one' })
      t.equal((await server.get('/there.txt', { host: 'third.example.test' })).status, 421)
    })

    await t.test('a change of the object is in the next answer', async t => {
      for (const version of ['two', 'three', 'four']) {
        await settled('/there.txt')
        await server.get('/there.txt')
        await put('there.txt', version)
        t.equal((await server.get('/there.txt')).body, version)
      }
      await server.s3.send(
        new CopyObjectCommand({
          Bucket: 'pages',
          Key: 'there.txt',
          CopySource: 'pages/there.txt',
          MetadataDirective: 'REPLACE',
          ContentType: 'text/css',
          CacheControl: 'max-age=30',
        }),
      )
      t.match(await server.get('/there.txt'), {
        headers: { 'content-type': 'text/css', 'cache-control': 'max-age=30' },
      })
    })

    await t.test('a change of the distribution is in the next answer', async t => {
      await settled('/long.txt')
      await server.get('/long.txt')
      await server.publish({
        ...site,
        headers: { response: { 'X-Own': 'ä', 'Cache-Status': 'mine' } },
      })
      for (let round = 0; round < 3; round++) {
        const { status, headers } = await server.get('/long.txt')
        t.match({ status, headers }, { status: 200, headers: { 'x-own': 'Ã¤' } })
        t.equal(headers['cache-status'], cached ? headers['cache-status']?.match(/^svc; [^,]*$/)?.[0] : 'mine')
      }
      await server.publish({ ...site, redirects: [{ from: '/long.txt', to: '/there.txt' }] })
      t.match(await server.get('/long.txt'), {
        status: 302,
        headers: { location: 'http://www.example.test/there.txt' },
      })
      await server.publish({
        ...site,
        behaviors: [{ pathPattern: { type: 'prefix', pattern: '/long' }, access: 'deny' }],
      })
      t.match(await server.get('/long.txt'), { status: 403 })
      await server.publish({ ...site, restrictions: { sourceIp: { deny: ['127.0.0.0/8'] } } })
      t.match(await server.get('/there.txt'), { status: 403 })
      await server.publish({ ...site, aliases: ['other.example.test'] })
      t.match(await server.get('/there.txt'), { status: 421 })
      t.match(await server.get('/there.txt', { host: 'other.example.test' }), { status: 200 })
      await server.publish(site)
      t.match(await server.get('/there.txt'), { status: 200 })
    })

    await t.test('a block of public access is in force for the next request', async t => {
      await settled('/long.txt')
      const block = (isOn: boolean) =>
        server.s3.send(
          new PutPublicAccessBlockCommand({
            Bucket: 'pages',
            PublicAccessBlockConfiguration: { RestrictPublicBuckets: isOn },
          }),
        )
      await block(true)
      t.match(await server.get('/long.txt'), { status: 403 })
      await block(false)
      t.match(await server.get('/long.txt'), { status: 200 })
    })
  })
}
