/** What is refused over HTTP/2 before all of it has come: the answer arrives, and the client is told that the rest is not wanted. */

import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { temporaryFolder, until } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { requireProgram } from './clients.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'

const { skip } = requireProgram('openssl')
/** More than the server takes in of a request that it has answered. */
const bodyBytes = 64 * 1024 ** 2
const chunk = Buffer.alloc(256 * 1024, 'chunk')

t.test('an upload that fails in the middle is answered, and its stream ends', { skip }, async t => {
  const certs = temporaryFolder(t)
  const authority = createTestAuthority(temporaryFolder(t))
  const { chain, key } = authority.issue(['localhost'])
  writeFileSync(join(certs, 'public.crt'), chain)
  writeFileSync(join(certs, 'private.key'), key)
  const folder = temporaryFolder(t)
  const server = await startServer({ drive: join(folder, 'd{1...4}'), environment: { SVC_CERTS_DIR: certs } })
  t.teardown(server.remove)
  const admin = createAdminClient(server, { ca: authority.root, servername: 'localhost' })
  await admin.call('POST', '/buckets', { name: 'data' })
  const { uploadId } = await admin.call('POST', '/buckets/data/uploads', { key: 'a' })

  /** The head and the first bytes are sent; the rest is when `go` is called. */
  function begin(host: string, path: string, query: string | undefined) {
    const session = connect(`https://${host}`, { ca: authority.root, servername: 'localhost' })
    t.teardown(() => session.destroy())
    const signed = signRequest(
      { accessKey, secret: secretKey, region },
      {
        method: 'PUT',
        host,
        path,
        query,
        headers: { 'content-type': 'application/octet-stream', 'content-length': String(bodyBytes) },
        payload: 'UNSIGNED-PAYLOAD',
        nowMs: Date.now(),
      },
    )
    const { host: _, ...headers } = signed.headers as Record<string, string>
    const stream = session.request({
      ...headers,
      ':method': 'PUT',
      ':path': query === undefined ? path : `${path}?${query}`,
      ':authority': host,
    })
    let left = bodyBytes
    const write = () => {
      left -= chunk.length
      return left > 0 ? stream.write(chunk) : stream.end(chunk).writable
    }
    let status: unknown
    let said = ''
    stream.on('response', head => {
      status = head[':status']
    })
    stream.setEncoding('utf8').on('data', text => {
      said += text
    })
    const ended = new Promise<void>((done, fail) => stream.on('error', fail).on('close', done))
    return {
      /** Some of it is taken in. */
      async start() {
        for (let count = 0; count < 12; count++) if (!write()) await once(stream, 'drain')
      },
      async end() {
        const send = () => {
          while (!stream.destroyed && left > 0 && write());
        }
        stream.on('drain', send)
        send()
        await ended
        return { status, said, leftBytes: left }
      },
    }
  }

  const uploads = [
    begin(String(server.startup.console), `/api/v1/buckets/data/uploads/${uploadId}/parts/1`, 'key=a'),
    begin(new URL(server.endpoint).host, '/data/b', undefined),
  ]
  for (const upload of uploads) await upload.start()
  for (const name of ['d1', 'd2']) renameSync(join(folder, name), join(folder, `${name}.away`))
  await until(
    async () => {
      const { nodes } = await admin.call('GET', '/info')
      return nodes[0].disks.filter(({ state }: { state: string }) => state !== 'online').length === 2
    },
    { what: 'two drives are seen to be away' },
  )
  for (const upload of uploads) {
    const { status, said, leftBytes } = await upload.end()
    t.equal(status, 503, said)
    t.ok(leftBytes > 0, 'the client need not send the rest')
  }
})
