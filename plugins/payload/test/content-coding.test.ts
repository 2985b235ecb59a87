import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import {
  type Coding,
  chooseCoding,
  codedEtag,
  compress,
  isCompressible,
  plainEtags,
  startCompression,
} from '../content-coding.ts'

t.test('the coding that a client prefers', async t => {
  const cases: [string | undefined, Coding | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, zstd', 'zstd'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, *', 'zstd'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=0.000', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=-1, br;q=x', undefined],
    ['gzip;q=0.5, identity;q=0.9', undefined],
    ['gzip;q=0.5, identity;q=0.1', 'gzip'],
    ['deflate, compress', undefined],
    [', ,gzip ;q=1.0', 'gzip'],
    [`gzip${' '.repeat(2000)}`, undefined],
  ]
  for (const [header, expected] of cases) t.equal(chooseCoding(header), expected, String(header))
})

t.test('media types', async t => {
  for (const type of [
    'text/html; charset=utf-8',
    'text/css',
    'application/json',
    'application/activity+json; charset=utf-8',
    'image/svg+xml',
    'application/wasm',
    'TEXT/PLAIN',
  ])
    t.ok(isCompressible(type), type)
  for (const type of ['image/png', 'video/mp4', 'font/woff2', 'application/zip', 'application/octet-stream', ''])
    t.notOk(isCompressible(type), type)
  t.notOk(isCompressible('text/event-stream'))
})

t.test('a body in each coding, and its tag', async t => {
  const body = Buffer.from('a page '.repeat(10_000))
  t.ok(gunzipSync(await compress('gzip', body)).equals(body))
  t.ok(brotliDecompressSync(await compress('br', body)).equals(body))
  t.ok(zstdDecompressSync(await compress('zstd', body)).equals(body))
  t.equal(codedEtag('"abc-2"', 'gzip'), '"abc-2-gz"')
  t.equal(plainEtags('"abc-2-gz", W/"x-br", "y-zst", "z"'), '"abc-2", W/"x", "y", "z"')
})

t.test('at most two bodies are compressed at the same time', async t => {
  const [first, second] = [startCompression('gzip'), startCompression('gzip')]
  t.equal(startCompression('gzip'), undefined)
  first!.cancel()
  first!.cancel()
  const third = startCompression('gzip')
  t.ok(third)
  t.equal(startCompression('gzip'), undefined, 'what is cancelled twice frees one place')
  await Promise.all([second!.run(Buffer.from('a')), third!.run(Buffer.from('b'))])
  const last = startCompression('br')
  t.ok(last)
  last!.cancel()
})
