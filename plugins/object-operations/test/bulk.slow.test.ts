/** Requests that name whole folders: each place is walked once, answers are bounded by bytes, and a user has only so many under way. */
import { type ClientRequest, request } from 'node:http'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import t from 'tap'
import { outermost } from '../folders.ts'
import { type ZipContent, zipEntries } from '../zip-content.ts'

const allow = (Action: string[], Resource: string) => ({
  Effect: 'Allow',
  Action,
  Resource: `arn:aws:s3:::${Resource}`,
})
const reader = [allow(['s3:ListBucket'], 'bulk'), allow(['s3:GetObject'], 'bulk/*')]
const server = await startAdmin({
  without: ['users'],
  plugins: [testUsers({ lister: [allow(['s3:ListBucket'], 'bulk')], reader, other: reader })],
})
t.teardown(() => server.stop())
await server.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'bulk' } })

async function put(keys: readonly string[], Body: string | Buffer = 'x'): Promise<void> {
  for (let from = 0; from < keys.length; from += 100) {
    await Promise.all(
      keys.slice(from, from + 100).map(Key => server.s3.send(new PutObjectCommand({ Bucket: 'bulk', Key, Body }))),
    )
  }
}

const remove = (prefixes: readonly string[], user?: string) =>
  (user === undefined ? server.signed : server.signedBy(user, userSecret))({
    method: 'DELETE',
    path: '/api/v1/buckets/bulk/objects',
    body: { prefixes },
  })

/** Begins an archive, and reads of it no more than the socket has room for. Resolves with the status, and a function that leaves. */
function openZip(user: string, prefixes: readonly string[]): Promise<{ readonly status: number; leave(): void }> {
  const path = '/api/v1/buckets/bulk/objects/download-zip'
  const body = JSON.stringify({ prefixes })
  const signed = signRequest(
    { accessKey: user, secret: userSecret, region: 'us-east-1' },
    {
      method: 'POST',
      host: `127.0.0.1:${server.port}`,
      path,
      headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
      payload: Buffer.from(body),
      nowMs: Date.now(),
    },
  )
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(
      { host: '127.0.0.1', port: server.port, method: 'POST', path, headers: { ...signed.headers }, agent: false },
      answer => {
        answer.on('error', () => {})
        resolve({ status: answer.statusCode!, leave: () => sent.destroy() })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

t.test('folders within folders, and the same ones, count once', t => {
  t.same(outermost(['b/', 'a/b/', 'a/', 'a/', 'a-b/', 'a/c/d/']), ['a-b/', 'a/', 'b/'])
  t.same(outermost([]), [])
  t.end()
})

t.test('a folder that is named many times is walked once', async t => {
  await put(['d/1', 'd/e/2', 'd/e/3'])
  const { json } = await remove(['d', 'd/', 'd/e', ...Array.from({ length: 90 }, () => 'd/')], 'lister')
  t.same(
    json.errors.map(({ key }: { key: string }) => key),
    ['d/1', 'd/e/2', 'd/e/3'],
  )
  t.same([json.deleted, json.isTruncated], [[], false])
})

t.test('an answer is bounded by the bytes of its keys, and the next request goes on', async t => {
  const name = 'k'.repeat(1000)
  await put(Array.from({ length: 9000 }, (_, index) => `long/${index}${name}`))
  const { json, text } = await remove(['long'])
  t.equal(json.isTruncated, true)
  t.ok(text.length < 11 * 1024 * 1024, `${text.length} bytes`)
  t.ok(json.deleted.length >= 7000, `${json.deleted.length} objects`)
  const rest = (await remove(['long'])).json
  t.same([json.deleted.length + rest.deleted.length, rest.isTruncated], [9000, false])
})

t.test('a user has eight archives under way, and gets their places back', async t => {
  await put(['large/1', 'large/2', 'large/3'], Buffer.alloc(8 * 1024 * 1024))
  const opened = await Promise.all(Array.from({ length: 8 }, () => openZip('reader', ['large'])))
  t.same([...new Set(opened.map(({ status }) => status))], [200])
  const ninth = await openZip('reader', ['large'])
  t.equal(ninth.status, 429)
  ninth.leave()
  const others = await openZip('other', ['large'])
  t.equal(others.status, 200, 'others have their own')
  others.leave()
  for (const { leave } of opened) leave()
  for (;;) {
    const again = await openZip('reader', ['large'])
    again.leave()
    if (again.status === 200) break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
})

t.test('an archive without an entry ends when nobody waits for it any more', async t => {
  let pages = 0
  const objects = {
    // A folder without an end.
    listObjects: async () => ({ objects: [{ key: `f/${++pages}` }], commonPrefixes: [], next: `f/${pages}` }),
  } as unknown as ObjectsService
  const content: ZipContent = {
    objects,
    bucket: 'bulk',
    named: [],
    prefixes: ['f/'],
    skipChars: 0,
    nowMs: 0,
    mayRead: () => false,
    isGone: () => pages === 5,
  }
  t.same(await zipEntries(content).next(), { done: true, value: undefined })
  t.equal(pages, 5)
})
