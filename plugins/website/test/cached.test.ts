/** Websites through the cache: what visitors get, what X-Cache says, and what the bucket is asked for. */
import { CopyObjectCommand, DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { startSite, type TestSite } from './site.ts'

const site = {
  id: 'site',
  aliases: ['www.example.test', 'other.example.test'],
  origin: { bucket: 'pages' },
  defaultBehavior: { indexDocument: 'index.html' },
}

/** Counts the reads of the bucket from now on. */
function countReads({ kernel }: TestSite) {
  const objects = kernel.services.objects as { -readonly [Name in keyof typeof kernel.services.objects]: never }
  const count = { metadata: 0, bytes: 0 }
  const { getObject, read } = kernel.services.objects
  objects.getObject = ((...args: Parameters<typeof getObject>) => {
    count.metadata++
    return getObject(...args)
  }) as never
  objects.read = ((...args: Parameters<typeof read>) => {
    count.bytes++
    return read(...args)
  }) as never
  return count
}

t.test('a website through the cache', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', {
    'index.html': { body: '<h1>home</h1>', ContentType: 'text/html' },
    'docs/index.html': { body: 'docs', ContentType: 'text/html' },
    'page.html': { body: '<p>line</p>\n'.repeat(1000), ContentType: 'text/html' },
    'short.txt': { body: 'short', CacheControl: 'max-age=1' },
    'never.txt': { body: 'never', CacheControl: 'no-store' },
    'secret.txt': 'secret',
  })
  await server.publish({
    ...site,
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/secret' }, access: 'authenticated' }],
  })
  const count = countReads(server)
  const put = (key: string, body: string | Buffer, more = {}) =>
    server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key: key, Body: body, ...more }))

  /** The answer when it is a hit: until a write before has settled its answers are read, and not cached. */
  const hit = async (target: string, options = {}, result = 'HIT') => {
    for (let tries = 0; tries < 500; tries++) {
      const answer = await server.get(target, options)
      if (answer.headers['x-cache'] === result) return answer
    }
    return server.get(target, options)
  }

  await t.test('a hit touches neither the metadata nor the bytes of the bucket', async t => {
    const first = await server.get('/')
    t.match(first, { status: 200, body: '<h1>home</h1>', headers: { 'x-cache': 'MISS' } })
    await hit('/')
    t.ok(count.metadata > 0 && count.bytes > 0, 'the reads are counted')
    const before = { ...count }
    for (const [target, options] of [
      ['/', {}],
      ['/?any=query', {}],
      ['/', { method: 'HEAD' }],
      ['/', { host: 'other.example.test' }],
      ['/', { headers: { Range: 'bytes=1-2' } }],
      ['/', { headers: { 'If-None-Match': first.headers.etag as string } }],
    ] as const) {
      const answer = await server.get(target, options)
      t.match(
        answer,
        { headers: { 'x-cache': 'HIT', age: /^\d+$/, etag: first.headers.etag } },
        JSON.stringify(options),
      )
    }
    t.equal((await server.get('/', { headers: { Range: 'bytes=1-2' } })).body, 'h1')
    t.same(count, before)
  })

  await t.test('an acknowledged write is in the next answer', async t => {
    await put('index.html', 'new home', { ContentType: 'text/html' })
    t.match(await server.get('/'), { body: 'new home', headers: { 'x-cache': 'MISS' } })
    t.match(await hit('/'), { body: 'new home', headers: { 'x-cache': 'HIT' } })
    await server.s3.send(
      new CopyObjectCommand({ Bucket: 'pages', Key: 'index.html', CopySource: 'pages/docs/index.html' }),
    )
    t.equal((await server.get('/')).body, 'docs')
    await server.s3.send(new DeleteObjectCommand({ Bucket: 'pages', Key: 'index.html' }))
    t.equal((await server.get('/')).status, 404)
    t.match(await hit('/'), { status: 404, headers: { 'x-cache': 'HIT' } }, 'missing pages are cached, too')
    await put('index.html', 'back')
    t.equal((await server.get('/')).body, 'back')
  })

  await t.test('a folder, and the index document that appears in it', async t => {
    t.equal((await server.get('/later')).status, 404)
    t.equal((await hit('/later')).headers['x-cache'], 'HIT')
    await put('later/index.html', 'later')
    t.equal((await server.get('/later')).status, 302)
    t.match(await hit('/later'), { status: 302, headers: { 'x-cache': 'HIT' } })
    await put('later', 'a file')
    t.match(await server.get('/later'), { status: 200, body: 'a file' })
  })

  await t.test('compressed forms are made once', async t => {
    const accepts = { headers: { 'Accept-Encoding': 'br' } }
    t.match(await server.get('/page.html', accepts), { headers: { 'content-encoding': 'br', 'x-cache': 'MISS' } })
    await hit('/page.html')
    const before = { ...count }
    t.match(await server.get('/page.html', accepts), { headers: { 'content-encoding': 'br', 'x-cache': 'HIT' } })
    t.match(await server.get('/page.html', { headers: { 'Accept-Encoding': 'gzip' } }), {
      headers: { 'content-encoding': 'gzip', 'x-cache': 'HIT' },
    })
    t.same(count, before, 'from the bytes in the cache')
  })

  await t.test('answers to authenticated requests, and what objects keep for themselves, are never shared', async t => {
    t.equal((await server.get('/never.txt')).headers['x-cache'], 'MISS')
    t.equal((await server.get('/never.txt')).headers['x-cache'], 'MISS')
    t.equal((await server.get('/secret.txt')).status, 403)
    const withAuthorization = await server.get('/', { headers: { Authorization: 'Bearer x' } })
    t.equal(withAuthorization.headers['x-cache'], 'BYPASS')
  })

  await t.test('an expired page that is the same is REVALIDATED, another one EXPIRED', async t => {
    t.equal((await server.get('/short.txt')).headers['x-cache'], 'MISS')
    await new Promise(resolve => setTimeout(resolve, 1100))
    t.match(await server.get('/short.txt'), { body: 'short', headers: { 'x-cache': 'REVALIDATED', age: '0' } })
    await new Promise(resolve => setTimeout(resolve, 1100))
    await put('short.txt', 'other')
    t.match(await server.get('/short.txt'), { body: 'other', headers: { 'x-cache': 'EXPIRED' } })
  })

  await t.test('what must be confirmed at each use is, without a read as long as nobody has touched it', async t => {
    await put('always.txt', 'one', { CacheControl: 'no-cache' })
    t.match(await server.get('/always.txt'), { body: 'one', headers: { 'x-cache': 'MISS' } })
    t.equal((await hit('/always.txt', {}, 'REVALIDATED')).body, 'one')
    const before = { ...count }
    for (let i = 0; i < 3; i++)
      t.match(await server.get('/always.txt'), { body: 'one', headers: { 'x-cache': 'REVALIDATED', age: '0' } })
    t.same(count, before)
    for (const text of ['two', 'three']) {
      await put('always.txt', text, { CacheControl: 'no-cache' })
      t.equal((await server.get('/always.txt')).body, text)
      t.equal((await hit('/always.txt', {}, 'REVALIDATED')).body, text)
    }
    await put('always.txt', 'four', { CacheControl: 'max-age=60' })
    t.equal((await server.get('/always.txt')).body, 'four')
    t.match(await hit('/always.txt'), { body: 'four', headers: { 'x-cache': 'HIT' } })
  })

  await t.test('what was read for the cache, and what was confirmed, is counted', async t => {
    const text = await server.kernel.services.metrics.scrape()
    const value = (name: string, result: string) =>
      Number(new RegExp(`^${name}\\{.*result="${result}".*\\} (\\d+)`, 'm').exec(text)?.[1])
    t.ok(value('svc_cache_fills_total', 'stored') > 5)
    t.ok(value('svc_cache_fills_total', 'passed') > 0, 'of no-store')
    t.ok(value('svc_cache_confirms_total', 'same') > 0)
    t.ok(value('svc_cache_confirms_total', 'other') > 0)
  })

  await t.test('large objects in blocks: every range has the bytes of the object', async t => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e9)
    t.comment(`SEED=${seed}`)
    const random = createSeededRandom(seed)
    const bytes = random.bytes(3 * 1024 * 1024 + 12_345)
    await put('large.bin', bytes)
    const ask = async (start: number, end: number) => {
      const answer = await server.get('/large.bin', { headers: { Range: `bytes=${start}-${end}` } })
      const got = Buffer.from(answer.body, 'latin1')
      if (!got.equals(bytes.subarray(start, end + 1))) t.fail(`bytes ${start}-${end} are others`)
      return answer
    }
    t.equal((await ask(1_500_000, 1_500_010)).headers['x-cache'], 'MISS')
    await hit('/large.bin', { headers: { Range: 'bytes=1048576-2097151' } })
    t.equal((await ask(1_048_576, 2_097_151)).headers['x-cache'], 'HIT', 'the whole block was kept')
    t.equal((await ask(1_000_000, 1_100_000)).headers['x-cache'], 'MISS', 'a block is missing')
    for (let round = 0; round < 40; round++) {
      const start = random.integer(bytes.length)
      await ask(start, start + random.integer(bytes.length - start))
    }
    const whole = await hit('/large.bin')
    t.ok(Buffer.from(whole.body, 'latin1').equals(bytes))
    const before = { ...count }
    t.equal((await server.get('/large.bin')).headers['x-cache'], 'HIT')
    t.same(count, before)
    await put('large.bin', 'now small')
    t.match(await server.get('/large.bin'), { body: 'now small' })
  })

  await t.test(
    'an answer whose object is replaced meanwhile is cut off, and that is no error of the server',
    async t => {
      const bytes = createSeededRandom(1).bytes(3 * 1024 * 1024)
      await put('raced.bin', bytes)
      // The first block is kept, the others are not: they are read after it was sent.
      await hit('/raced.bin', { headers: { Range: 'bytes=0-9' } })
      const { objects } = server.kernel.services as { objects: { getObject: (...args: unknown[]) => unknown } }
      const { getObject } = objects
      t.teardown(() => Object.assign(objects, { getObject }))
      let reads = 0
      objects.getObject = async (...args) => {
        if (++reads === 2) await put('raced.bin', 'small now')
        return getObject(...args)
      }
      const { headers, body } = await server.get('/raced.bin')
      objects.getObject = getObject
      t.equal(headers['content-length'], `${bytes.length}`)
      t.ok(body.length < bytes.length, 'cut off')
      t.ok(bytes.toString('latin1').startsWith(body), 'with bytes of one version alone')
      const lines = server.kernel.logs.filter(({ msg }) => /website/.test(`${msg}`))
      t.match(lines, [{ level: 'info', distribution: 'site', msg: /was replaced meanwhile/ }])
      t.equal((await server.get('/raced.bin')).body, 'small now')
    },
  )

  await t.test('many requests for one missing page are one read of the bucket', async t => {
    await put('popular.txt', 'popular')
    const before = { ...count }
    const answers = await Promise.all(Array.from({ length: 50 }, () => server.get('/popular.txt')))
    t.same([...new Set(answers.map(({ body }) => body))], ['popular'])
    t.ok(count.bytes - before.bytes <= 2, `${count.bytes - before.bytes} reads of bytes`)
  })

  await t.test('a changed distribution does not answer from what was cached before', async t => {
    await put('new-index.html', 'another index')
    t.equal((await server.get('/')).body, 'back')
    await server.publish({ ...site, defaultBehavior: { indexDocument: 'new-index.html' } })
    t.equal((await server.get('/')).body, 'another index')
  })
})
