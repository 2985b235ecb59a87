/** The server as a process of its own, restarted by its Admin API. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { definePlugin } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { svcProgram } from '../../../test/services/programs.ts'

const signer = { accessKey: 'admin', secret: 'change-me-please', region: 'us-east-1' }

interface Answer {
  readonly status: number
  readonly body: string
}

for (const workers of ['0', '2']) {
  t.test(
    `with ${workers} workers: what is under way is finished, the process stays, and links stay revoked`,
    async t => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-restart-'))
      const child = spawn(process.execPath, [svcProgram, 'server', folder], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          ...process.env,
          NODE_OPTIONS: '',
          SVC_ADDRESS: '127.0.0.1:0',
          SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
          SVC_ROOT_USER: signer.accessKey,
          SVC_ROOT_PASSWORD: signer.secret,
          SVC_WORKERS: workers,
        },
      })
      const exited = new Promise<number | null>(done => child.once('exit', done))
      t.teardown(async () => {
        child.kill('SIGKILL')
        await exited
        await rm(folder, { recursive: true, force: true })
      })
      let log = ''
      child.stderr.setEncoding('utf8').on('data', (more: string) => (log += more))
      const ready = async (count: number): Promise<{ console: string; s3: string }> => {
        for (let attempt = 0; attempt < 900; attempt++) {
          const lines = log.split('\n').filter(line => line.includes('"msg":"ready"'))
          if (lines.length >= count) return JSON.parse(lines[count - 1]!)
          await new Promise(done => setTimeout(done, 100))
        }
        throw new Error(log)
      }
      const send = (
        address: string,
        method: string,
        target: string,
        body = '',
        hold?: Promise<void>,
      ): Promise<Answer> => {
        const [path = '', query = ''] = target.split('?')
        const payload = hold === undefined ? Buffer.from(body) : 'UNSIGNED-PAYLOAD'
        const given = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
        const nowMs = Date.now()
        const { headers } = signRequest(signer, { method, host: address, path, query, headers: given, payload, nowMs })
        return new Promise((done, fail) => {
          const sent = request(`http://${address}${target}`, { method, headers, agent: false }, answer => {
            text(answer).then(all => done({ status: answer.statusCode!, body: all }), fail)
          })
          sent.on('error', fail)
          if (hold === undefined) sent.end(body)
          else {
            sent.write(body.slice(0, 10))
            hold.then(() => sent.end(body.slice(10)))
          }
        })
      }
      const startedMs = async (console: string) =>
        Date.parse(JSON.parse((await send(console, 'GET', '/api/v1/info')).body).startedAt)
      const api = '/api/v1/buckets'
      const first = await ready(1)
      const firstStartedMs = await startedMs(first.console)
      await send(first.console, 'POST', api, '{"name":"photos"}')
      let finish: (() => void) | undefined
      const held = new Promise<void>(done => (finish = done))
      const upload = send(first.console, 'POST', `${api}/photos/objects/upload?key=a`, 'x'.repeat(1000), held)
      const shared = JSON.parse(
        (
          await send(first.console, 'POST', `${api}/photos/objects/upload?key=b`, 'b').then(() =>
            send(first.console, 'POST', `${api}/photos/objects/share`, '{"key":"b"}'),
          )
        ).body,
      )
      // Each on a connection of its own: all threads have their turn.
      const use = (address: string) =>
        Promise.all(
          Array.from({ length: 12 }, async () => {
            const url = shared.url.replace(first.s3, address)
            const answer = await fetch(url, { headers: { connection: 'close' } })
            await answer.arrayBuffer()
            return answer.status
          }),
        )
      t.same(new Set(await use(first.s3)), new Set([200]))
      t.equal((await send(first.console, 'DELETE', `/api/v1/shares/${shared.id}`)).status, 204)
      t.same(new Set(await use(first.s3)), new Set([403]), 'in every thread at once')

      const restart = await send(first.console, 'POST', '/api/v1/service/restart')
      t.equal(`${restart.status} ${restart.body}`, `202 {"nodes":["${hostname()}"]}`)
      await new Promise(done => setTimeout(done, 300))
      finish!()
      t.equal((await upload).status, 201)
      const second = await ready(2)
      t.equal(child.exitCode, null, 'the same process')
      const detail = await send(second.console, 'GET', `${api}/photos/objects/stat?key=a`)
      t.equal(JSON.parse(detail.body).size, 1000)
      t.ok((await startedMs(second.console)) > firstStartedMs, 'the uptime counts from the restart')
      t.match(log, /"reason":"restartService, asked for by admin"/)
      child.kill('SIGTERM')
      t.equal(await exited, 0)
    },
  )
}

t.test('restarting is asked for once, later on request, and by authorized callers only', async t => {
  const clock = createFakeClock(Date.now())
  const asked: [string, boolean][] = []
  const onStopRequest = (reason: string, isRestart: boolean) => void asked.push([reason, isRestart])
  const server = await startAdmin({ ports: { clock }, onStopRequest })
  t.teardown(server.stop)
  const restart = (body?: object, call = server.signed) =>
    call({ method: 'POST', path: '/api/v1/service/restart', body })
  for (const bad of [{ nodes: ['elsewhere'] }, { delaySeconds: 301 }, { delaySeconds: -1 }]) {
    t.equal((await restart(bad)).json.code, 'invalid_argument')
  }
  await server.kernel.services.users.createUser({ accessKey: 'nobody', secretKey: 'a-secret-of-nobody' })
  t.equal((await restart({}, server.signedBy('nobody', 'a-secret-of-nobody'))).status, 403)
  t.equal((await restart({ delaySeconds: 60 })).status, 202)
  await clock.advance(59_000)
  t.same(asked, [])
  await clock.advance(1000)
  // The look at what the start would refuse takes real time.
  for (let tries = 0; tries < 1000 && asked.length === 0; tries++) await delay(10)
  t.same(asked, [['restartService, asked for by admin', true]])
  t.equal((await restart()).status, 202)
  t.equal(asked.length, 1)
})

t.test('what would refuse the start is looked at when the restart begins, too', async t => {
  const clock = createFakeClock(Date.now())
  const asked: string[] = []
  let problems: string[] = []
  const changing = definePlugin({
    name: 'changing',
    setup: () => ({ inspectRestart: () => ({ problems }) }),
  })
  const onStopRequest = (reason: string) => void asked.push(reason)
  const server = await startAdmin({ ports: { clock }, onStopRequest, plugins: [changing] })
  t.teardown(server.stop)
  const lines: string[] = []
  t.teardown(server.kernel.services.kernel.watchLog(line => lines.push(line)))
  const restart = async (body: object) =>
    (await server.signed({ method: 'POST', path: '/api/v1/service/restart', body })).status
  t.equal(await restart({ delaySeconds: 60 }), 202)
  problems = ['it is gone.']
  t.equal(await restart({ delaySeconds: 60 }), 409)
  await clock.advance(60_000)
  const isTold = () => lines.some(line => line.includes('and not start again: changing: it is gone'))
  for (let tries = 0; tries < 1000 && !isTold(); tries++) await delay(10)
  t.ok(isTold())
  t.same(asked, [])
  t.equal(await restart({ delaySeconds: 60, force: true }), 202)
  await clock.advance(60_000)
  t.same(asked, ['restartService, asked for by admin'])
})
