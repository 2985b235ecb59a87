/** Events while their target does not work, and their replay. */
import { CreateBucketCommand, DeleteBucketCommand, DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { testUsers, userSecret } from 'svc/plugins/admin/testing'
import { until } from 'svc/testing'
import t, { type Test } from 'tap'
import { messagesOf, type NotifyServer, startNotify, subscribe } from './start.ts'

const created = ['s3:ObjectCreated:*']
const put = ({ s3 }: NotifyServer, Bucket: string, Key: string) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }))
const stateOf = async ({ call }: NotifyServer) => (await call('GET', '/notify/targets')).json.items[0]
const keysOf = (server: NotifyServer, bucket: string) =>
  messagesOf(server.receiver, bucket).map(({ Records }) => Records[0].s3.object.key)
const samples = async (server: NotifyServer) => {
  const { s3Port } = server.admin
  return (await fetch(`http://127.0.0.1:${s3Port}/svc/metrics/v1/node`)).text()
}

/** Writes six keys while the target is in this state; all events arrive, in order, when it works again. */
async function survives(t: Test, server: NotifyServer, bucket: string, down: () => unknown, up: () => unknown) {
  await server.bucketWith(bucket, created)
  await down()
  // Writers do not wait for the target: it works again only after all of them have their answers.
  for (let i = 0; i < 6; i++) await put(server, bucket, `k${i}`)
  await until(async () => !(await stateOf(server)).online)
  t.match(await stateOf(server), { online: false, pendingEvents: 6, lastError: /\w/ })
  t.notMatch((await stateOf(server)).lastError, 's3cret')
  await up()
  await until(() => new Set(keysOf(server, bucket)).size === 6)
  await until(async () => (await stateOf(server)).pendingEvents === 0)
  t.match(await stateOf(server), { online: true, pendingEvents: 0, lastError: '', lastSuccessAt: /T/ })
}

t.test('a target that is down, hangs, fails, or talks garbage gets all events later', async t => {
  const server = await startNotify(t)
  const { receiver } = server
  await survives(t, server, 'down', receiver.stop, receiver.start)
  const mode = (mode: typeof receiver.mode) => () => {
    if (mode === 'fine') receiver.resume()
    receiver.mode = mode
  }
  for (const kind of ['hang', 'fail', 'garbage'] as const) {
    await survives(t, server, `target-${kind}`, mode(kind), mode('fine'))
  }
  receiver.mode = 'slow'
  await server.bucketWith('slow', created)
  for (let i = 0; i < 6; i++) await put(server, 'slow', `k${i}`)
  await until(() => keysOf(server, 'slow').length === 6)
  await until(async () => (await stateOf(server)).pendingEvents === 0)
  t.match(await stateOf(server), { online: true })
  const text = await samples(server)
  t.match(text, /svc_events_sent_total\{target="http:_",server="[^"]*"\} \d\d/)
  t.match(text, /svc_events_failed_total\{target="http:_",server="[^"]*"\} \d/)
  t.match(text, /svc_events_target_online\{target="http:_",server="[^"]*"\} 1/)
  t.match(text, /svc_events_pending\{target="http:_",server="[^"]*"\} 0/)
})

t.test('a full queue is reported and blocks no writes, and a replay queues the missed events', async t => {
  const server = await startNotify(t)
  const { receiver, call, admin } = server
  await server.bucketWith('full', created, { prefix: 'in/' })
  await server.configure({ queue_limit: '5' })
  await receiver.stop()
  for (let i = 0; i < 12; i++) await put(server, 'full', `in/${String(i).padStart(2, '0')}`)
  await put(server, 'full', 'out')
  const state = await stateOf(server)
  t.match(state, { pendingEvents: 5, queueLimit: 5 })
  t.match(state.lastError, /The queue is full: 7 events since the start were only kept for a replay\./)
  t.match(await samples(server), /svc_events_not_queued_total\{target="http:_",server="[^"]*"\} 7/)
  const said = admin.kernel.logs.filter(({ msg }) => /the queue of a target is full/.test(String(msg)))
  t.equal(said.length, 1, 'once a minute at most')
  await receiver.start()
  await until(async () => (await stateOf(server)).pendingEvents === 0)
  t.equal(new Set(keysOf(server, 'full')).size, 5)
  // The limit is five: a replay of twelve events waits for the target.
  const replay = (body: object, id = 'http:_') => call('POST', `/notify/targets/${id}/replay`, body)
  const answer = await replay({ bucket: 'full' })
  t.match(answer, { status: 200, json: { target: 'http:_', queued: 12 } })
  await until(() => new Set(keysOf(server, 'full')).size === 12)
  await until(async () => (await stateOf(server)).pendingEvents === 0)
  const again = messagesOf(receiver, 'full')
  t.equal(again.length, 17)
  const bodies = again.filter(({ Key }) => Key === 'full/in/00').map(told => JSON.stringify(told))
  t.equal(bodies.length, 2)
  t.equal(bodies[0], bodies[1], 'the same message again')

  await subscribe(server.s3, 'full', created, { prefix: 'in/0' })
  t.match(await replay({ bucket: 'full', prefix: 'in/' }), { json: { queued: 10 } }, 'by the rules as they are now')
  t.match(await replay({ bucket: 'full', prefix: 'in/03' }), { json: { queued: 1 } })
  t.match(await replay({ bucket: 'full', to: '2020-01-01T00:00:00Z' }), { json: { queued: 0 } })
  t.match(await replay({ bucket: 'full', from: new Date(Date.now() + 60_000).toISOString() }), { json: { queued: 0 } })
  const backwards = { bucket: 'full', from: '2020-01-02T00:00:00Z', to: '2020-01-01T00:00:00Z' }
  t.match(await replay(backwards), { status: 400, json: { code: 'invalid_argument' } })
  t.match((await replay({ ...backwards, bucket: 'missing' })).json.errors, [
    { element: '/bucket' },
    { element: '/from', message: 'must be before the end (`to`)' },
  ])
  t.match(await replay({ bucket: 'full' }, 'http:x'), { status: 404, json: { code: 'notify_target_not_found' } })
  t.match(await replay({ bucket: 'missing' }), { status: 404, json: { code: 'bucket_not_found' } })
})

t.test('the events of a target that is disabled, changed or removed keep waiting', async t => {
  const server = await startNotify(t)
  const { receiver, s3, call } = server
  await server.bucketWith('kept', created)
  await server.configure({ enable: 'off' })
  for (const key of ['a', 'b']) await put(server, 'kept', key)
  const waiting = await stateOf(server)
  // That of the event by which a rule is tested when it is set.
  t.match(waiting, { enabled: false, online: false, pendingEvents: 2, lastSuccessAt: /T/ })
  const test = await call('POST', '/notify/targets/http:_/test')
  t.match(test.json, { delivered: true }, 'it can be tested before it is enabled')
  t.ok((await stateOf(server)).lastSuccessAt > waiting.lastSuccessAt, 'a test counts as a success')
  t.same(keysOf(server, 'kept'), [])
  await s3.send(new DeleteObjectCommand({ Bucket: 'kept', Key: 'a' }))
  await s3.send(new DeleteObjectCommand({ Bucket: 'kept', Key: 'b' }))
  await s3.send(new DeleteBucketCommand({ Bucket: 'kept' }))
  t.equal((await call('DELETE', '/config/notify_http')).status, 204, 'no rule names it any more')
  t.same((await call('GET', '/notify/targets')).json.items, [])
  await server.configure({ enable: 'on', endpoint: `${receiver.endpoint}?other`, token: 's3cret-token' })
  await until(() => keysOf(server, 'kept').length === 2)
  await s3.send(new CreateBucketCommand({ Bucket: 'kept' }))
  t.equal(
    (await call('POST', '/notify/targets/http:_/replay', { bucket: 'kept' })).json.queued,
    0,
    'a bucket without rules',
  )
  // Other settings that do not work are reported, and working ones after them take effect at once.
  await subscribe(s3, 'kept', created)
  await server.configure({ token: 'wrong-token' })
  await put(server, 'kept', 'c')
  await until(async () => /403/.test((await stateOf(server)).lastError))
  await server.configure({ token: 's3cret-token' })
  await until(() => keysOf(server, 'kept').includes('c'))
})

t.test(
  'what a target will never take is listed, queued again or discarded; so is what waits for one that is removed',
  async t => {
    const server = await startNotify(t)
    const { receiver, call, s3 } = server
    await server.bucketWith('dead', created)
    receiver.mode = 'refuse'
    for (const key of ['a', 'b', 'c', 'd']) await put(server, 'dead', key)
    await until(async () => (await stateOf(server)).deadLetters === 4)
    const queue = '/notify/queues/http:_'
    const list = async (query = '') => (await call('GET', `${queue}/dead-letters${query}`)).json
    const first = await list('?limit=3')
    t.match(first.items[0], {
      target: 'http:_',
      eventName: 's3:ObjectCreated:Put',
      bucket: 'dead',
      key: 'a',
      reason: 'The endpoint refuses the message.',
      attempts: 1,
    })
    for (const name of ['eventTime', 'queuedAt', 'givenUpAt']) t.match(first.items[0][name], /^\d{4}-.*Z$/, name)
    const second = await list(`?limit=3&cursor=${first.nextCursor}`)
    const letters = [...first.items, ...second.items]
    t.same(
      letters.map(({ key }) => key),
      ['a', 'b', 'c', 'd'],
    )
    t.equal(second.nextCursor, '')
    t.match((await call('GET', '/notify/queues')).json, {
      items: [{ id: 'http:_', target: 'configured', pendingEvents: 0, deadLetters: 4 }],
    })
    const idOf = (wanted: string) => letters.find(({ key }) => key === wanted).id

    receiver.mode = 'fine'
    const retry = (body: object, path = queue) => call('POST', `${path}/dead-letters/retry`, body)
    t.match(await retry({ ids: [idOf('b'), 'f'.repeat(20)] }), { status: 200, json: { target: 'http:_', queued: 1 } })
    await until(() => keysOf(server, 'dead').includes('b'))
    t.equal((await retry({ ids: [] })).status, 400, 'none is not all')
    t.equal((await retry({ ids: ['b'] })).status, 400)
    t.equal((await call('DELETE', `${queue}/dead-letters?ids=${idOf('c')},x`)).json.code, 'invalid_argument')
    t.equal((await call('DELETE', `${queue}/dead-letters?ids=,`)).json.code, 'invalid_argument')
    const discarded = (count: number) => ({ status: 200, json: { target: 'http:_', discarded: count } })
    t.match(await call('DELETE', `${queue}/dead-letters?ids=${idOf('c')}`), discarded(1))
    t.same(
      (await list()).items.map(({ key }: { key: string }) => key),
      ['a', 'd'],
    )
    t.match(await list('?limit=1'), { count: 2, newest: idOf('d') }, 'all of them, on every page')
    t.match(await retry({ through: idOf('c') }), { json: { queued: 1, left: 1 } }, 'what came later stays')
    t.match((await retry({ through: idOf('c') })).json, { queued: 0, left: 1, reason: /were given up later/ })
    t.equal((await retry({ through: '' })).status, 400)
    t.match(await retry({}), { json: { queued: 1, left: 0 } })
    t.match(await list(), { items: [], count: 0, newest: '' })
    await until(() => ['a', 'd'].every(key => keysOf(server, 'dead').includes(key)))
    t.notOk(keysOf(server, 'dead').includes('c'))
    t.match(await retry({ ids: ['f'.repeat(20)] }), { json: { queued: 0, reason: /^None of these is the id/ } })
    await until(async () => (await stateOf(server)).pendingEvents === 0)
    t.match((await retry({})).json, { queued: 0, reason: 'There are no dead letters. No event waits.' })
    receiver.mode = 'fail'
    await put(server, 'dead', 'waiting')
    await until(async () => (await stateOf(server)).lastError !== '')
    t.match((await retry({})).json, {
      queued: 0,
      reason: /There are no dead letters. Events that wait: 1; they are tried again within a minute.*: .*[^.]\.$/,
    })
    receiver.mode = 'fine'
    await call('POST', '/notify/targets/http:_/test')
    await until(() => keysOf(server, 'dead').includes('waiting'))

    receiver.mode = 'refuse'
    for (const key of ['e', 'f']) await put(server, 'dead', key)
    await until(async () => (await stateOf(server)).deadLetters === 2)
    const { newest } = await list()
    await put(server, 'dead', 'g')
    await until(async () => (await stateOf(server)).deadLetters === 3)
    t.equal((await call('DELETE', `${queue}/dead-letters?through=`)).status, 400)
    t.match((await call('DELETE', `${queue}/dead-letters?through=${newest}`)).json, { discarded: 2, left: 1 })
    t.match((await list()).items, [{ key: 'g' }])
    await put(server, 'dead', 'h')
    await until(async () => (await stateOf(server)).deadLetters === 2)
    await server.configure({ enable: 'off' })
    const [{ id }] = (await list()).items
    t.match((await retry({ ids: [id] })).json, {
      queued: 1,
      left: 1,
      reason: /^The target is not enabled: no event is/,
    })
    await server.configure({ enable: 'on' })
    await until(async () => (await stateOf(server)).deadLetters === 2)
    await server.configure({ enable: 'off' })
    await put(server, 'dead', 'waits')
    t.match(await call('DELETE', queue), { status: 409, json: { code: 'notify_queue_in_use' } })
    for (const Key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'waiting', 'waits']) {
      await s3.send(new DeleteObjectCommand({ Bucket: 'dead', Key }))
    }
    await s3.send(new DeleteBucketCommand({ Bucket: 'dead' }))
    t.equal((await call('DELETE', '/config/notify_http')).status, 204)
    t.same((await call('GET', '/notify/targets')).json.items, [], 'no target')
    const left = { id: 'http:_', target: 'removed', pendingEvents: 1, deadLetters: 2 }
    t.match((await call('GET', '/notify/queues')).json, { items: [left] }, 'but what waits for it')
    t.equal((await list()).items.length, 2)
    t.equal((await retry({})).json.code, 'notify_target_not_found')
    t.match(await call('DELETE', `${queue}/dead-letters`), discarded(2))
    t.match((await call('GET', '/notify/queues')).json, { items: [{ ...left, deadLetters: 0 }] })
    t.match(await call('DELETE', queue), discarded(1))
    t.same((await call('GET', '/notify/queues')).json, { items: [] })
    t.equal((await call('DELETE', queue)).json.code, 'notify_queue_not_found')
    t.equal((await call('GET', `${queue}/dead-letters`)).json.code, 'notify_queue_not_found')
  },
)

t.test('without an outbox nothing is kept for a replay', async t => {
  const server = await startNotify(t, { config: { notify: { outboxRetentionMs: 0 } } })
  await server.bucketWith('none', created)
  await put(server, 'none', 'a')
  await server.told('none', 1)
  const answer = await server.call('POST', '/notify/targets/http:_/replay', { bucket: 'none' })
  t.match(answer, { status: 409, json: { code: 'notify_outbox_disabled' } })
})

t.test('a user with the right to set the rules of a bucket may list the targets, and no more', async t => {
  const may = (Action: string, Resource = '*') => ({ Effect: 'Allow', Action, Resource })
  const users = testUsers({
    owner: [may('s3:PutBucketNotification', 'arn:aws:s3:::owned')],
    operator: [may('admin:GetConfig')],
    stranger: [may('s3:GetObject')],
  })
  const server = await startNotify(t, { plugins: [users], without: ['users'] })
  const asked = (user: string, method: string, path: string, body?: object) =>
    server.admin.signedBy(
      user,
      userSecret,
    )({ method, path: `/api/v1/notify${path.startsWith('/queues') ? '' : '/targets'}${path}`, body })
  t.equal((await asked('owner', 'GET', '')).status, 403, 'there is no such bucket yet')
  await server.s3.send(new CreateBucketCommand({ Bucket: 'owned' }))
  for (const user of ['owner', 'operator']) {
    t.match(await asked(user, 'GET', ''), { status: 200, json: { items: [{ id: 'http:_' }] } })
    const [{ endpoint }] = (await asked(user, 'GET', '')).json.items
    t.equal(endpoint !== '', user === 'operator', 'who may only subscribe sees no address')
    t.equal((await asked(user, 'POST', '/http:_/test')).status, 403)
    t.equal((await asked(user, 'POST', '/http:_/replay', { bucket: 'owned' })).status, 403)
    for (const [method, path] of [
      ['GET', '/http:_/dead-letters'],
      ['POST', '/http:_/dead-letters/retry'],
      ['DELETE', '/http:_/dead-letters'],
      ['DELETE', '/http:_'],
    ] as const) {
      t.equal((await asked(user, method, `/queues${path}`, {})).status, 403, path)
    }
  }
  t.equal((await asked('stranger', 'GET', '')).status, 403)
})
