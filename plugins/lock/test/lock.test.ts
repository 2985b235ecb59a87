/** Locks over a real drive: one holder at a time, renewed, given back, taken away, stale. */
import { definePlugin } from 'svc/kernel'
import { responseProblems, startAdmin, userSecret } from 'svc/plugins/admin/testing'
import type { StoreService } from 'svc/plugins/store/api'
import { createFakeClock, until } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'

const clock = createFakeClock(Date.parse('2026-03-01T12:00:00Z'))
const collections: { notes?: ReturnType<typeof declareNotes> } = {}
const declareNotes = (store: StoreService) =>
  store.collection({ name: 'note', version: 1, schema: Type.Object({ text: Type.String() }) })
const user = definePlugin({
  name: 'user',
  requires: ['store'],
  setup({ services }) {
    collections.notes = declareNotes(services.store)
  },
})
const server = await startAdmin({ ports: { clock }, plugins: [user] })
t.teardown(server.stop)
const { locks, store, users, objects } = server.kernel.services
const { signed } = server
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Held until `end` is called. */
function holdOpen(resource: string, source = 'test') {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const {
    promise: lease,
    resolve: isHeld,
    reject,
  } = Promise.withResolvers<Parameters<Parameters<typeof locks.hold>[2]>[0]>()
  const done = locks.hold(resource, { source }, async held => {
    isHeld(held)
    await ended
    return 'done'
  })
  done.catch(reject)
  return { lease, done, end }
}

const versionCount = async () => {
  const all = { bucket: 'large', prefix: '', delimiter: '', keyMarker: '', versionIdMarker: '', maxKeys: 10 }
  return (await objects.listVersions(all)).versions.length
}

/** In steps, so that what a timer begins is done before the next is due: its commit before one that comes after it. */
async function pass(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 1000) {
    clock.advance(1000)
    await turn()
    await store.transaction(tx => tx.put(collections.notes!, 'passed', { text: `${passed}` }))
    for (let i = 0; i < 20; i++) await turn()
  }
}

t.test('one holder at a time; the refusal names it', async t => {
  const first = holdOpen('photos/delete', 'deleteBucket')
  const { uid } = await first.lease
  t.match(uid, /^[0-9a-f]{32}$/)
  await t.rejects(
    locks.hold('photos/delete', { source: 'other' }, async () => t.fail('both')),
    {
      code: 'conflict',
      message: /^deleteBucket holds the lock photos\/delete on .+ since 2026-03-01T12:/,
    },
  )
  t.equal(await locks.hold('photos/lifecycle', { source: 'other' }, async () => 'another'), 'another')
  t.match(await locks.list(), [{ resource: 'photos/delete', uid, source: 'deleteBucket', type: 'write' }])
  first.end()
  t.equal(await first.done, 'done')
  t.same(await locks.list(), [])
})

t.test('an error of the work rejects the call and releases the lock', async t => {
  await t.rejects(
    locks.hold('a/b', { source: 'test' }, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  t.same(await locks.list(), [])
})

t.test('a waiting caller acquires the lock when it is released', async t => {
  const first = holdOpen('a/b')
  await first.lease
  const waits: string[] = []
  const end = locks.watchWaits(resource => waits.push(resource))
  const second = locks.hold('a/b', { source: 'second', waitMs: 60_000 }, async () => 'second')
  for (let i = 0; i < 20; i++) await turn()
  first.end()
  t.equal(await second, 'second')
  end()
  t.same(waits, ['a/b'])
})

t.test('a hundred waiting callers acquire the lock, one at a time', async t => {
  let inside = 0
  let most = 0
  const ticking = setInterval(() => clock.advance(500), 5)
  await Promise.all(
    Array.from({ length: 100 }, () =>
      locks.hold('a/b', { source: 'test', waitMs: 3_600_000 }, async () => {
        most = Math.max(most, ++inside)
        await turn()
        inside--
      }),
    ),
  )
  clearInterval(ticking)
  t.equal(most, 1)
})

t.test('renewed while it is held, and its token stays the same', async t => {
  const { notes } = collections
  const held = holdOpen('a/b')
  const lease = await held.lease
  const [before] = await locks.list()
  await pass(300_000)
  const [after] = await locks.list()
  t.ok(after!.refreshedMs >= before!.refreshedMs + 280_000, 'not stale after five minutes')
  t.equal(after!.sinceMs, before!.sinceMs)
  await lease.check()
  await store.transaction(tx => {
    lease.fence(tx)
    tx.put(notes!, 'n', { text: 'under the lock' })
  })
  held.end()
  await held.done
  await t.rejects(
    store.transaction(tx => {
      lease.fence(tx)
      tx.put(notes!, 'n', { text: 'after it' })
    }),
    { code: 'precondition_failed' },
  )
  t.match(await notes!.get('n'), { value: { text: 'under the lock' } })
})

t.test('taken away: the holder learns it without waiting for a renewal', async t => {
  const held = holdOpen('a/b')
  const lease = await held.lease
  t.match(await locks.release(['a/b', 'nobody/holds']), [{ resource: 'a/b', uid: lease.uid }])
  await until(async () => lease.signal.aborted, { what: 'the lease is lost' })
  const again = holdOpen('a/b')
  t.not((await again.lease).uid, lease.uid, 'somebody else may have it now')
  await pass(11_000)
  t.notOk((await again.lease).signal.aborted, 'what became of the former lease is not that of this one')
  await t.rejects(async () => lease.check(), { code: 'conflict', message: /^The lock a\/b was released/ })
  held.end()
  t.equal(await held.done, 'done')
  t.match(
    await locks.list(),
    [{ uid: (await again.lease).uid }],
    'the end of the former does not give back that of the latter',
  )
  await (await again.lease).check()
  again.end()
  await again.done

  const checked = holdOpen('a/b')
  const its = await checked.lease
  await locks.release(['a/b'])
  await t.rejects(async () => its.check(), { code: 'conflict' })
  t.ok(its.signal.aborted)
  checked.end()
  await checked.done
})

t.test('over the Admin API', async t => {
  const first = holdOpen('photos/delete', 'deleteBucket')
  await first.lease
  await pass(60_000)
  const second = holdOpen('svc/reseal', 'resealKms')
  await second.lease
  const list = async (query = '') => {
    const { status, json } = await signed({ path: `/api/v1/locks${query}` })
    if (status !== 200) return `${status} ${json.code}`
    t.same(responseProblems(server.operations.find(({ id }) => id === 'listLocks')!, json), [])
    return json.items.map(({ resource }: { resource: string }) => resource)
  }
  t.same(await list(), ['photos/delete', 'svc/reseal'])
  t.same(await list('?bucket=photos'), ['photos/delete'])
  t.same(await list('?bucket=phot'), [])
  t.same(await list('?type=write'), ['photos/delete', 'svc/reseal'])
  t.same(await list('?type=read'), [])
  t.same(await list('?olderThan=30s'), ['photos/delete'])
  t.equal(await list('?olderThan=long'), '400 invalid_argument')
  const { json: page } = await signed({ path: '/api/v1/locks?limit=1' })
  t.match(page, { items: [{ resource: 'photos/delete', since: '2026-03-01T', type: 'write', quorum: 1, total: 1 }] })
  const { json: rest } = await signed({ path: `/api/v1/locks?limit=1&cursor=${page.nextCursor}` })
  t.match(rest, { items: [{ resource: 'svc/reseal', source: 'resealKms' }], nextCursor: '' })

  await users.createUser({ accessKey: 'nobody', secretKey: userSecret })
  const nobody = server.signedBy('nobody', userSecret)
  const release = '/api/v1/locks?resource=photos%2Fdelete&resource=no%2Fone'
  t.equal((await nobody({ path: '/api/v1/locks' })).status, 403)
  t.equal((await nobody({ path: release, method: 'DELETE' })).status, 403)
  t.equal((await signed({ path: '/api/v1/locks', method: 'DELETE' })).json.code, 'invalid_argument')
  const [{ uid }] = (await signed({ path: '/api/v1/locks' })).json.items
  const releaseOf = async (query: string) => {
    const { status, json } = await signed({ path: `/api/v1/locks?${query}`, method: 'DELETE' })
    return status === 200 ? json.items.length : `${status} ${json.code}: ${json.detail}`
  }
  t.match(await releaseOf('resource=svc%2Freseal&resource=photos%2Fdelete&uid=x'), /^400 .*is of one resource/)
  t.match(
    await releaseOf(`resource=svc%2Freseal&uid=${uid}`),
    /^409 conflict: The lock svc\/reseal was not released: by now another holder has it, resealKms on /,
  )
  t.equal(await releaseOf(`resource=no%2Fone&uid=${uid}`), 0)
  t.same(await list(), ['photos/delete', 'svc/reseal'], 'nothing was released')
  t.equal(await releaseOf(`resource=photos%2Fdelete&uid=${uid}`), 1)
  t.same((await signed({ path: release, method: 'DELETE' })).json, { items: [] })
  t.same(await list(), ['svc/reseal'])
  for (const held of [first, second]) {
    held.end()
    await held.done
  }
})

t.test('a bucket that is being deleted: a second time is refused; taken away, the rest stays', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'large' } })
  for (let i = 0; i < 3; i++) {
    const upload = `/api/v1/buckets/large/objects/upload?key=${i}`
    t.equal((await signed({ method: 'POST', path: upload, body: 'x' })).status, 201)
  }
  const remove = () => signed({ method: 'DELETE', path: '/api/v1/buckets/large?force=true' })
  const held = holdOpen('large/delete', 'deleteBucket')
  await held.lease
  t.match(await remove(), {
    status: 409,
    json: { code: 'conflict', detail: /deleteBucket holds the lock large\/delete/ },
  })
  held.end()
  await held.done
  t.equal(await versionCount(), 3)
  t.equal((await remove()).status, 204)
  t.match(await remove(), { status: 404, json: { code: 'bucket_not_found' } })
  t.same(await locks.list(), [])
})
