/** Maximum time of a connection without progress, counted in calls of the idle check instead of by a clock. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { bindConnection, Connection } from '../connection.ts'
import { createProxies } from '../proxies.ts'
import { createIdleCheck, endRest, idleStepMs } from '../timeouts.ts'

const limits = { bodyTimeoutMs: 30_000, sendTimeoutMs: 20_000, keepAliveTimeoutMs: 75_000 }
const stepMs = idleStepMs(limits)
const proxies = createProxies({ trusted: [], style: 'x-forwarded', trustHost: false })

/** A real socket whose client never reads, with more bytes on its way than the system's buffers can take. */
function stalledSocket(t: Test): Promise<Socket> {
  return new Promise(done => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.write(Buffer.alloc(64 << 20))
      done(socket)
    })
    server.listen(0, '127.0.0.1', () => {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
      client.on('error', () => {})
      t.teardown(() => {
        client.destroy()
        server.close()
      })
    })
  })
}

t.test('an answer that the client does not read ends after the send timeout, not after two', async t => {
  const socket = await stalledSocket(t)
  const connection = new Connection('127.0.0.1', false, proxies)
  connection.requests = connection.inFlight = 1
  bindConnection(socket, connection)
  const check = createIdleCheck(limits, () => t.fail('no message fits into an answer'))
  let looks = 0
  while (!socket.destroyed) {
    check(socket)
    looks++
  }
  t.equal(looks * stepMs, limits.sendTimeoutMs)
})

t.test('a connection without a request ends after the body timeout', async t => {
  const socket = await stalledSocket(t)
  bindConnection(socket, new Connection('127.0.0.1', false, proxies))
  const check = createIdleCheck(limits, () => t.fail('it has sent nothing'))
  let looks = 0
  while (!socket.destroyed) {
    check(socket)
    looks++
  }
  t.equal(looks * stepMs, limits.bodyTimeoutMs)
})

t.test('a connection between requests ends a second after the keep-alive time, unless a request comes', async t => {
  const socket = await stalledSocket(t)
  const connection = new Connection('127.0.0.1', false, proxies)
  connection.requests = 1
  bindConnection(socket, connection)
  const check = createIdleCheck(limits, () => t.fail('nobody is to be told'))
  check(socket)
  t.equal(stepMs + (socket.timeout ?? 0), limits.keepAliveTimeoutMs + 1000, 'what was announced, and a second more')
  endRest(socket, connection, limits)
  t.equal(socket.timeout, stepMs)
  check(socket)
  t.equal(socket.destroyed, false)
  check(socket)
  t.equal(socket.destroyed, true)
})

t.test('a keep-alive time that is shorter than a step is one', async t => {
  const short = { ...limits, keepAliveTimeoutMs: 100 }
  t.equal(idleStepMs(short), 100)
  const socket = await stalledSocket(t)
  const connection = new Connection('127.0.0.1', false, proxies)
  connection.requests = 1
  bindConnection(socket, connection)
  const check = createIdleCheck(short, () => t.fail('nobody is to be told'))
  check(socket)
  t.equal(socket.timeout, 1000, 'a request that was sent at its end is still served')
  check(socket)
  t.equal(socket.destroyed, true)
})
