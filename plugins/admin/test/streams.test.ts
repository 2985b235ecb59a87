/** A stream over the wire continues as long as its caller would be allowed to open it again. */
import { once } from 'node:events'
import { request } from 'node:http'
import { definePlugin } from 'svc/kernel'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import 'svc/plugins/users/api'
import { createFakeClock, eventually } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import { defineAdminOperation } from '../api.ts'
import { adminErrors } from '../errors.ts'
import { heartbeatMs } from '../event-stream.ts'
import { rootPassword, rootUser, startAdmin } from '../testing.ts'

const streamed = defineAdminOperation({
  id: 'streamForTests',
  method: 'GET',
  path: '/test/stream',
  tag: 'test',
  summary: 'For tests.',
  authorize: ['admin:ServerTrace'],
  events: { trace: Type.Object({}) },
  handle: () => ({ open: () => ({ end() {} }) }),
})
/** The credentials that the test's provider accepts. */
const tickets = new Set<string>()
/** Of requests whose answers have ended. */
const records: HttpRequestRecord[] = []
const plugin = definePlugin({
  name: 'test-streams',
  contributes: { 'admin.operation': [streamed] },
  setup({ contribute }) {
    contribute('http.observer', 'test', record => void records.push(record))
    contribute('auth.provider', 'ticket', {
      authenticate({ headers: { authorization } }) {
        if (authorization?.startsWith('Ticket ') !== true) return undefined
        if (!tickets.has(authorization)) throw adminErrors.access_denied()
        const identity = { accessKey: 'ticket', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'ticket' }
        return { identity, method: 'header' }
      },
    })
  },
})
const clock = createFakeClock(Date.now())
const server = await startAdmin({ plugins: [plugin], ports: { clock } })
t.teardown(server.stop)
const { users, iam } = server.kernel.services
const host = `127.0.0.1:${server.port}`
const path = '/api/v1/test/stream'

/** Resolves when the stream has begun. */
async function open(headers: Readonly<Record<string, string>>) {
  const sent = request({ host: '127.0.0.1', port: server.port, path, headers, agent: false }).end()
  const [answer] = await once(sent, 'response')
  if (answer.statusCode !== 200) throw new Error(`no stream: ${answer.statusCode}`)
  const state = { isOpen: true, beats: -1 }
  answer
    .on('data', () => void state.beats++)
    .on('end', () => {
      state.isOpen = false
    })
  t.teardown(() => sent.destroy())
  return state
}

const sign = (accessKey: string, secret: string, more: Readonly<Record<string, string>> = {}) => ({
  ...more,
  ...signRequest(
    { accessKey, secret, region: 'us-east-1' },
    { method: 'GET', host, path, query: '', headers: more, payload: Buffer.alloc(0), nowMs: clock.now() },
  ).headers,
})

/** Whether it is still open one heartbeat later. */
async function goesOn(stream: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { beats } = stream
  await clock.advance(heartbeatMs)
  for (let waited = 0; waited < 9000 && stream.isOpen && stream.beats === beats; waited++) {
    await new Promise(done => setTimeout(done, 10))
  }
  return stream.isOpen
}

t.test('a client that has seen enough is no failure in trace and audit', async t => {
  records.length = 0
  const sent = request({
    host: '127.0.0.1',
    port: server.port,
    path,
    headers: sign(rootUser, rootPassword),
    agent: false,
  })
  const [answer] = await once(sent.end(), 'response')
  await once(answer, 'data')
  sent.destroy()
  const [record] = await eventually(
    () => records,
    ({ length }) => length > 0,
  )
  t.match(record, { operation: 'streamForTests', status: 200 })
  t.notOk(record!.errorCode)
})

t.test('a user who takes a whole share of streams leaves places for others', async t => {
  const secretKey = 'a-secret-of-eve'
  const Statement = [{ Effect: 'Allow', Action: 'admin:ServerTrace' }]
  await users.putPolicy('watcher', { Version: '2012-10-17', Statement })
  for (const accessKey of ['eve', 'finn']) await users.createUser({ accessKey, secretKey, policyNames: ['watcher'] })
  for (let count = 0; count < 16; count++) await open(sign('eve', secretKey))
  await t.rejects(open(sign('eve', secretKey)), { message: 'no stream: 429' })
  await open(sign('finn', secretKey))
  await open(sign(rootUser, rootPassword))
})

t.test('a stream ends when the provider no longer accepts its caller', async t => {
  const authorization = 'Ticket one'
  tickets.add(authorization)
  const stream = await open({ authorization })
  t.ok(await goesOn(stream))
  tickets.delete(authorization)
  t.notOk(await goesOn(stream))
})

t.test('a stream ends when its caller is deleted, disabled, gets another secret or has fewer rights', async t => {
  const secretKey = 'a-secret-of-ada'
  const Statement = [{ Effect: 'Allow', Action: 'admin:ServerTrace' }]
  await users.putPolicy('tracer', { Version: '2012-10-17', Statement })
  const create = () => users.createUser({ accessKey: 'ada', secretKey, policyNames: ['tracer'] })
  const changes: Record<string, () => Promise<unknown>> = {
    detached: () => users.detachPolicies({ user: 'ada' }, ['tracer']),
    disabled: () => users.updateUser('ada', { status: 'disabled' }),
    rotated: () => users.setUserSecretKey('ada', 'another-secret'),
    deleted: async () => {},
  }
  for (const [name, change] of Object.entries(changes)) {
    await create()
    const identity = (await iam.credentials('ada'))!.identity
    const session = await users.createSession(identity, { durationSeconds: 900, sessionName: 'trace' })
    const temporary = sign(session.accessKey, session.secretKey, { 'x-amz-security-token': session.sessionToken })
    const streams = [await open(sign('ada', secretKey)), await open(temporary)]
    for (const stream of streams) t.equal(await goesOn(stream), true, `${name}: at first`)
    await change()
    if (name === 'deleted') await users.deleteUser('ada', iam.owner)
    t.equal(await goesOn(streams[0]!), false, name)
    t.equal(await goesOn(streams[1]!), false, `${name}: the session`)
    if (name !== 'deleted') await users.deleteUser('ada', iam.owner)
  }
  const ofRoot = await open(sign(rootUser, rootPassword))
  t.equal(await goesOn(ofRoot), true)
  const { cookie } = await server.login()
  t.equal(await goesOn(await open({ cookie })), true)
})
