/** Requests of svcctl at a server that stops and starts, is busy, or never was there. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import { findLastingPort, until } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from '../admin/client.ts'
import type { Alias } from '../aliases.ts'
import { createClient } from '../s3/client.ts'

type Script = (response: ServerResponse, index: number) => void

/** Answers request by request; `listen` opens the same port again. */
async function startScript(t: Test, script: Script) {
  const port = await findLastingPort()
  let count = 0
  let server: Server
  const listen = () => {
    server = createServer((_, response) => script(response, count++))
    return new Promise<void>(done => server.listen(port, '127.0.0.1', done))
  }
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>(done => server.close(() => done()))
  }
  await listen()
  t.teardown(close)
  const origin = `http://127.0.0.1:${port}`
  const alias: Alias = { endpoint: origin, accessKey: 'a', secretKey: 'b', region: 'us-east-1', pathStyle: 'on' }
  const s3 = createClient({ alias, connectionCount: 2, timeoutMs: 5000, debug: undefined })
  const admin = createAdminClient({ alias, adminUrl: origin, timeoutMs: 5000, debug: undefined })
  t.teardown(() => Promise.all([s3.close(), admin.close()]))
  return { s3, admin, listen, close, requestCount: () => count }
}

const xmlError = (code: string, message: string) => `<Error><Code>${code}</Code><Message>${message}</Message></Error>`
const refuse = (response: ServerResponse, body: string, headers = {}) =>
  response.writeHead(503, { 'content-type': 'application/xml', ...headers }).end(body)
const problem = (response: ServerResponse, detail: string) =>
  response
    .writeHead(503, { 'content-type': 'application/problem+json' })
    .end(JSON.stringify({ status: 503, code: 'service_unavailable', detail }))
const get = { operation: 'GetObject', method: 'GET', bucket: 'b', key: 'k' }
const put = { operation: 'PutObject', method: 'PUT', bucket: 'b', key: 'k', body: Buffer.from('x') }
const change = { operation: 'createUser', method: 'POST', path: '/users', body: {} }
/** More than a request is tried for any other reason. */
const refusedCount = 9

t.test(
  'S3: while the server says that it stops or starts, and then while nothing listens, it is waited for',
  async t => {
    let hasEnded = false
    const { s3, listen, close } = await startScript(t, (response, index) => {
      if (index === 0 || hasEnded) response.end('done')
      else if (index <= refusedCount) {
        const state = index < 5 ? 'stopping. Please retry.' : 'starting. Try again.'
        refuse(response, xmlError('ServiceUnavailable', `The server is ${state}`))
      } else {
        hasEnded = true
        response.destroy()
      }
    })
    await s3.send(get)
    const restart = (async () => {
      await until(() => hasEnded, { what: 'the refusals are over', withinMs: 60_000 })
      await close()
      setTimeout(listen, 1500)
    })()
    t.equal((await s3.send(put)).body.toString(), 'done')
    await restart
  },
)

t.test('HEAD: the answer without words is known by the end of its connection', async t => {
  const { s3, requestCount } = await startScript(t, (response, index) => {
    if (index < refusedCount) refuse(response, '', { connection: 'close' })
    else response.end()
  })
  t.equal((await s3.send({ ...get, operation: 'HeadObject', method: 'HEAD' })).status, 200)
  t.equal(requestCount(), refusedCount + 1)
})

t.test('Admin API: changing requests are sent again, too, as none of them was begun', async t => {
  const { admin, listen, close, requestCount } = await startScript(t, (response, index) => {
    if (index === 0 || index > refusedCount) response.setHeader('content-type', 'application/json').end('{}')
    else problem(response, 'The server is stopping. Try again.')
  })
  await admin.send(change)
  await admin.send(change)
  t.equal(requestCount(), refusedCount + 2)
  await close()
  setTimeout(listen, 1500)
  await admin.send(change)
})

t.test('everything else is as it was: few attempts while the server is busy, none where none ever was', async t => {
  const { s3, admin, close, requestCount } = await startScript(t, response => {
    if (requestCount() <= 6) refuse(response, xmlError('SlowDown', 'Please reduce your request rate.'))
    else problem(response, 'Too many writers change this document at once. Try again.')
  })
  await t.rejects(s3.send(get), { code: 'SlowDown' })
  t.equal(requestCount(), 6)
  await t.rejects(admin.send(change), { code: 'service_unavailable' })
  t.equal(requestCount(), 10)
  await close()
  const never = await startScript(t, () => {})
  await never.close()
  await t.rejects(never.s3.send(get), { code: 'ECONNREFUSED' })
  await t.rejects(never.admin.send(change), { code: 'ECONNREFUSED', message: /--admin-url/ })
})
