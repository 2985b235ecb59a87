import { Writable } from 'node:stream'
import { mock } from 'node:test'
import { parseDuration as parseServerDuration, parseSize as parseServerSize } from 'svc/kernel'
import t from 'tap'
import { contentTypeOf } from '../content-types.ts'
import { AdminError } from '../errors.ts'
import { safeJson } from '../formatting.ts'
import type { S3Client } from '../s3/client.ts'
import { listObjects, listVersions } from '../s3/listing.ts'
import { createCount } from '../transfer/progress.ts'
import { inTypedWords } from '../typed-words.ts'
import { parseDuration, parseSize } from '../units.ts'

const attempt = (parse: (text: string) => number, text: string): number | string => {
  try {
    return parse(text)
  } catch (error) {
    t.ok(error instanceof RangeError)
    return (error as RangeError).message
  }
}

t.test('messages of the server name the options that the user typed, and no field of the request', t => {
  const words = new Map([
    ['body/match', '--match'],
    ['body/confirm', '--confirm'],
    ['query/limit', '--limit'],
  ])
  const translated = (message: string) => {
    const problems = [{ place: '/match', message: 'is missing' }]
    const error = new AdminError({ status: 400, code: 'invalid_argument', message, operation: 'op', problems })
    return inTypedWords(error, words) as AdminError
  }
  t.equal(translated('confirm it with "confirm": true').message, 'confirm it with --confirm')
  t.equal(translated('query/limit: at most 5; set "other": true').message, '--limit: at most 5; set "other": true')
  t.same(translated('').problems, [{ place: '--match', message: 'is missing' }])
  t.end()
})

t.test('sizes and durations are exact', t => {
  t.same(['64MiB', '1.5GB', '4096', '0.1KB'].map(parseSize), [64 << 20, 1_500_000_000, 4096, 100])
  t.same(
    ['500ms', '5s', '10m', '1h', '7d', '250'].map(parseDuration),
    [500, 5000, 600_000, 3_600_000, 604_800_000, 250],
  )
  t.throws(() => parseSize('0.1KiB'), /not a whole number of bytes/)
  t.throws(() => parseSize('8 bits'), /not a size/)
  t.throws(() => parseDuration('1w'), /not a duration/)
  t.throws(() => parseSize('9999999TiB'), /larger than 9007199254740991 bytes/)
  t.end()
})

t.test('the server reads the same texts in the same way', t => {
  for (const text of [
    '',
    '1',
    '1.5',
    '1.5KiB',
    '1 KiB',
    '1kib',
    '-1',
    '1e3',
    '1.0005s',
    '2d',
    '3TB',
    '0.5ms',
    'toString',
  ]) {
    t.equal(attempt(parseSize, text), attempt(parseServerSize, text), text)
    t.equal(attempt(parseDuration, text), attempt(parseServerDuration, text), text)
  }
  t.end()
})

t.test('content types come from the last extension; text is UTF-8', async t => {
  const names = [
    'a.TXT',
    'b.js',
    'c.json',
    'd.svg',
    'e.docx',
    'f.tar.gz',
    'g.heic',
    'h.zst',
    'i.unknown',
    'txt',
    '.css',
  ]
  t.same(await Promise.all(names.map(contentTypeOf)), [
    'text/plain; charset=utf-8',
    'text/javascript; charset=utf-8',
    'application/json',
    'image/svg+xml',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'application/gzip',
    'image/heic',
    'application/zstd',
    'application/octet-stream',
    'application/octet-stream',
    'application/octet-stream',
  ])
})

t.test('a listing that takes long counts on a line that goes away', t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let shown = ''
  const stderr = new Writable({
    write(chunk, _, done) {
      shown += chunk
      done()
    },
  })
  const count = createCount({ stderr } as never, true)
  for (let at = 0; at < 3; at++) count.addFile()
  mock.timers.tick(600)
  t.equal(shown, '', 'short ones show nothing')
  mock.timers.tick(100)
  t.equal(shown, '3 seen')
  count.clear()
  t.equal(shown, '3 seen\r\u001b[2K', 'before anything else is written')
  count.addFile()
  mock.timers.tick(100)
  count.stop()
  mock.timers.tick(1000)
  t.equal(shown, '3 seen\r\u001b[2K4 seen\r\u001b[2K')
  t.end()
})

t.test('JSON holds nothing that a terminal would obey', async t => {
  const record = { key: 'a\u009b31mb\u0085c\u202ed\u001be ü €' }
  const text = safeJson(record)
  t.same(JSON.parse(text), record)
  t.equal(text, '{"key":"a\\u009b31mb\\u0085c\\u202ed\\u001be ü €"}')
})

t.test('keys of a listing are decoded as its encoding says, and keys outside of the request are refused', async t => {
  const answering = (root: string, content: string) =>
    ({ send: async () => ({ body: Buffer.from(`<${root}>${content}</${root}>`) }) }) as unknown as S3Client
  const objects = async (prefix: string, content: string) => {
    const pages = []
    for await (const page of listObjects(answering('ListBucketResult', content), { bucket: 'b', prefix }))
      pages.push(page)
    return pages
  }
  const url = '<EncodingType>url</EncodingType>'
  const entry = (key: string) => `<Contents><Key>${key}</Key></Contents>`
  const folder = (prefix: string) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`
  t.equal((await objects('', url + entry('%2e%2e/x')))[0]!.items[0]!.key, '../x')
  t.equal((await objects('', entry('%2e%2e/x')))[0]!.items[0]!.key, '%2e%2e/x', 'as it stands')
  t.same((await objects('a/', folder('a/b/')))[0]!.prefixes, ['a/b/'])
  const wrong = { code: 'bad_answer' }
  for (const content of [folder('a/'), folder('other/'), folder(''), entry('other/k')]) {
    await t.rejects(objects('a/', content), wrong, content)
  }
  const versions = answering('ListVersionsResult', '<Version><Key>out</Key><VersionId>1</VersionId></Version>')
  await t.rejects(listVersions(versions, { bucket: 'b', prefix: 'a/' }).next(), wrong)
})
