/** Requests that were harmful once: each is refused or harmless, and the server keeps running. */
import { CreateBucketCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { presignUrl } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'
import { readRange } from '../ranges.ts'
import { signer, startServer } from './start.ts'

const server = await startServer()
t.teardown(() => server.stop())
const Bucket = 'hostile'
await server.client.send(new CreateBucketCommand({ Bucket }))
await server.client.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'kept' }))

function presigned(
  method: string,
  path: string,
  query = '',
  headers = '',
): Promise<{ status: number; text: string; xml(name: string): string | undefined }> {
  const url = new URL(
    presignUrl(signer, { method, url: `http://${server.host}${path}${query}`, expiresSeconds: 60, nowMs: Date.now() }),
  )
  return server.exchange(
    `${method} ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${server.host}\r\nConnection: close\r\nContent-Length: 0\r\n${headers}\r\n`,
  )
}

t.test('a Range of blanks is no range, at any length', async t => {
  t.equal(readRange(`bytes=${' '.repeat(1_000_000)}x`, 10), undefined)
  t.same(readRange('bytes= 1 - 2 ', 10), { start: 1, length: 2 })
})

t.test('a parameter that stands for a header may only have characters of headers', async t => {
  for (const parameter of ['x-amz-meta-foo=a%0D%0ASet-Cookie%3A%20x', 'x-amz-meta-a%20b=c', 'x-amz-meta-a=%01']) {
    const answer = await presigned('PUT', `/${Bucket}/injected`, `?${parameter}`)
    t.match([answer.status, answer.xml('Code')], [400, 'InvalidArgument'], parameter)
  }
  await t.rejects(server.client.send(new HeadObjectCommand({ Bucket, Key: 'injected' })), { name: 'NotFound' })
})

t.test('prefixes and markers that no key can have get an answer', async t => {
  const long = 'p'.repeat(4100)
  for (const query of [`?list-type=2&prefix=${long}`, `?prefix=${long}`, `?uploads&prefix=${long}`]) {
    t.equal((await presigned('GET', `/${Bucket}`, query)).status, 200, query.slice(0, 20))
  }
  for (const query of [
    `?list-type=2&start-after=${long}`,
    `?marker=${long}`,
    `?uploads&key-marker=${long}&upload-id-marker=x`,
  ]) {
    t.equal((await presigned('GET', `/${Bucket}`, query)).status, 400, query.slice(0, 20))
  }
  t.equal((await presigned('GET', '/', `?prefix=${'%C5%A3'.repeat(5000)}`)).status, 200)
})

t.test('a document that consists of attributes is refused', async t => {
  const attributes = Array.from({ length: 100_000 }, (_, i) => `a${i}="x"`).join(' ')
  const body = `<Delete ${attributes}><Object><Key>k</Key></Object></Delete>`
  const answer = await server.send({ method: 'POST', path: `/${Bucket}`, query: 'delete', body, headers: {} })
  t.equal(answer.status, 400)
  await server.client.send(new HeadObjectCommand({ Bucket, Key: 'k' }))
})

t.test('the streams of a connection are limited', async t => {
  const url = new URL(
    presignUrl(signer, {
      method: 'GET',
      url: `http://${server.host}/${Bucket}/k`,
      expiresSeconds: 60,
      nowMs: Date.now(),
    }),
  )
  const socket = await server.open()
  const closed = new Promise<void>(resolve => {
    socket.on('close', () => resolve())
    socket.on('error', () => {})
  })
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${server.host}\r\n\r\n`.repeat(2000))
  await closed
  t.equal((await presigned('GET', `/${Bucket}/k`)).status, 200, 'the others are served')
})
