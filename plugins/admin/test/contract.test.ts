/** Properties that follow from the declarations, tested on every operation of the real server. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import type { AdminOperation } from '../api.ts'
import { catalogue, pluginOf } from '../catalogue.ts'
import { type AdminAnswer, type AdminCall, responseProblems, startAdmin, userSecret } from '../testing.ts'

/** Operations that need a service: without it they answer 501 to any request. */
const masterKey = `contract:${Buffer.alloc(32, 7).toString('base64')}`
const server = await startAdmin({ config: { kms: { secretKey: masterKey } } })
t.teardown(server.stop)
await server.kernel.services.users.createUser({ accessKey: 'nobody', secretKey: userSecret })
const { operations: served, signed, anonymous } = server
const nobody = server.signedBy('nobody', userSecret)
const session = await server.login()

const isPublic = ({ authorize }: AdminOperation) => authorize === 'public'
const changes = ({ method }: AdminOperation) => method !== 'GET'

/** Values for parameters in paths. */
/** Parameters that are not names. */
const parameters: Readonly<Record<string, string>> = { partNumber: '1', kind: 'drive' }
const pathOf = (path: string) =>
  `/api/v1${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? `some-${name}`)}`
/** Required query parameters. */
const queryOf = (method: string, path: string) => {
  const { query } = served.find(other => other.method === method && other.path === path) ?? {}
  const needed = (query?.required ?? []).filter((name: string) => query?.properties[name].default === undefined)
  return needed.map((name: string) => `${name}=some-${name}`).join('&')
}
const callOf = ({ method, path }: Pick<AdminOperation, 'method' | 'path'>): AdminCall => {
  const query = queryOf(method, path)
  return { method, path: pathOf(path) + (query === '' ? '' : `?${query}`) }
}
const withQuery = (path: string, more: string) => `${path}${path.includes('?') ? '&' : '?'}${more}`
/** Valid bodies, by operation. */
const bodies: Readonly<Record<string, unknown>> = {
  createBucket: { name: 'made-by-contract' },
  setBucketVersioning: { status: 'enabled' },
  setBucketTags: { tags: {} },
  setObjectTags: { tags: {} },
  setBucketObjectLock: { enabled: false },
  setBucketQuota: { type: '', size: 0 },
  setBucketEncryption: { algorithm: 'AES256' },
  setBucketBlockPublic: { enabled: true },
  setBlockPublic: { enabled: true },
  setObjectMetadata: {},
  copyObject: { source: { bucket: 'some-bucket', key: 'a' }, key: 'b' },
  downloadZip: { objects: [{ key: 'a' }] },
  createUpload: { key: 'some-key' },
  createShare: { key: 'some-key' },
  presignUrl: { method: 'GET', bucket: 'some-bucket', key: 'some-key' },
  createPostPolicy: { bucket: 'some-bucket', key: 'some-key' },
  setObjectRetention: { mode: '' },
  setObjectLegalHold: { enabled: false },
  deleteObjects: { objects: [{ key: 'a' }] },
  putBucketCors: { rules: [] },
  putBucketEvents: { subscriptions: [] },
  createUser: { accessKey: 'made-by-contract' },
  updateUser: { status: 'enabled' },
  createGroup: { name: 'made-by-contract' },
  updateGroup: { status: 'enabled' },
  replaceConfig: {},
  updateConfigSubsystem: { settings: {} },
  importConfig: {},
  runSpeedtest: { durationSeconds: 1, size: 4 << 20 },
  login: { accessKey: 'someone', secretKey: 'something' },
}

function isProblem(t: Test, answer: AdminAnswer, status: number, code: string, path?: string) {
  const { json, headers } = answer
  const facts: Readonly<Record<string, readonly [found: unknown, expected: unknown]>> = {
    status: [answer.status, status],
    code: [json?.code, code],
    'content-type': [headers['content-type'], 'application/problem+json'],
    'cache-control': [headers['cache-control'], 'no-store'],
    type: [json?.type, `urn:svc:error:${code}`],
    'status in the body': [json?.status, status],
    requestId: [json?.requestId, headers['x-request-id']],
    'title and detail': [Boolean(json?.title && json?.detail), true],
    instance: [json?.instance, path === undefined ? json?.instance : path.split('?')[0]],
  }
  // One assertion for all of them: there are thousands of answers.
  const wrong = Object.entries(facts).filter(([, [found, expected]]) => found !== expected)
  t.equal(wrong.map(([name, [found, expected]]) => `${name}: ${found} instead of ${expected}`).join(), '')
}

t.test('requests without credentials, or with presigned ones, get 401', async t => {
  for (const row of catalogue) {
    const operation = served.find(({ id }) => id === row.operationId)
    if (operation !== undefined && isPublic(operation)) continue
    const call = callOf(row)
    isProblem(t, await anonymous(call), 401, 'unauthenticated', call.path)
    const presigned = { ...call, path: withQuery(call.path, 'X-Amz-Signature=00'), headers: { cookie: session.cookie } }
    const refused = await anonymous(presigned)
    isProblem(t, refused, 401, 'unauthenticated')
    t.match(refused.json.detail, /Presigned/, 'with a session, too')
  }
})

t.test('callers without a policy get 403 before anything else is checked', async t => {
  let count = 0
  for (const operation of served) {
    if (typeof operation.authorize === 'string') continue
    count++
    const call = callOf(operation)
    if (operation.authorizeRequest === undefined && operation.body !== undefined) {
      isProblem(t, await nobody({ ...call, body: 'no JSON' }), 403, 'access_denied', call.path)
    }
    isProblem(t, await nobody({ ...call, body: bodies[operation.id] }), 403, 'access_denied', call.path)
  }
  t.ok(count > 10)
  isProblem(t, await nobody({ path: '/api/v1/users' }), 403, 'access_denied')
  const list = await nobody({ path: '/api/v1/buckets' })
  t.same(list.json, { items: [], nextCursor: '' }, 'what is decided inside shows nothing')
})

/** Operations that are built, but not in the catalogue. */
const beyond = served.filter(({ id }) => !catalogue.some(row => row.operationId === id))

t.test('operations that are not built answer 501 with the name of their plugin', async t => {
  const planned = catalogue.filter(row => !served.some(({ id }) => id === row.operationId))
  for (const row of planned) {
    // A session needs its token here, too: the order of steps does not depend on what is built.
    const call = {
      ...callOf(row),
      path: `${pathOf(row.path)}?prefix=x`,
      body: row.method === 'GET' ? undefined : { x: 1 },
    }
    const answer = await signed(call)
    isProblem(t, answer, 501, 'not_implemented', call.path)
    t.match(answer.json.detail, `"${pluginOf(row)}"`)
  }
  t.equal(planned.length + served.length - beyond.length, 180)
  t.same(beyond.map(({ id }) => id).toSorted(), [
    'discardNotifyDeadLetters',
    'discardNotifyQueue',
    'getRedundancy',
    'listAuditTargets',
    'listNotifyDeadLetters',
    'listNotifyQueues',
    'replayNotifyTarget',
    'retryNotifyDeadLetters',
  ])
})

t.test('another method is 405, and Allow has the right ones', async t => {
  for (const operation of served) {
    for (const method of ['OPTIONS', 'HEAD', 'PROPFIND']) {
      const answer = await signed({ ...callOf(operation), method })
      t.equal(answer.status, 405)
      t.ok(
        String(answer.headers.allow).split(', ').includes(operation.method),
        `${operation.id}: ${answer.headers.allow}`,
      )
      t.equal(answer.headers['access-control-allow-origin'], undefined)
    }
  }
  isProblem(t, await signed({ path: '/api/v1/nothing' }), 404, 'not_found', '/api/v1/nothing')
  for (const path of ['/api/v1', '/api/v1/', '/api/v1/info/', '/api/v1//info'])
    t.equal((await signed({ path })).status, 404)
})

t.test('a session without its token, or of another origin, changes nothing', async t => {
  const { cookie, csrfToken, call } = session
  const other = await server.login()
  const foreign: Record<string, string>[] = [
    { origin: 'http://evil.example' },
    { origin: `http://127.0.0.1:${server.s3Port}` },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'null' },
  ]
  for (const operation of served.filter(operation => changes(operation) && !isPublic(operation))) {
    const request = { ...callOf(operation), body: bodies[operation.id] }
    isProblem(t, await anonymous({ ...request, headers: { cookie } }), 403, 'invalid_csrf_token')
    if (operation.crossSite === 'origin') continue
    isProblem(t, await call({ ...request, headers: { 'x-csrf-token': 'wrong' } }), 403, 'invalid_csrf_token')
    const ofOther = { 'x-csrf-token': other.csrfToken }
    isProblem(t, await call({ ...request, headers: ofOther }), 403, 'invalid_csrf_token')
    const noOrigin = { cookie, 'x-csrf-token': csrfToken }
    isProblem(t, await anonymous({ ...request, headers: noOrigin }), 403, 'invalid_csrf_token')
  }
  for (const headers of foreign) {
    isProblem(t, await call({ method: 'POST', path: '/api/v1/buckets', headers, body: {} }), 403, 'invalid_csrf_token')
  }
  t.equal((await call({ path: '/api/v1/auth/session' })).status, 200, 'the session is still there')
  t.same((await signed({ path: '/api/v1/buckets' })).json.items, [], 'and nothing was made')
})

t.test('invalid bodies', async t => {
  let count = 0
  for (const operation of served.filter(({ body }) => body !== undefined)) {
    count++
    const call = callOf(operation)
    const send = isPublic(operation) ? anonymous : signed
    isProblem(t, await send({ ...call, body: '{"a":' }), 400, 'malformed_request')
    isProblem(t, await send({ ...call, body: Buffer.from([0x22, 0xff, 0x22]) }), 400, 'malformed_request')
    const headers = { 'content-type': 'text/html' }
    isProblem(t, await send({ ...call, headers, body: '{}' }), 415, 'unsupported_media_type')
    const other = { 'content-type': 'application/json; charset=utf-16' }
    isProblem(t, await send({ ...call, headers: other, body: '{}' }), 415, 'unsupported_media_type')
    const bytesMax = operation.bodyBytesMax ?? 1024 * 1024
    isProblem(t, await send({ ...call, body: `"${'x'.repeat(bytesMax)}"` }), 413, 'entity_too_large')
    const unknown = await send({ ...call, body: { ...(bodies[operation.id] as object), 'no/such': 1 } })
    // Documents of a format of their own have errors of their own, of the same form.
    isProblem(t, unknown, 400, operation.body.type === undefined ? unknown.json?.code : 'invalid_argument')
    t.match(unknown.json.errors, [{ message: String }])
    // A map accepts every name, but not every value.
    const message = operation.body.type === 'object' && operation.body.properties ? /not a field/ : /must be object/
    if (operation.body.type !== undefined) t.match(unknown.json.errors[0], { element: '/no~1such', message })
    if (operation.bodyOptional !== true) {
      isProblem(t, await send(call), 400, 'malformed_request')
      const empty = { 'content-type': 'application/json' }
      isProblem(t, await send({ ...call, headers: empty }), 400, 'malformed_request')
    }
  }
  t.ok(count >= 5)
})

t.test('invalid parameters', async t => {
  for (const operation of served) {
    const call = callOf(operation)
    const send = operation.authorize === 'session' ? session.call : isPublic(operation) ? anonymous : signed
    const answer = await send({ ...call, path: withQuery(call.path, 'no-such=1'), body: bodies[operation.id] })
    isProblem(t, answer, 400, 'invalid_argument')
    t.match(answer.json.errors, [{ element: 'query/no-such' }], operation.id)
    if (operation.query?.properties?.limit === undefined) continue
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=x',
      'limit=1&limit=2',
      'cursor=%00',
      'cursor=bm90LW91cnM',
      'cursor=%zz',
    ]) {
      isProblem(t, await signed({ ...call, path: withQuery(call.path, query) }), 400, 'invalid_argument')
    }
  }
})

t.test('answers match their schemas', async t => {
  const operation = (id: string) => served.find(other => other.id === id)!
  const check = async (id: string, call: Partial<AdminCall>, status: number, send = signed) => {
    const { method, path } = operation(id)
    const answer = await send({ method, path: `/api/v1${path}`, ...call })
    t.equal(answer.status, status, id)
    t.same(responseProblems(operation(id), answer.json), [], id)
    const type = status === 204 ? undefined : 'application/json; charset=utf-8'
    t.equal(answer.headers['content-type'], type)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.equal(answer.headers['x-content-type-options'], 'nosniff')
    tried.add(id)
    return answer
  }
  const tried = new Set<string>()
  const path = '/api/v1/buckets/photos'
  const made = await check('createBucket', { body: { name: 'photos', created: 'read-only' } }, 201)
  t.equal(made.headers.location, path)
  await check('getBucket', { path }, 200)
  await check('listBuckets', {}, 200)
  await check('getBucketVersioning', { path: `${path}/versioning` }, 200)
  await check('setBucketVersioning', { path: `${path}/versioning`, body: { status: 'enabled' } }, 200)
  await check('setBucketTags', { path: `${path}/tags`, body: { tags: { team: 'a' } } }, 200)
  await check('getBucketTags', { path: `${path}/tags` }, 200)
  await check('getBucketObjectLock', { path: `${path}/objectlock` }, 200)
  await check('setBucketObjectLock', { path: `${path}/objectlock`, body: { enabled: false } }, 200)
  await check('getBucketCors', { path: `${path}/cors` }, 200)
  await check('putBucketCors', { path: `${path}/cors`, body: { rules: [] } }, 200)
  await check('getBucketEvents', { path: `${path}/events` }, 200)
  await check('putBucketEvents', { path: `${path}/events`, body: { subscriptions: [] } }, 200)
  const objects = `${path}/objects`
  await check('listObjects', { path: objects }, 200)
  await check('listObjectVersions', { path: `${objects}/versions?key=a` }, 200)
  await check('deleteObjects', { path: objects, body: { prefixes: ['none'] } }, 200)
  await check('listUploads', { path: `${path}/uploads` }, 200)
  await check('getUsage', {}, 200)
  await check('deleteBucket', { path }, 204)
  await check('getServerInfo', {}, 200)
  await check('listPlugins', {}, 200)
  await check('listHealJobs', {}, 200)
  await check('searchAudit', {}, 200)
  const body = { accessKey: 'admin', secretKey: 'change-me-please' }
  await check('login', { body }, 200, anonymous)
  await check('getSession', {}, 200, session.call)
  // Operations that never succeed on one drive, streams, the stop of the server, and operations that other plugins test.
  const elsewhere = [
    'restartService',
    'startHeal',
    'getHealJob',
    'cancelHealJob',
    'streamTrace',
    'stopService',
    'logout',
  ]
  for (const id of [...tried, ...elsewhere]) t.ok(served.some(other => other.id === id))
})

t.test('the OpenAPI document is valid and has the whole catalogue', async t => {
  const answer = await signed({ path: '/api/v1/openapi.json' })
  t.equal(answer.status, 200)
  isProblem(t, await anonymous({ path: '/api/v1/openapi.json' }), 401, 'unauthenticated')
  t.equal((await nobody({ path: '/api/v1/openapi.json' })).status, 200)
  const document = answer.json
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.same(errors, undefined)
  t.equal(valid, true)

  interface Described {
    operationId: string
    tags: string[]
    security?: unknown[]
    responses: Record<string, unknown>
    parameters?: { name: string; in: string }[]
  }
  const found: string[] = []
  for (const [path, methods] of Object.entries<Record<string, Described>>(document.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      found.push(`${described.operationId} ${method.toUpperCase()} ${path} ${described.tags}`)
    }
  }
  const expected = [
    ...catalogue.map(row => `${row.operationId} ${row.method} ${row.path} ${row.group}`),
    ...beyond.map(({ id, method, path, tag }) => `${id} ${method} ${path} ${tag}`),
  ]
  t.same(found.toSorted(), expected.toSorted())
  t.equal(new Set(found.map(text => text.split(' ')[0])).size, 180 + beyond.length)
  for (const row of catalogue) {
    const described = document.paths[row.path][row.method.toLowerCase()]
    const isServed = served.some(({ id }) => id === row.operationId)
    t.equal(described['x-svc-status'], isServed ? 'served' : 'planned')
    t.ok(Array.isArray(described['x-svc-actions']))
    const inside = row.actions.startsWith('self') || row.actions.startsWith('service')
    t.equal(described['x-svc-authorized-by'], inside ? 'service' : undefined, row.operationId)
    t.same(described.responses['400'], { $ref: '#/components/responses/Problem' })
    const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const declared = (described.parameters ?? []).filter((parameter: { in: string }) => parameter.in === 'path')
    t.same(
      declared.map(({ name }: { name: string }) => name),
      inPath,
    )
  }
  t.same(document.paths['/metrics'].get['x-svc-actions'], [['admin:Prometheus', 'admin:ServerInfo']])
  t.same(document.paths['/users/{user}/groups'].put['x-svc-actions'], [
    'admin:AddUserToGroup',
    'admin:RemoveUserFromGroup',
  ])
  t.same(document.paths['/auth/login'].post.security, [])
  t.same(document.paths['/buckets'].post.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/CreateBucket',
  })
  t.equal(document.components.schemas.LoginRequest.$id, undefined)
})

t.test('what a pattern wants is told in words', t => {
  const wordless = (schema: unknown, at: string): string[] => {
    if (typeof schema !== 'object' || schema === null) return []
    const { pattern, errorMessage } = schema as { readonly pattern?: unknown; readonly errorMessage?: unknown }
    const own = typeof pattern === 'string' && typeof errorMessage !== 'string' ? [at] : []
    // Names of fields are refused as unknown fields.
    const rest = Object.entries(schema).filter(([key]) => key !== 'propertyNames')
    return [...own, ...rest.flatMap(([key, node]) => wordless(node, `${at}/${key}`))]
  }
  for (const { id, params, query, body } of served) {
    t.same([wordless(params, 'params'), wordless(query, 'query'), wordless(body, 'body')].flat(), [], id)
  }
  t.end()
})
