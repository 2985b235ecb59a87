/** Archives: their format, checked with two independent programs, and downloads over the Admin API. */
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { DeleteObjectCommand, PutObjectCommand, type PutObjectCommandInput } from '@aws-sdk/client-s3'
import { rootPassword, rootUser, startAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { ChunkSource } from 'svc/plugins/payload/api'
import t from 'tap'
import { commonFolderLength, createNames, safeName } from '../zip-names.ts'
import { createZipStream, type ZipEntry } from '../zip-stream.ts'

const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'svc-zip-'))
const drive = join(folder, 'drive')
await mkdir(drive)
const server = await startAdmin({ config: { storage: { endpoints: [drive] } } })
const client = server.s3
t.teardown(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})
const { checksums, users } = server.kernel.services
const python = async (script: string, ...args: string[]) =>
  JSON.parse(
    (await run('python3', ['-c', `import sys, json, zipfile\n${script}`, ...args], { maxBuffer: 64 * 1024 * 1024 }))
      .stdout,
  )
/** Name, size and checksum of each entry, verified by Python's zipfile. */
const contentOf = (path: string): Promise<Record<string, string>> =>
  python(
    `z = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint(json.dumps({i.filename: z.read(i).decode() for i in z.infolist()}))`,
    path,
  )
const whole = (name: string, text: string): ZipEntry => ({
  name,
  modifiedMs: Date.UTC(2026, 0, 2, 3, 4, 6),
  sizeBytes: Buffer.byteLength(text),
  open: () => ({ kind: 'whole', bytes: Buffer.from(text) }),
})
const streamed = (name: string, sizeBytes: number, chunks: Iterable<Buffer>, onClose = () => {}): ZipEntry => ({
  name,
  modifiedMs: 0,
  sizeBytes,
  open(): ObjectData {
    const left = chunks[Symbol.iterator]()
    const next = async () => {
      const { value, done } = left.next()
      return done === true ? undefined : { bytes: value, release() {} }
    }
    return { kind: 'stream', next, close: onClose }
  },
})
async function* each(entries: Iterable<ZipEntry>) {
  yield* entries
}
const zip = (entries: Iterable<ZipEntry>) => createZipStream(each(entries), checksums)
/** Zeros become holes in the file. */
async function save(source: ChunkSource, name: string): Promise<string> {
  const path = join(folder, name)
  const file = await open(path, 'w')
  let position = 0
  try {
    for (let chunk = await source.next(); chunk !== undefined; chunk = await source.next()) {
      if (chunk.bytes !== zeros) await file.write(chunk.bytes, 0, chunk.bytes.length, position)
      position += chunk.bytes.length
    }
  } finally {
    await file.close()
  }
  return path
}
const zeros = Buffer.alloc(1024 * 1024)

t.test('small, streamed and empty entries, names in UTF-8', async t => {
  const text = 'bytes '.repeat(50_000)
  const half = Buffer.from(text.slice(0, text.length / 2))
  const path = await save(
    zip([
      whole('ä/b.txt', 'hello'),
      whole('empty', ''),
      streamed('s', text.length, [half, half]),
      whole('large', text),
    ]),
    'small.zip',
  )
  t.same(await contentOf(path), { 'ä/b.txt': 'hello', empty: '', s: text, large: text })
  await run('unzip', ['-tq', path])
  // Without a locale, unzip writes `#U00e4`.
  const listed = await run('unzip', ['-Z1', path], { env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  t.match(listed.stdout, /^ä\/b.txt\nempty\ns\nlarge\n$/)
  const [date] = await python('print(json.dumps([zipfile.ZipFile(sys.argv[1]).infolist()[0].date_time]))', path)
  t.same(date, [2026, 1, 2, 3, 4, 6])
})

t.test('70 000 entries', async t => {
  const entries = (function* () {
    for (let index = 0; index < 70_000; index++) yield whole(`folder/${index}`, String(index))
  })()
  const path = await save(zip(entries), 'many.zip')
  const script =
    'z = zipfile.ZipFile(sys.argv[1])\nprint(json.dumps([len(z.infolist()), z.read("folder/69999").decode()]))'
  t.same(await python(script, path), [70_000, '69999'])
  await run('unzip', ['-tq', path], { maxBuffer: 64 * 1024 * 1024 })
})

t.test('an entry of more than 4 GiB, and one after it', async t => {
  const count = 4097
  const chunks = (function* () {
    for (let index = 0; index < count; index++) yield zeros
  })()
  const sizeBytes = count * zeros.length
  const path = await save(
    zip([streamed('huge', sizeBytes, chunks), whole('behind', 'here'), streamed('later', 2, [Buffer.from('ok')])]),
    'huge.zip',
  )
  const script =
    'z = zipfile.ZipFile(sys.argv[1])\nprint(json.dumps([[i.filename, i.file_size] for i in z.infolist()] + [z.read("behind").decode(), z.read("later").decode()]))'
  t.same(await python(script, path), [['huge', sizeBytes], ['behind', 4], ['later', 2], 'here', 'ok'])
})

t.test('an archive with an entry that cannot be read has no directory, and everything is closed', async t => {
  let closed = 0
  const short = zip([whole('a', 'a'), streamed('short', 10, [Buffer.from('123')], () => closed++)])
  await t.rejects(save(short, 'short.zip'), /"short" has 3 bytes instead of 10/)
  await t.rejects(python('zipfile.ZipFile(sys.argv[1])', join(folder, 'short.zip')))
  t.equal(closed, 1)
  const left = zip([streamed('left', 1e6, [zeros, zeros], () => closed++)])
  await left.next()
  await left.next()
  left.close()
  await new Promise(setImmediate)
  t.equal(closed, 2)
})

t.test('names stay below the folder, and are unique', t => {
  const cases: [key: string, name: string][] = [
    ['../../etc/passwd', '__/__/etc/passwd'],
    ['/absolute', '_/absolute'],
    ['a//b/./c', 'a/_/b/_/c'],
    ['..\\..\\x', '.._.._x'],
    ['C:/Windows', 'C_/Windows'],
    ['a\u0000b\n', 'a_b_'],
    ['...', '.._'],
    ['what? <a>|"b"*', 'what_ _a___b__'],
    ['end. /dot./x ', 'end._/dot_/x_'],
    ['CON/nul.tar.gz/Com1 .txt/lpt¹', 'CON_/nul_.tar.gz/Com1_ .txt/lpt¹_'],
    ['console/com10/.con/conx', 'console/com10/.con/conx'],
    ['\ud800', '\ufffd'],
    ['\u0085c\u009f', '_c_'],
    ['x\u202egnp.exe\u2066\u200f', 'x_gnp.exe__'],
  ]
  for (const [key, name] of cases) t.equal(safeName(key, 0), name)
  t.equal(safeName('photos/2026/../x', 7), '2026/__/x')
  t.equal(safeName(`${'n'.repeat(300)}.tar.gz/b`, 0), `${'n'.repeat(237)}.gz/b`, 'a part that no file system takes')
  t.equal(safeName(`a${'ü'.repeat(200)}.${'x'.repeat(40)}`, 0), `a${'ü'.repeat(119)}`, 'no half of a character')
  const nameOf = createNames()
  t.same(['a/b.txt', 'a/b.txt', 'a/b (2).txt', 'a/b.txt', '.x', '.x'].map(nameOf), [
    'a/b.txt',
    'a/b (2).txt',
    'a/b (2) (2).txt',
    'a/b (3).txt',
    '.x',
    '.x (2)',
  ])
  const replaced = createNames()
  t.same(
    ['a?', 'a*', 'a_', 'CON', 'CON_'].map(key => replaced(safeName(key, 0))),
    ['a_', 'a_ (2)', 'a_ (3)', 'CON_', 'CON_ (2)'],
    'what is replaced stays unique',
  )
  const both = createNames()
  t.same(['n/__', 'n/__/x', 'n/__/y', 'n/__ (2)/x', 'f.d/x', 'f.d', 'n/__', 'n/__'].map(both), [
    'n/__',
    'n/__ (2)/x',
    'n/__ (2)/y',
    'n/__ (2)/x (2)',
    'f.d/x',
    'f (2).d',
    'n/__ (3)',
    'n/__ (4)',
  ])
  const folded = createNames()
  t.same(['D/A', 'd/a', 'D/a', 'd/x', 'k\u00e4', 'ka\u0308', 'D'].map(folded), [
    'D/A',
    'd/a (2)',
    'D/a (3)',
    'd/x',
    'k\u00e4',
    'ka\u0308 (2)',
    'D (2)',
  ])
  // A search that takes longer for each further name would not come to an end.
  const count = 200_000
  const same = createNames()
  const given = new Set(Array.from({ length: count }, () => same('f/________')))
  t.equal(given.size, count)
  t.ok(given.has(`f/________ (${count})`))
  t.equal(commonFolderLength(['a/b/1', 'a/b/2'], []), 4)
  t.equal(commonFolderLength(['a/b/1', 'a/c/2'], []), 2)
  t.equal(commonFolderLength(['a/b/1'], ['a/bc/']), 2)
  t.equal(commonFolderLength(['a'], ['b/']), 0)
  t.equal(commonFolderLength([], ['a/b/']), 4)
  t.end()
})

interface Got {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
}
const path = '/api/v1/buckets/photos/objects/download-zip'
const send = (
  headers: Record<string, string | string[]>,
  body: string,
  { port }: { port: number } = server,
): Promise<Got> =>
  new Promise((done, fail) => {
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path, headers, agent: false }, answer => {
      buffer(answer).then(bytes => done({ status: answer.statusCode!, headers: answer.headers, bytes }), fail)
    })
    sent.on('error', fail)
    sent.end(body)
  })
const fetchZip = (
  body: object,
  { accessKey = rootUser, secret = rootPassword, of = server as { port: number } } = {},
) => {
  const text = JSON.stringify(body)
  const given = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }
  const head = signRequest(
    { accessKey, secret, region: 'us-east-1' },
    {
      method: 'POST',
      host: `127.0.0.1:${of.port}`,
      path,
      headers: given,
      payload: Buffer.from(text),
      nowMs: Date.now(),
    },
  )
  return send({ ...head.headers }, text, of)
}
const codeOf = ({ bytes }: Got) => JSON.parse(bytes.toString()).code as string
const unpacked = async (got: Got) => {
  const file = join(folder, 'got.zip')
  await writeFile(file, got.bytes)
  return contentOf(file)
}
const put = (Key: string, Body: string | Buffer = Key) =>
  client.send(new PutObjectCommand({ Bucket: 'photos', Key, Body }))

t.test('folders and objects, once each, as a request, as a form, and with partial permissions', async t => {
  await server.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos', versioning: true } })
  const long = 'long '.repeat(100_000)
  const { VersionId } = await put('a/1', 'old')
  await put('a/', '')
  for (const key of ['a/1', 'a/b/', 'a/b/2', 'a/../evil', 'a/b/ü', 'other', 'gone']) await put(key)
  await put('a/long', long)
  await client.send(new DeleteObjectCommand({ Bucket: 'photos', Key: 'gone' }))
  const got = await fetchZip({
    prefixes: ['a', 'a/b/'],
    objects: [...Array.from({ length: 998 }, () => ({ key: 'a/1' })), { key: 'a/1', versionId: VersionId }],
    name: 'my ü',
  })
  t.equal(got.status, 200)
  t.match(got.headers, {
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="my _.zip"; filename*=UTF-8''my%20%C3%BC.zip`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-frame-options': 'SAMEORIGIN',
    'transfer-encoding': 'chunked',
  })
  t.same(await unpacked(got), {
    '1': 'a/1',
    '1 (2)': 'old',
    '__/evil': 'a/../evil',
    'b/_': 'a/b/',
    'b/2': 'a/b/2',
    'b/ü': 'a/b/ü',
    long,
  })
  t.same(Object.keys(await unpacked(await fetchZip({ objects: [{ key: 'other' }, { key: 'a/1' }] }))), ['other', 'a/1'])

  t.equal(codeOf(await fetchZip({})), 'invalid_argument')
  t.equal(codeOf(await fetchZip({ objects: [{ key: 'missing' }] })), 'object_not_found')
  t.equal(codeOf(await fetchZip({ objects: [{ key: 'gone' }] })), 'object_not_found')
  t.match(await fetchZip({ objects: [{ key: 'other' }], check: true }), { status: 204, bytes: { length: 0 } })
  for (const key of ['missing', 'gone']) {
    const refused = await fetchZip({ objects: [{ key: 'other' }, { key }], check: true })
    t.match(JSON.parse(refused.bytes.toString()), { code: 'object_not_found', errors: [{ element: '/objects/1' }] })
  }
  t.equal(codeOf(await fetchZip({ objects: Array(1001).fill({ key: 'a/1' }) })), 'invalid_argument')
  t.equal(codeOf(await fetchZip({ prefixes: Array(101).fill('a') })), 'invalid_argument')

  const Resource = ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/a/b/*']
  const Statement = [{ Effect: 'Allow', Action: ['s3:GetObject', 's3:ListBucket'], Resource }]
  await users.putPolicy('half', { Version: '2012-10-17', Statement })
  await users.createUser({ accessKey: 'half', secretKey: 'a-secret-of-half', policyNames: ['half'] })
  const half = await unpacked(await fetchZip({ prefixes: ['a/'] }, { accessKey: 'half', secret: 'a-secret-of-half' }))
  t.same(Object.keys(half), ['b/_', 'b/2', 'b/ü', '_skipped.json'])
  t.same(JSON.parse(half['_skipped.json']!), {
    skipped: ['a/../evil', 'a/1', 'a/long'].map(key => ({ key, code: 'access_denied' })),
    count: 3,
  })
  t.equal(
    codeOf(await fetchZip({ objects: [{ key: 'other' }] }, { accessKey: 'half', secret: 'a-secret-of-half' })),
    'access_denied',
  )
  await users.createUser({ accessKey: 'none', secretKey: 'a-secret-of-none' })
  t.equal(
    codeOf(await fetchZip({ prefixes: ['a/'] }, { accessKey: 'none', secret: 'a-secret-of-none' })),
    'access_denied',
  )

  const { cookie } = await server.login()
  const form = new URLSearchParams({ request: JSON.stringify({ prefixes: ['a/b/'] }) }).toString()
  const headers = {
    cookie,
    origin: `http://127.0.0.1:${server.port}`,
    'content-type': 'application/x-www-form-urlencoded',
  }
  t.same(Object.keys(await unpacked(await send(headers, form))), ['2', '_', 'ü'])
  t.equal(codeOf(await send({ ...headers, origin: 'http://evil.example' }, form)), 'invalid_csrf_token')
  t.equal(codeOf(await send(headers, 'other=1')), 'malformed_request')
})

t.test('missing encryption keys: objects in folders are skipped, named objects are an error', async t => {
  const sealedDrive = join(folder, 'sealed')
  await mkdir(sealedDrive)
  const masterKey = (name: string) => `${name}:${Buffer.alloc(32, name).toString('base64')}`
  const start = (secretKey: string) =>
    startAdmin({
      config: {
        storage: { endpoints: [sealedDrive] },
        encryption: { allowsInsecureCustomerKeys: true },
        kms: { secretKey },
        store: { masterKey: masterKey('store') },
      },
    })
  let sealing = await start(masterKey('first'))
  t.teardown(() => sealing.stop())
  await sealing.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos' } })
  const put = (Key: string, Body: string, more: Partial<PutObjectCommandInput> = {}) =>
    sealing.s3.send(new PutObjectCommand({ Bucket: 'photos', Key, Body, ...more }))
  const key = randomBytes(32)
  const customer = {
    SSECustomerAlgorithm: 'AES256',
    SSECustomerKey: key.toString('base64'),
    SSECustomerKeyMD5: createHash('md5').update(key).digest('base64'),
  }
  const managed = { ServerSideEncryption: 'AES256' } as const
  const long = 'sealed '.repeat(100_000)
  await put('e/customer', 'sealed', customer)
  await put('e/empty', '', customer)
  await put('e/managed', 'sealed', managed)
  await put('e/managed-long', long, managed)
  await put('e/plain', 'plain')
  const skippedOf = ({ '_skipped.json': text }: Record<string, string>) => JSON.parse(text!)
  const lacking = (keys: string[], code: string) => keys.map(key => ({ key: `e/${key}`, code }))
  const all = await unpacked(await fetchZip({ prefixes: ['e/'] }, { of: sealing }))
  t.same(Object.keys(all), ['managed', 'managed-long', 'plain', '_skipped.json'])
  t.equal(all['managed-long'], long)
  t.same(skippedOf(all), { skipped: lacking(['customer', 'empty'], 'customer_key_required'), count: 2 })
  const named = (...keys: string[]) => fetchZip({ objects: keys.map(key => ({ key: `e/${key}` })) }, { of: sealing })
  t.same(await unpacked(await named('managed', 'managed-long')), { managed: 'sealed', 'managed-long': long })
  t.equal(codeOf(await named('plain', 'customer')), 'invalid_argument')
  t.equal(codeOf(await named('empty')), 'invalid_argument')

  await sealing.stop()
  sealing = await start(masterKey('second'))
  const less = await unpacked(await fetchZip({ prefixes: ['e/'] }, { of: sealing }))
  t.equal(less.plain, 'plain')
  t.match(skippedOf(less), {
    skipped: [
      ...lacking(['customer', 'empty'], 'customer_key_required'),
      ...lacking(['managed', 'managed-long'], 'kms_unavailable'),
    ],
    count: 4,
  })
  for (const one of ['managed', 'managed-long']) t.equal(codeOf(await named('plain', one)), 'kms_unavailable')
})

t.test('after a client disconnects, nothing more is read for it', async t => {
  const large = Buffer.alloc(4 * 1024 * 1024, 'x')
  for (const name of ['1', '2', '3']) await put(`big/${name}`, large)
  const { cookie } = await server.login()
  const form = new URLSearchParams({ request: JSON.stringify({ prefixes: ['big/'] }) }).toString()
  await new Promise<void>(done => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      [
        `POST ${path} HTTP/1.1`,
        `host: 127.0.0.1:${server.port}`,
        `cookie: ${cookie}`,
        `origin: http://127.0.0.1:${server.port}`,
        'user-agent: leaver',
        'content-type: application/x-www-form-urlencoded',
        `content-length: ${form.length}`,
        '',
        form,
      ].join('\r\n'),
    )
    socket.once('data', () => socket.pause())
    setTimeout(() => {
      socket.destroy()
      done()
    }, 200)
  })
  let record: { bytesSent: number } | undefined
  for (let attempt = 0; attempt < 4500 && record === undefined; attempt++) {
    const { items } = (await server.signed({ path: '/api/v1/audit?action=downloadZip&status=499' })).json
    record = items.find(({ userAgent }: { userAgent: string }) => userAgent === 'leaver')
    await new Promise(done => setTimeout(done, 20))
  }
  t.ok(record)
  t.ok(record!.bytesSent < 12 * 1024 * 1024, 'it was held back')
})

t.test('a damaged object ends the connection', async t => {
  const files = await readdir(drive, { recursive: true, withFileTypes: true })
  const paths = files.filter(file => file.isFile()).map(file => join(file.parentPath, file.name))
  for (const path of paths) {
    const { size } = await stat(path)
    const isBlob = size >= 4 * 1024 * 1024 && size < 5 * 1024 * 1024
    if (!isBlob) continue
    const file = await open(path, 'r+')
    await file.write(Buffer.from('damage'), 0, 6, size - 100_000)
    await file.close()
  }
  await t.rejects(fetchZip({ objects: [{ key: 'a/1' }, { key: 'big/2' }] }), { code: 'ECONNRESET' })
  t.match(
    server.kernel.logs.filter(({ operation }) => operation === 'downloadZip'),
    [{ err: { code: 'corrupt' } }],
    'and is in the log',
  )
  await t.rejects(server.signed({ path: '/api/v1/buckets/photos/objects/download?key=big/2' }), { code: 'ECONNRESET' })
})
