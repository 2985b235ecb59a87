/** Compressed forms of objects: which requests get them, and how conditions and ranges go with them. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { startSite } from './site.ts'

const page = '<p>one line of a page</p>\n'.repeat(2000)

t.test('compressed answers', async t => {
  const server = await startSite()
  t.teardown(server.stop)
  await server.put('pages', {
    'index.html': { body: page, ContentType: 'text/html' },
    'picture.png': { body: page, ContentType: 'image/png' },
    'small.html': { body: '<p>', ContentType: 'text/html' },
    'large.html': { body: page.repeat(40), ContentType: 'text/html' },
    'own.html': { body: page, ContentType: 'text/html', ContentEncoding: 'x-own' },
    'kept.html': { body: page, ContentType: 'text/html', CacheControl: 'no-transform, max-age=5' },
  })
  await server.publish({ id: 'site', aliases: ['www.example.test'], origin: { bucket: 'pages' } })
  const ask = (key: string, headers: Record<string, string> = {}, method = 'GET') =>
    server.get(`/${key}`, { method, headers: { 'Accept-Encoding': 'gzip, br, zstd', ...headers } })
  const plain = await ask('index.html', { 'Accept-Encoding': 'identity' })
  const { etag } = plain.headers
  t.match(plain, { status: 200, body: page, headers: { vary: 'Accept-Encoding', 'accept-ranges': 'bytes' } })
  t.notOk('content-encoding' in plain.headers)

  const forms = [
    ['gzip', 'gzip', '-gz', gunzipSync],
    ['br', 'gzip, br, zstd', '-br', brotliDecompressSync],
    ['zstd', 'gzip, zstd', '-zst', zstdDecompressSync],
  ] as const
  for (const [coding, accepted, suffix, decompress] of forms) {
    const answer = await ask('index.html', { 'Accept-Encoding': accepted })
    const form = `${etag!.slice(0, -1)}${suffix}"`
    const headers = { 'content-encoding': coding, etag: form, vary: 'Accept-Encoding', 'content-type': 'text/html' }
    t.match(answer, { status: 200, headers }, coding)
    t.notOk('accept-ranges' in answer.headers)
    const bytes = Buffer.from(answer.body, 'latin1')
    t.equal(Number(answer.headers['content-length']), bytes.length)
    t.ok(bytes.length < page.length / 10)
    t.equal(decompress(bytes).toString(), page)
    const head = await ask('index.html', { 'Accept-Encoding': accepted }, 'HEAD')
    t.match(head, { status: 200, headers })
    t.notOk('content-length' in head.headers, 'it is not known before the body is made')
    for (const given of [form, etag!, `W/${form}`, `"x", ${form}`, '*']) {
      const unchanged = await ask('index.html', { 'Accept-Encoding': accepted, 'If-None-Match': given })
      // Of the forms the one that the client has: its cache finds what it may keep by this name.
      const named = given === etag ? etag : form
      t.match(unchanged, { status: 304, headers: { etag: named, vary: 'Accept-Encoding' }, body: '' }, given)
    }
    t.equal((await ask('index.html', { 'If-Match': form })).status, 200)
    t.equal((await ask('index.html', { 'If-Match': '"other-gz"' })).status, 412)
    const stale = await ask('index.html', { Range: 'bytes=0-3', 'If-Range': form })
    t.match(stale, { status: 200, body: page }, 'a part of the plain form does not go on a compressed one')
  }

  const modified = plain.headers['last-modified']!
  const dated = await ask('index.html', { Range: 'bytes=0-3', 'If-Range': modified })
  t.match(dated, { status: 200, body: page }, 'a date names none of the forms')
  const ofPicture = (await ask('picture.png')).headers['last-modified']!
  const single = await ask('picture.png', { Range: 'bytes=0-3', 'If-Range': ofPicture })
  t.equal(single.status, 206, 'where there is one form, a date is enough')

  const range = await ask('index.html', { Range: 'bytes=0-3' })
  t.match(range, { status: 206, body: page.slice(0, 4), headers: { etag, vary: 'Accept-Encoding' } })
  t.notOk('content-encoding' in range.headers)
  for (const [key, vary] of [
    ['picture.png', undefined],
    ['own.html', undefined],
    ['kept.html', undefined],
    ['small.html', 'Accept-Encoding'],
    ['large.html', 'Accept-Encoding'],
  ] as const) {
    const { status, headers } = await ask(key)
    t.equal(status, 200)
    t.equal(headers.vary, vary, key)
    t.match(headers['content-encoding'] ?? '', key === 'own.html' ? 'x-own' : /^$/, key)
  }
  const many = await Promise.all(Array.from({ length: 30 }, () => ask('index.html')))
  t.same([...new Set(many.map(({ status }) => status))], [200])
  for (const { headers, body } of many) {
    const bytes = Buffer.from(body, 'latin1')
    const text = headers['content-encoding'] === 'br' ? brotliDecompressSync(bytes).toString() : body
    if (text !== page) t.fail('a body is not that of its headers')
  }
  const tested = await server.signed({
    method: 'POST',
    path: '/api/v1/distributions/site/test',
    body: { url: '/index.html', headers: { 'accept-encoding': 'br' } },
  })
  t.match(tested.json, { status: 200, responseHeaders: { 'content-encoding': 'br' } })
})
