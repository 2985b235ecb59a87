/** Audit records to real receivers: the contract; restarts of the receiver and of the server, orderly and not; bounds. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { rootPassword, rootUser, startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import type { AuditRecord } from 'svc/plugins/audit/api'
import { auditTargetContract } from 'svc/plugins/audit/contract'
import { createTestHttpClient, makeCertificates, type Receiver, startReceiver } from 'svc/plugins/http-client/testing'
import { until } from 'svc/testing'
import t, { type Test } from 'tap'
import { svcProgram } from '../../../test/services/programs.ts'
import { createAuditTargets } from '../audit-target.ts'
import { createTestWebhooks } from '../testing.ts'

const token = 'token-of-the-test-s3cret'
const target = 'audit_webhook:_'

function subjectOf(t: Test, receiver: Receiver, more: Readonly<Record<string, unknown>> = {}) {
  receiver.answer = ({ headers }, response) => {
    if (headers.authorization !== `Bearer ${token}`) receiver.requests.pop()
    response.writeHead(headers.authorization === `Bearer ${token}` ? 200 : 401).end('{"ok":true}')
  }
  const settings = { endpoint: `${receiver.url}?key=query-s3cret`, auth_token: token, timeout: 1000, ...more }
  return {
    kind: createAuditTargets(createTestWebhooks(createTestHttpClient(t))),
    settings,
    refusedSettings: { ...settings, auth_token: 'another-s3cret' },
    secrets: [token, 'another-s3cret', 'query-s3cret'],
    timeoutMs: 1000,
    received: async () => receiver.requests.map(({ body }) => body),
    stop: () => receiver.stop(),
    start: () => receiver.start(),
    hang: async () => receiver.hang(),
    resume: async () => receiver.resume(),
  }
}

t.test('over HTTP the target keeps the contract', t =>
  auditTargetContract(t, async t => subjectOf(t, await startReceiver(t))),
)

t.test('over mutual TLS the target keeps the contract', t =>
  auditTargetContract(t, async t => {
    const { authority, server, client } = makeCertificates(t)
    const [key, cert, ca] = [server.key, server.certificate, authority].map(path => readFileSync(path))
    const receiver = await startReceiver(t, { key, cert, ca, requestCert: true, rejectUnauthorized: true })
    return subjectOf(t, receiver, { ca_cert: authority, client_cert: client.certificate, client_key: client.key })
  }),
)

async function startServer(t: Test, config: Parameters<typeof startAdmin>[0] = {}): Promise<TestAdmin> {
  const admin = await startAdmin({ ...config, config: { prometheus: { authType: 'public' }, ...config.config } })
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await admin.stop()
  }
  t.teardown(stop)
  return { ...admin, stop }
}

async function configure(t: Test, admin: TestAdmin, settings: Readonly<Record<string, string | null>>): Promise<void> {
  const answer = await admin.signed({ method: 'PATCH', path: '/api/v1/config/audit_webhook', body: { settings } })
  t.equal(answer.status, 200, answer.text)
  t.notOk(answer.text.includes(token), 'the token is masked')
}

const idsAt = (receiver: Receiver): string[] => receiver.requests.map(({ body }) => JSON.parse(body).requestId)

/** Makes records: anonymous requests for one object. Returns their ids, in the order in which they were answered. */
async function ask(port: number, count: number, path = '/photos/k'): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    await answer.arrayBuffer()
    ids.push(answer.headers.get('x-amz-request-id')!)
  }
  return ids
}

/** The value of a metric for our target; undefined if it has none. */
async function metric({ s3Port }: TestAdmin, name: string): Promise<number | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${s3Port}/svc/metrics/v1/node`)).text()
  const line = text.split('\n').find(line => line.startsWith(`svc_${name}{target="${target}"`))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

t.test('each record is one POST with the record of log and ring; a receiver may stop and start again', async t => {
  const receiver = await startReceiver(t)
  const admin = await startServer(t)
  t.equal(await metric(admin, 'events_target_online'), undefined, 'a target that nobody has set up is not shown')
  await ask(admin.s3Port, 3)
  await configure(t, admin, { enable: 'on', endpoint: `${receiver.url}?key=query-s3cret`, auth_token: token })
  const shown = await admin.signed({ path: '/api/v1/config/audit_webhook' })
  t.match(shown.json.settings, { enable: 'on', auth_token: '*REDACTED*', timeout: '5s', queue_limit: '100000' })

  const ids = await ask(admin.s3Port, 200)
  await until(() => ids.every(id => idsAt(receiver).includes(id)), { what: 'the records' })
  const kept = await admin.kernel.services.audit.recent(1000)
  for (const { body, headers } of receiver.requests.slice(-20)) {
    const record: AuditRecord = JSON.parse(body)
    t.same(
      record,
      kept.find(({ requestId }) => requestId === record.requestId),
    )
    t.equal(headers.authorization, `Bearer ${token}`)
    t.equal(headers['content-type'], 'application/json')
  }
  t.equal(await metric(admin, 'events_target_online'), 1)
  await until(async () => (await metric(admin, 'events_sent_total'))! >= 200, { what: 'sent' })

  await receiver.stop()
  const missed = await ask(admin.s3Port, 150)
  await until(async () => (await metric(admin, 'events_target_online')) === 0, { what: 'offline' })
  await until(async () => (await metric(admin, 'events_pending'))! >= 150, { what: 'pending' })
  t.ok((await metric(admin, 'events_failed_total'))! >= 1)
  const listed = async () => (await admin.signed({ path: '/api/v1/audit/targets' })).json.items
  const [offline] = await listed()
  t.match(offline, { id: target, type: 'webhook', enabled: true, online: false, lastError: /./, droppedTotal: 0 })
  t.ok(offline.pendingRecords >= 150)
  t.notMatch(JSON.stringify(offline), /s3cret/)
  await receiver.start()
  await until(() => missed.every(id => idsAt(receiver).includes(id)), { what: 'what waited' })
  await until(async () => (await metric(admin, 'events_target_online')) === 1, { what: 'online' })
  await until(async () => (await metric(admin, 'events_pending')) === 0, { what: 'nothing pending' })
  t.match(await listed(), [{ online: true, lastError: '', lastSuccessAt: /^20/ }])
  const messages = admin.kernel.logs.map(({ msg }) => msg)
  t.ok(messages.includes('a target takes no audit records: they are queued'))
  t.ok(messages.includes('a target takes audit records again'))

  await configure(t, admin, { enable: 'off' })
  await until(async () => (await metric(admin, 'events_target_online')) === undefined, { what: 'off' })
  const unsent = await ask(admin.s3Port, 5)
  await sleep(300)
  t.notOk(
    unsent.some(id => idsAt(receiver).includes(id)),
    'nothing is sent to a target that is off',
  )
  await admin.stop()
  t.notMatch(JSON.stringify(admin.kernel.logs), /s3cret/, 'no log line has a secret')
})

t.test('invalid settings are refused; incomplete ones may be stored', async t => {
  const admin = await startServer(t)
  const change = (settings: Readonly<Record<string, string>>) =>
    admin.signed({ method: 'PATCH', path: '/api/v1/config/audit_webhook:other', body: { settings } })
  for (const settings of [
    { enable: 'on' },
    { enable: 'on', endpoint: 'http://169.254.169.254/s3cret' },
    { enable: 'on', endpoint: 'http://user:s3cret@127.0.0.1/' },
    { queue_dir: '/var' },
    { queue_dir: '../up' },
    { queue_limit: '0' },
    { timeout: '0' },
    { unknown: 'x' },
  ]) {
    const { status, text } = await change(settings as unknown as Record<string, string>)
    t.equal(status, 400, text)
    t.notMatch(text, /s3cret/)
  }
  t.equal((await change({ endpoint: 'later', queue_dir: 'audit/other' })).status, 200)
})

t.test('a full queue drops records, counts them, and logs it once a minute', async t => {
  const receiver = await startReceiver(t)
  const admin = await startServer(t)
  await receiver.stop()
  await configure(t, admin, { enable: 'on', endpoint: receiver.url, queue_limit: '20' })
  const ids = await ask(admin.s3Port, 200)
  await until(async () => ((await metric(admin, 'audit_dropped_total')) ?? 0) >= 180, { what: 'dropped' })
  t.equal(await metric(admin, 'events_pending'), 20)
  const said = admin.kernel.logs.filter(({ msg }) => /were dropped/.test(String(msg)))
  t.equal(said.length, 1)
  await receiver.start()
  await until(() => ids.slice(0, 15).every(id => idsAt(receiver).includes(id)), { what: 'the oldest' })
})

t.test(
  'a receiver that is slow, hangs, or refuses single records delays neither requests nor other records',
  async t => {
    const receiver = await startReceiver(t)
    const admin = await startServer(t)
    await configure(t, admin, { enable: 'on', endpoint: receiver.url, timeout: '2s' })
    receiver.hang()
    const connectionsBefore = receiver.connections()
    const ids = await ask(admin.s3Port, 100)
    // If each had waited for its record, it would have waited for an attempt, each of which ends with its connection.
    const attempts = receiver.connections() - connectionsBefore
    t.ok(attempts < ids.length, `${attempts} attempts for ${ids.length} requests`)
    await until(async () => (await metric(admin, 'events_pending'))! >= 100, { what: 'in the queue' })
    receiver.resume()
    receiver.answer = (_request, response) => void setTimeout(() => response.writeHead(200).end(), 700)
    await until(() => ids.every(id => idsAt(receiver).includes(id)), {
      what: 'what a slow one takes',
      withinMs: 60_000,
    })
    receiver.answer = ({ path, body }, response) => {
      const isRefused = JSON.parse(body).path === '/photos/poison'
      response.writeHead(isRefused && path !== '' ? 422 : 204).end()
    }
    const poison = await ask(admin.s3Port, 1, '/photos/poison')
    const behind = await ask(admin.s3Port, 20)
    await until(() => behind.every(id => idsAt(receiver).includes(id)), { what: 'what comes behind', withinMs: 60_000 })
    await until(async () => (await metric(admin, 'events_pending')) === 0, {
      what: 'the dead letter',
      withinMs: 60_000,
    })
    t.ok(idsAt(receiver).includes(poison[0]!))
    const [{ deadLetters, droppedTotal }] = (await admin.signed({ path: '/api/v1/audit/targets' })).json.items
    t.same({ deadLetters, droppedTotal }, { deadLetters: 1, droppedTotal: 0 }, 'what is refused for good is counted')
  },
)

/** A server process with two workers over a folder that has its settings already. */
async function startProcess(
  t: Test,
  drive: string,
): Promise<{ child: ChildProcess; port: number; ended: Promise<void> }> {
  const child = spawn(process.execPath, [svcProgram, 'server', drive], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      SVC_ROOT_USER: rootUser,
      SVC_ROOT_PASSWORD: rootPassword,
      SVC_ADDRESS: '127.0.0.1:0',
      SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
      SVC_WORKERS: '2',
      SVC_PROMETHEUS_AUTH_TYPE: 'public',
    },
  })
  const ended = new Promise<void>(done => child.once('exit', () => done()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const port = await new Promise<number>((done, fail) => {
    createInterface({ input: child.stderr! }).on('line', line => {
      const { msg, s3, level } = JSON.parse(line)
      if (msg === 'ready') done(Number(/:(\d+)\/?$/.exec(s3)![1]))
      if (level === 'fatal') fail(new Error(line))
    })
    child.once('exit', code => fail(new Error(`ended with ${code}`)))
  })
  return { child, port, ended }
}

/** Number of records in the queue on the drive. */
async function queued(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/svc/metrics/v1/node`)).text()
  const line = text.split('\n').find(line => line.startsWith('svc_queue_pending{family="audit"'))
  return Number(line?.split(' ').at(-1) ?? 0)
}

t.test('two workers: an orderly stop loses nothing, a crash loses the records in memory of about a second', async t => {
  const receiver = await startReceiver(t)
  const drive = mkdtempSync(join(tmpdir(), 'svc-audit-webhook-'))
  t.teardown(() => rmSync(drive, { recursive: true, force: true }))
  const admin = await startServer(t, { config: { storage: { endpoints: [drive] } } })
  await configure(t, admin, { enable: 'on', endpoint: receiver.url })
  await admin.stop()

  const first = await startProcess(t, drive)
  const live = await ask(first.port, 100)
  await until(() => live.every(id => idsAt(receiver).includes(id)), { what: 'records of both workers' })
  await receiver.stop()
  const orderly = await ask(first.port, 200)
  // Without a pause: many records are still in memory.
  first.child.kill('SIGTERM')
  await first.ended
  await receiver.start()
  const second = await startProcess(t, drive)
  await until(() => orderly.every(id => idsAt(receiver).includes(id)), { what: 'what an orderly stop has kept' })

  await receiver.stop()
  const safe = await ask(second.port, 200)
  await until(async () => (await queued(second.port)) >= 200, { what: 'what is in the queue' })
  const late = await ask(second.port, 50)
  second.child.kill('SIGKILL')
  await second.ended
  await receiver.start()
  await startProcess(t, drive)
  await until(() => safe.every(id => idsAt(receiver).includes(id)), { what: 'what a crash must not lose' })
  const lost = late.filter(id => !idsAt(receiver).includes(id)).length
  t.comment(`of the last 50 records before the crash ${lost} were lost`)
})
