/**
 * curl, which signs what it is told to sign and no more. Version 7.88 does not normalize queries: they must be sorted
 * already, every parameter with `=`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bytesOf, requireProgram, run } from './clients.ts'
import { accessKey, secretKey, startServer } from './server.ts'

const { path: program, skip } = requireProgram('curl')
const server = await startServer()
t.teardown(() => server.remove())

const folder = join(server.folder, 'curl')
mkdirSync(folder)

/** Returns the status as a number, and what came back in `stdout`. */
async function curl(path: string, ...args: string[]): Promise<{ readonly status: number; readonly text: string }> {
  const { stdout } = await run(
    program,
    ['-sS', '--path-as-is', '--max-time', '60', '-w', '\\n%{http_code}', ...args, `${server.endpoint}${path}`],
    server,
    { folder },
  )
  const end = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(end + 1)), text: stdout.slice(0, end) }
}

const signed = [
  '--aws-sigv4',
  'aws:amz:us-east-1:s3',
  '--user',
  `${accessKey}:${secretKey}`,
  '-H',
  'x-amz-content-sha256: UNSIGNED-PAYLOAD',
]

t.test('curl', { skip }, async t => {
  t.test('signs, puts, gets and deletes', async t => {
    t.equal((await curl('/curl-bucket', ...signed, '-X', 'PUT')).status, 200)
    const bytes = bytesOf('curl', 3_000_000)
    writeFileSync(join(folder, 'body.bin'), bytes)
    t.equal((await curl('/curl-bucket/a%20b/%C3%BC+%2B.bin', ...signed, '-T', 'body.bin')).status, 200)
    const got = await curl('/curl-bucket/a%20b/%C3%BC+%2B.bin', ...signed, '-o', 'back.bin')
    t.equal(got.status, 200)
    t.same(readFileSync(join(folder, 'back.bin')), bytes)
    const range = await curl('/curl-bucket/a%20b/%C3%BC+%2B.bin', ...signed, '-r', '0-9', '-o', 'range.bin')
    t.equal(range.status, 206)
    t.same(readFileSync(join(folder, 'range.bin')), bytes.subarray(0, 10))
    const listing = await curl('/curl-bucket?list-type=2&prefix=a%20b%2F', ...signed)
    t.equal(listing.status, 200)
    t.match(listing.text, '<Key>a b/ü++.bin</Key>')
    t.equal((await curl('/curl-bucket/a%20b/%C3%BC+%2B.bin', ...signed, '-X', 'DELETE')).status, 204)
  })

  t.test('a large body waits for 100 Continue, and a refused one is never sent', async t => {
    writeFileSync(join(folder, 'large.bin'), Buffer.alloc(8_000_000))
    const refused = await curl(
      '/curl-bucket/large',
      '-T',
      'large.bin',
      '-H',
      'Expect: 100-continue',
      '-w',
      '\n%{size_upload}\n%{http_code}',
    )
    t.equal(refused.status, 403)
    t.match(refused.text, /<Code>AccessDenied<\/Code>/)
    t.match(refused.text, /\n0$/, 'not one byte of the body went out')
    const taken = await curl('/curl-bucket/large', ...signed, '-T', 'large.bin', '-H', 'Expect: 100-continue')
    t.equal(taken.status, 200)
  })

  t.test('without a signature only missing buckets are revealed', async t => {
    for (const path of ['/', '/curl-bucket', '/curl-bucket/large']) {
      const { status, text } = await curl(path)
      t.equal(status, 403, path)
      t.match(text, /<Code>AccessDenied<\/Code>/)
    }
    t.equal((await curl('/curl-bucket/large', '-I')).status, 403)
    t.match(await curl('/no-such-bucket-here'), { status: 404, text: /<Code>NoSuchBucket<\/Code>/ }, 'but for this')
  })

  t.test('operations that are not implemented answer so and do nothing', async t => {
    const before = await curl('/curl-bucket/large', ...signed, '-I')
    for (const name of ['select', 'acl-of-tomorrow', 'annotation']) {
      const { status, text } = await curl(`/curl-bucket/large?${name}=`, ...signed, '-X', 'PUT', '-d', 'x')
      t.equal(status, 501, name)
      t.match(text, /<Code>NotImplemented<\/Code>/)
    }
    const after = await curl('/curl-bucket/large', ...signed, '-I')
    t.equal(/etag: .*/i.exec(after.text)?.[0], /etag: .*/i.exec(before.text)?.[0], 'the object is untouched')
  })

  t.test('health is for everyone', async t => {
    for (const path of ['/svc/health/live', '/svc/health/ready']) {
      const { status, text } = await curl(path)
      t.equal(status, 200, path)
      t.match(JSON.parse(text), { ok: true })
    }
  })
})
