/** The steps of the dispatcher, with operations for this test; lists and streams separately. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { definePlugin } from 'svc/kernel'
import { encodeChunks, signRequest } from 'svc/plugins/auth-sigv4/api'
import { objectErrors } from 'svc/plugins/objects/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import {
  type AdminMethod,
  type AdminOperation,
  type AdminRequest,
  adminErrors,
  decodeCursor,
  defineAdminOperation,
  type EventSink,
  encodeCursor,
  replyWith,
} from '../api.ts'
import { actionsNamed, authorizationOf, catalogue, pluginOf } from '../catalogue.ts'
import { backlogBytesMax, createEventStreams, heartbeatMs } from '../event-stream.ts'
import { completeOperations } from '../operations.ts'
import { rootPassword, rootUser, startAdmin } from '../testing.ts'

const secretText = 'planted-secret-4711'

const Settings = Type.Object(
  {
    name: Type.String({ minLength: 2 }),
    color: Type.String({ default: 'red' }),
    etag: Type.Optional(Type.String({ readOnly: true })),
    rules: Type.Optional(
      Type.Array(Type.Object({ id: Type.Integer(), updatedAt: Type.Optional(Type.String({ readOnly: true })) })),
    ),
    tags: Type.Optional(Type.Record(Type.String(), Type.String())),
    free: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { $id: 'TestSettings' },
)

let seen: AdminRequest | undefined

const put = defineAdminOperation({
  id: 'putTestSettings',
  method: 'PUT',
  path: '/test/{name}/settings',
  tag: 'test',
  summary: 'For tests.',
  authorize: ['admin:ConfigUpdate'],
  query: Type.Object({
    flag: Type.Boolean({ default: false }),
    size: Type.Optional(Type.Integer({ minimum: 1 })),
    kind: Type.Optional(Type.Array(Type.String())),
  }),
  body: Settings,
  response: Settings,
  etag: true,
  handle(request) {
    seen = request
    const { body, ifMatch, query } = request
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== 'abc') throw adminErrors.precondition_failed()
    const stored = { ...body, etag: 'abc' }
    return query.flag ? replyWith(stored, { status: 201 }) : stored
  },
})

const fail = defineAdminOperation({
  id: 'failForTests',
  method: 'POST',
  path: '/test/failures',
  tag: 'test',
  summary: 'For tests.',
  authorize: 'self',
  body: Type.Object({ how: Type.String() }),
  handle({ body }) {
    if (body.how === 'defect') throw new Error(`nobody must see ${secretText}`)
    if (body.how === 'corrupt') throw storageErrors.corrupt()
    if (body.how === 'full') throw objectErrors.InsufficientStorage()
    if (body.how === 'slow') throw adminErrors.too_many_requests(undefined, { extra: { 'retry-after': '7' } })
    if (body.how === 'quota') throw objectErrors.QuotaExceeded()
    if (body.how === 'condition') throw objectErrors.PreconditionFailed()
    throw adminErrors.service_unavailable()
  },
})

let counted = 0

const count = defineAdminOperation({
  id: 'countForTests',
  method: 'POST',
  path: '/test/counts',
  tag: 'test',
  summary: 'For tests.',
  authorize: 'self',
  body: Type.Object({
    fails: Type.Boolean({ default: false }),
    actions: Type.Optional(Type.Array(Type.String())),
    key: Type.Optional(Type.String()),
  }),
  response: Type.Object({ counted: Type.Integer() }),
  async handle({ body, requireAllowed, authorize }) {
    for (const action of body.actions ?? []) {
      if (body.key === undefined) requireAllowed(action)
      else await authorize([action], { bucket: 'photos', key: body.key })
    }
    const own = ++counted
    await new Promise(setImmediate)
    if (body.fails && own % 2 === 1) throw adminErrors.service_unavailable()
    return { counted: own }
  },
})

/** Answers where it was found. */
const place = (method: AdminMethod, path: string) =>
  defineAdminOperation({
    id: `${method} ${path}`,
    method,
    path,
    tag: 'test',
    summary: 'For tests.',
    authorize: 'self',
    response: Type.Object({ id: Type.String(), params: Type.Record(Type.String(), Type.String()) }),
    handle: ({ params }) => ({ id: `${method} ${path}`, params: { ...(params as Record<string, string>) } }),
  })

const places = [
  place('GET', '/places/{name}'),
  place('PUT', '/places/{name}'),
  place('POST', '/places/attach'),
  place('GET', '/places/{name}/x'),
]

const plugin = definePlugin({
  name: 'test-operations',
  contributes: { 'admin.operation': [...places, put, fail, count] },
  setup() {},
})

const server = await startAdmin({ plugins: [plugin] })
t.teardown(server.stop)
const { signed } = server
const settings = '/api/v1/test/a/settings'
const save = (body: unknown, path = settings, headers: Record<string, string> = {}) =>
  signed({ method: 'PUT', path, body, headers })

t.test('fields: defaults, read-only, unknown, nested, open', async t => {
  const answer = await save({ name: 'ab', etag: 'x', rules: [{ id: 1, updatedAt: 'x' }], free: { any: 1 } })
  t.equal(answer.status, 200)
  t.same(seen?.body, { name: 'ab', color: 'red', rules: [{ id: 1 }], free: { any: 1 } })
  t.equal(answer.headers.etag, '"abc"')
  const wrong = await save({ rules: [{ id: 'x' }, { id: 2, other: 1 }] })
  t.same(wrong.json.errors, [{ element: '/rules/1/other', message: 'is not a field of this request' }])
  const missing = await save({ rules: [{ id: 'x' }] })
  t.same(missing.json.errors.map(({ element }: { element: string }) => element).toSorted(), ['/name', '/rules/0/id'])
  for (const body of [null, [], 3, '"text"']) t.equal((await save(body)).json.code, 'invalid_argument')
})

t.test('hostile JSON', async t => {
  t.equal((await save('{"name":"ab","__proto__":{"color":"blue"}}')).status, 400)
  t.equal((await save('{"name":"ab","tags":{"__proto__":"x","__proto__":"y"}}')).status, 400)
  t.match((await save('{"name":"ab","free":{"a":[{"__proto__":null}]}}')).json, {
    status: 400,
    detail: '/free/a/0: no field may be called __proto__.',
    errors: [{ element: '/free/a/0', message: 'no field may be called __proto__.' }],
  })
  t.equal((await save('{"name":"ab","constructor":{"prototype":{}}}')).status, 400)
  t.equal(({} as { color?: string }).color, undefined)
  t.match((await save('{"name":"a\\ud800b"}')).json, {
    code: 'invalid_argument',
    detail: /\/name: holds half of a surrogate/,
  })
  t.match((await save('{"name":"ab","free":{"a":["x",{"b":"\\udc00"}]}}')).json, { detail: /\/free\/a\/1\/b: holds/ })
  t.match((await save('{"name":"ab","free":{"\\ud83d":1}}')).json, { detail: /\/free: holds half/ })
  t.equal((await save('{"name":"ab","free":{"\\ud83d\\ude00":"\\ud83d\\ude00"}}')).status, 200)
  const nested = (depth: number) => `{"name":"ab","free":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`
  t.equal((await save(nested(40))).status, 200)
  t.match((await save(nested(100))).json, { status: 400, code: 'malformed_request' })
  t.match((await save(nested(400_000))).json, { status: 400, code: 'malformed_request' })
  t.match((await save('{"name":"ab","name":"cd"}')).json, { name: 'cd' })
  t.equal((await save({ name: 'ab' }, settings, { 'content-encoding': 'gzip' })).json.code, 'unsupported_media_type')
})

t.test('parameters: types, defaults, repetition, encoding', async t => {
  const at = async (path: string) => {
    seen = undefined
    const answer = await save({ name: 'ab' }, path)
    // Set by the handler meanwhile, which the compiler cannot know.
    const { query, params } = (seen ?? {}) as Partial<AdminRequest>
    return { status: answer.status, query, params }
  }
  t.same((await at(`${settings}?kind=a&kind=b&size=3`)).query, { kind: ['a', 'b'], size: 3, flag: false })
  t.same(await at(`${settings}?flag=true`), { status: 201, query: { flag: true }, params: { name: 'a' } })
  for (const query of [
    'flag=yes',
    'flag=',
    'size=0',
    'size=1.5',
    'size=0x1',
    'size=99999999999999999999',
    'size=1&size=1',
  ]) {
    t.equal((await at(`${settings}?${query}`)).status, 400, query)
  }
  t.same((await at('/api/v1/test/%2E%2E%2Fa%20b%2B%C3%A4/settings')).params, { name: '../a b+ä' })
  t.equal((await signed({ path: '/api/v1/test/a%2Fsettings' })).status, 404, 'an encoded slash separates nothing')
  t.equal((await at('/api/v1/test/%ff/settings')).status, 400)
  t.equal((await at(`/api/v1/test/${'x'.repeat(1024)}/settings`)).status, 200)
  t.equal((await at(`/api/v1/test/${'x'.repeat(1025)}/settings`)).status, 414)
  t.equal((await at('/api/v1/test//settings')).status, 404)
})

t.test('If-Match with and without quotes', async t => {
  for (const ifMatch of ['"abc"', 'abc', '*']) {
    t.equal((await save({ name: 'ab' }, settings, { 'if-match': ifMatch })).status, 200, ifMatch)
  }
  for (const ifMatch of ['"abd"', 'W/"abc"', '""']) {
    const answer = await save({ name: 'ab' }, settings, { 'if-match': ifMatch })
    t.match(answer.json, { status: 412, code: 'precondition_failed' })
  }
})

t.test('a change that is sent twice is made once', async t => {
  const send = async (key: string, body: object = {}, by = signed) => {
    const headers = { 'idempotency-key': key }
    const { status, json } = await by({ method: 'POST', path: '/api/v1/test/counts', body, headers })
    return status === 200 ? json.counted : `${status} ${json.code}`
  }
  t.same(await Promise.all([send('a'), send('a')]), [1, 1], 'also while the first is under way')
  t.equal(await send('a'), 1)
  t.equal(await send('b'), 2)
  t.equal(await send('a', { fails: true }), '503 service_unavailable', 'another body is another change')
  t.equal(await send('a', { fails: true }), 4, 'what has failed is tried')
  t.equal(await send('a', { fails: true }), 4)
  const waiting = await Promise.all([1, 2, 3].map(() => send('waiting', { fails: true })))
  t.same(
    waiting.toSorted(),
    ['503 service_unavailable', 6, 6],
    'of those that wait for one that fails the next one works',
  )
  for (const key of ['', 'with space', 'x'.repeat(129)]) t.equal(await send(key), '400 invalid_argument', key)
  for (let other = 0; other < 300; other++) await send(`other ${other}`.replace(' ', '-'))
  t.equal(await send('a'), 307, 'the oldest is forgotten')
})

t.test('the result of a change is told again to who still has the rights that its handler asked for', async t => {
  const { users } = server.kernel.services
  const allow = (...actions: string[]) =>
    users.putPolicy('counting', {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: ['admin:ServerInfo', ...actions], Resource: '*' }],
    })
  await allow('admin:Heal', 's3:PutObject')
  await users.createUser({ accessKey: 'counter', secretKey: 'secret-of-counter', policyNames: ['counting'] })
  const send = async (key: string, body: object) => {
    const by = server.signedBy('counter', 'secret-of-counter')
    const headers = { 'idempotency-key': key }
    const { status, json } = await by({ method: 'POST', path: '/api/v1/test/counts', body, headers })
    return status === 200 ? json.counted : `${status} ${json.code}`
  }
  const heals = { actions: ['admin:ServerInfo', 'admin:Heal'] }
  const puts = { actions: ['s3:PutObject'], key: 'a.jpg' }
  const [healed, stored] = [await send('heal', heals), await send('put', puts)]
  t.type(healed, 'number')
  t.same([await send('heal', heals), await send('put', puts)], [healed, stored])
  await allow()
  t.equal(await send('heal', heals), '403 access_denied')
  t.equal(await send('put', puts), stored, 'a right to an object may have gone with what was changed')
  await allow('admin:Heal')
  t.equal(await send('heal', heals), healed)
})

t.test('errors of handlers', async t => {
  const how = (word: string) => signed({ method: 'POST', path: '/api/v1/test/failures', body: { how: word } })
  const defect = await how('defect')
  t.match(defect.json, { status: 500, code: 'internal_error' })
  t.notMatch(defect.text, secretText)
  const damaged = await how('corrupt')
  t.match(damaged.json, { status: 500, code: 'internal_error', detail: /^The stored bytes are damaged.*does not help/ })
  const { requestId } = defect.json
  t.ok(server.kernel.logs.some(line => line.requestId === requestId && line.operation === 'failForTests'))
  t.match((await how('full')).json, { status: 507, code: 'insufficient_storage' })
  t.match((await how('quota')).json, { status: 409, code: 'quota_exceeded' })
  t.match((await how('condition')).json, { status: 412, code: 'precondition_failed' })
  const slow = await how('slow')
  t.equal(`${slow.status} ${slow.headers['retry-after']}`, '429 7')
  const stopped = await how('')
  t.equal(`${stopped.status} ${stopped.headers['retry-after']}`, '503 1')
  t.equal((await how('x').then(({ headers }) => headers['x-request-id']))?.length, 16)
})

t.test('signatures: wrong, unknown, stale, other body, chunked body', async t => {
  const wrong = await server.signedBy(rootUser, 'wrong-secret')({ path: '/api/v1/info' })
  const unknown = await server.signedBy('unknown-key', 'wrong-secret')({ path: '/api/v1/info' })
  t.match(wrong.json, { status: 401, code: 'invalid_credentials' })
  t.equal(unknown.json.detail, wrong.json.detail, 'nobody learns which access keys there are')
  const basic = await server.anonymous({ path: '/api/v1/info', headers: { authorization: 'Basic YWRtaW46eA==' } })
  t.match(basic.json, { status: 401, code: 'unauthenticated' })

  const host = `127.0.0.1:${server.port}`
  const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
  const head = (payload: Uint8Array | string, headers: Record<string, string>, nowMs = Date.now()) =>
    signRequest(signer, { method: 'PUT', host, path: settings, headers, payload, nowMs })
  const body = JSON.stringify({ name: 'ab' })
  const plain = { 'content-type': 'application/json', 'content-length': String(body.length) }
  const send = (headers: Record<string, string>, bytes: string | Buffer) =>
    server.anonymous({ method: 'PUT', path: settings, headers: { ...plain, ...headers }, body: bytes })
  t.equal((await send({ ...head(Buffer.from(body), plain).headers }, body)).status, 200)
  const changed = body.replace('ab', 'xy')
  t.match((await send({ ...head(Buffer.from(body), plain).headers }, changed)).json, { code: 'malformed_request' })
  const stale = head(Buffer.from(body), plain, Date.now() - 16 * 60_000)
  t.match((await send({ ...stale.headers }, body)).json, { status: 401, code: 'request_time_skewed' })

  t.equal(typeof encodeChunks, 'function')
  const streamed = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
  const wire = `${body.length.toString(16)}\r\n${body}\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n`
  const chunked = {
    'content-type': 'application/json',
    'content-length': String(wire.length),
    'content-encoding': 'aws-chunked',
    'x-amz-decoded-content-length': String(body.length),
    'x-amz-trailer': 'x-amz-checksum-crc32',
  }
  t.equal((await send({ ...chunked, ...head(streamed, chunked).headers }, wire)).status, 200)
  t.match((await send({ ...chunked, ...head(streamed, chunked).headers }, wire.replace('0\r\nx', 'zz\r\nx'))).json, {
    code: 'malformed_request',
  })
})

t.test('a body without a length is stopped at the bound, and the answer arrives', async t => {
  const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
  const { headers } = signRequest(signer, {
    method: 'PUT',
    host: `127.0.0.1:${server.port}`,
    path: settings,
    headers: { 'content-type': 'application/json' },
    payload: 'UNSIGNED-PAYLOAD',
    nowMs: Date.now(),
  })
  const lines = Object.entries({ ...headers, host: `127.0.0.1:${server.port}`, 'transfer-encoding': 'chunked' })
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`PUT ${settings} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  let answer = ''
  socket.on('data', bytes => {
    answer += bytes
  })
  socket.on('error', () => {})
  let sent = 0
  while (!answer.includes('\r\n\r\n') && sent < 200) {
    sent++
    socket.write(chunk)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  t.match(answer, /^HTTP\/1\.1 413 /)
  t.match(answer, /connection: close/i)
  t.ok(sent < 200)
  socket.destroy()
})

t.test('the router', async t => {
  const at = async (method: string, path: string) => (await signed({ method, path: `/api/v1/places${path}` })).json
  t.match(await at('POST', '/attach'), { id: 'POST /places/attach' })
  t.same(await at('GET', '/attach'), { id: 'GET /places/{name}', params: { name: 'attach' } })
  t.match(await at('GET', '/a%2520%2Fb+%23c'), { params: { name: 'a%20/b+#c' } })
  t.match(await at('GET', '/%5F_proto__/x'), { id: 'GET /places/{name}/x', params: { name: '__proto__' } })
  const allowed = async (path: string) => {
    const { status, headers } = await signed({ method: 'DELETE', path: `/api/v1/places${path}` })
    return `${status} ${headers.allow}`
  }
  t.equal(await allowed('/attach'), '405 GET, POST, PUT')
  t.equal(await allowed('/%61ttach'), '405 GET, POST, PUT')
  t.equal(await allowed('/a%2Fx'), '405 GET, PUT')
  t.equal(await allowed('/a/x'), '405 GET')
  for (const path of ['', '/', '//x', '/a/', '/a#b', '/a/x/y', '/a/X']) {
    t.match(await at('GET', path), { status: 404, code: 'not_found' }, path)
  }
  const twice = definePlugin({
    name: 'test-twice',
    contributes: { 'admin.operation': [place('GET', '/info')] },
    setup() {},
  })
  await t.rejects(startAdmin({ plugins: [twice] }), /Method 'GET' already declared for route '\/api\/v1\/info'/)
})

t.test('the catalogue', async t => {
  t.equal(catalogue.length, 180)
  t.same(authorizationOf('admin:A + admin:B'), ['admin:A', 'admin:B'])
  t.same(authorizationOf('admin:A or s3:B'), [['admin:A', 's3:B']])
  t.same(authorizationOf('s3:PutObject (+s3:PutObjectTagging when sent)'), ['s3:PutObject'])
  t.same(authorizationOf('s3:DeleteBucket; force: s3:ForceDeleteBucket'), ['s3:DeleteBucket'])
  t.equal(authorizationOf('self + s3:GetObject'), 'self')
  t.same(actionsNamed('service: s3:A or s3:B; s3:A'), ['s3:A', 's3:B'])
  for (const row of catalogue) t.ok(authorizationOf(row.actions).length > 0 && pluginOf(row) !== '', row.operationId)
  const contribution = (value: Partial<AdminOperation>) => [
    { id: value.id!, plugin: 'x', value: value as AdminOperation },
  ]
  t.throws(
    () => completeOperations(contribution({ id: 'login', method: 'GET', path: '/auth/login', tag: 'session' })),
    /login is GET/,
  )
})

t.test('cursors', async t => {
  for (const position of ['', 'photos', 'ä/🪣', 'v1:x']) t.equal(decodeCursor(encodeCursor(position)), position)
  t.equal(encodeCursor(undefined), '')
  t.equal(decodeCursor(''), undefined)
  for (const cursor of ['x', 'djE6', 'djE6cA==', 'djE6cA', ' djE6cA', 'djI6cA']) {
    if (cursor === 'djE6' || cursor === 'djE6cA') t.doesNotThrow(() => decodeCursor(cursor))
    else t.throws(() => decodeCursor(cursor), { code: 'invalid_argument' }, cursor)
  }
})

t.test('a stream sends heartbeats, counts the events that a slow client loses, and ends', async t => {
  class Response extends EventEmitter {
    writableLength = 0
    head: unknown[] = []
    text = ''
    ended = 0
    writeHead(...head: unknown[]) {
      this.head.push(...head)
    }
    setHeader(...header: string[]) {
      this.head.push(header)
    }
    write(text: string) {
      this.text += text
    }
    end() {
      this.ended++
    }
  }
  const clock = createFakeClock(0)
  const streams = createEventStreams('node1', clock)
  const open = (dropped = 0) => {
    const response = new Response()
    const state = { dropped, ended: 0, sink: undefined as unknown as EventSink }
    const opened = streams.open(
      response as unknown as ServerResponse,
      {},
      {
        open(sink) {
          state.sink = sink
          sink.send('log', 'early')
          return {
            get dropped() {
              return state.dropped
            },
            end: () => void state.ended++,
          }
        },
      },
    )
    return { response, state, opened }
  }
  const { response, state } = open()
  t.same(response.head, [['content-type', 'text/event-stream'], 200, {}])
  t.match(response.text, 'event: log\nid: node1-0\ndata: "early"\n\n')
  state.sink.send('trace', { a: 'x\ny' })
  t.match(response.text, 'event: trace\nid: node1-1\ndata: {"a":"x\\ny"}\n\n')
  response.text = ''
  await clock.advance(heartbeatMs)
  t.equal(response.text, ': \n\n')
  response.writableLength = backlogBytesMax + 1
  for (let count = 0; count < 5; count++) state.sink.send('trace', {})
  await clock.advance(heartbeatMs)
  t.equal(response.text, ': \n\n', 'nothing is added to what a client does not read')
  response.writableLength = 0
  state.dropped = 2
  state.sink.send('trace', 1)
  t.match(response.text, /event: dropped\nid: node1-2\ndata: \{"count":7\}\n\nevent: trace\n/)
  response.emit('close')
  response.emit('close')
  t.equal(`${state.ended} ${response.ended}`, '1 1')
  response.text = ''
  state.sink.send('trace', 1)
  await clock.advance(heartbeatMs * 3)
  t.equal(response.text, '')

  const other = open()
  other.opened.end()
  t.equal(other.state.ended, 1)
  const last = open()
  streams.close()
  t.equal(last.state.ended, 1)
  t.equal(open().state.ended, 1, 'none begins while the server stops')
  t.throws(() =>
    streams.open(
      new Response() as unknown as ServerResponse,
      {},
      {
        open() {
          throw adminErrors.too_many_requests()
        },
      },
    ),
  )
})
