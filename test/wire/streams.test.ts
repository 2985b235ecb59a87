/**
 * A stream that svcctl follows goes on when the server is restarted, and when it was killed. One that is not read loses events, and is told
 * how many; the others lose none.
 */
import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { join } from 'node:path'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { eventually, findLastingPort } from 'svc/testing'
import t, { type Test } from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { accessKey, region, secretKey, startServer, type TestServer } from './server.ts'
import { createSignedClient } from './signed-client.ts'
import { openStream } from './telling-places.ts'

t.test('svcctl admin trace connects again', async t => {
  const consolePort = await findLastingPort()
  const environment = { SVC_CONSOLE_ADDRESS: `127.0.0.1:${consolePort}` }
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  const env = {
    PATH: process.env.PATH,
    SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'),
    SVCCTL_SECRET_KEY: secretKey,
  }
  const start = (...args: string[]) => {
    const all = [svcctlProgram, '--admin-url', `http://127.0.0.1:${consolePort}`, ...args]
    const child = spawn(process.execPath, all, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    t.teardown(() => child.kill('SIGKILL'))
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', chunk => {
      said.stdout += chunk
    })
    child.stderr.on('data', chunk => {
      said.stderr += chunk
    })
    return { child, said, ended: new Promise<number | null>(done => child.on('close', done)) }
  }
  t.equal(await start('alias', 'set', 'home', server.endpoint, accessKey).ended, 0)
  const { child, said, ended } = start('admin', 'trace', 'home', '--type', 's3', '--json')
  /** Until the stream, which opens a little later than the server does, tells of a request of this life of the server. */
  const see = async (life: string) => {
    await eventually(
      async () => {
        await fetch(`${server.endpoint}/photos/${life}`).then(answer => answer.text())
        return said
      },
      ({ stdout }) => stdout.includes(`/photos/${life}`),
    )
  }
  await see('first')
  await server.stop()
  await server.start()
  await see('second')
  const times = () => said.stderr.match(/onnecting again/g)?.length ?? 0
  const after = times()
  t.ok(after > 0)
  await server.kill()
  await server.start()
  await see('third')
  t.ok(times() > after)
  child.kill('SIGINT')
  t.equal(await ended, 130)
  for (const line of said.stdout.trim().split('\n')) t.match(JSON.parse(line), { type: 's3', status: 404 })
})

t.test('a reader that stops loses events and gets their number, and another one at the same time gets all', async t => {
  const server = await startServer()
  t.teardown(() => server.remove())
  const slow = await openPausedStream(t, server)
  const fast = await openStream(t, server, '/trace', 'type=s3')
  const client = createSignedClient(server.port)
  t.teardown(() => client.disconnect())
  // Lines of some 3 KB: what the kernel keeps of a connection is full after a thousand or two.
  const long = 'ü'.repeat(500)
  const ask = (index: number) => client.send({ method: 'GET', path: `/photos/${index}-${encodeURIComponent(long)}` })
  const count = 4000
  const linesOf = (text: string) => text.split('\n').filter(line => line.startsWith('data: {"time"')).length
  let next = 0
  const lane = async (end: number) => {
    while (next < end) await ask(next++)
  }
  // A busy machine may let this process wait longer than the server keeps lines for it: then it would lose some, too.
  for (let end = 250; end <= count; end += 250) {
    await Promise.all(Array.from({ length: 16 }, () => lane(end)))
    await eventually(
      () => linesOf(fast.seen()),
      lines => lines === end,
    )
  }
  t.notMatch(fast.seen(), /event: dropped/)
  slow.resume()
  // The number comes before the next event.
  await eventually(
    async () => {
      await client.send({ method: 'GET', path: '/last' })
      return slow.seen()
    },
    text => text.includes('event: dropped'),
  )
  const [before, after] = slow.seen().split('event: dropped', 2) as [string, string]
  const dropped = Number(/^\nid: \S+\ndata: \{"count":(\d+)\}\n/.exec(after)?.[1])
  t.ok(dropped > 0, `${dropped} were lost`)
  t.ok(linesOf(before) + dropped >= count, 'each is shown or counted')
  t.ok(linesOf(before) + dropped <= linesOf(fast.seen()), 'once')
})

/** Root's stream of the trace, which nobody reads until `resume`. */
function openPausedStream(t: Test, server: TestServer) {
  const host = String(server.startup.console)
  const [hostname, port] = host.split(':')
  const path = '/api/v1/trace'
  const query = 'type=s3'
  const signed = { method: 'GET', host, path, query, headers: {}, nowMs: Date.now() }
  const { headers } = signRequest({ accessKey, secret: secretKey, region }, signed)
  return new Promise<{ seen(): string; resume(): void }>((done, fail) => {
    const sent = get({ hostname, port, path: `${path}?${query}`, headers, agent: false }, answer => {
      t.teardown(() => sent.destroy())
      answer.on('error', () => {})
      let seen = ''
      answer.pause()
      answer.setEncoding('utf8').on('data', chunk => {
        seen += chunk
      })
      answer.pause()
      done({ seen: () => seen, resume: () => answer.resume() })
    })
    sent.on('error', fail)
  })
}
