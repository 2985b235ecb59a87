/** Locks whose holder is gone. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import standard from 'svc/plugins/standard'
import { createFakeClock, startKernel } from 'svc/testing'
import t from 'tap'
import { declareLockDocuments } from '../documents.ts'
import { createLocks } from '../locks.ts'
import { createStaleLocks } from '../stale-locks.ts'

const needed = ['storage', 'drive', 'checksums', 'objects', 'store', 'lock']
const folder = mkdtempSync(join(tmpdir(), 'svc-lock-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const start = (plugins = needed, extra: ReturnType<typeof definePlugin>[] = []) =>
  startKernel({
    plugins: [...standard.filter(({ name }) => plugins.includes(name)), ...extra],
    config: { storage: { endpoints: [folder] }, store: { rootPassword: 'root password' } },
  })

t.test('after a crash no lock is held', async t => {
  const first = await start()
  // As if the process had ended here: never given back.
  void first.services.locks.hold('photos/delete', { source: 'test' }, () => new Promise(() => {})).catch(() => {})
  while ((await first.services.locks.list()).length === 0) await new Promise(resolve => setImmediate(resolve))
  await first.stop()
  const second = await start()
  t.same(await second.services.locks.list(), [])
  t.equal(await second.services.locks.hold('photos/delete', { source: 'test' }, async () => 'again'), 'again')
  await second.stop()
})

t.test('a holder that no longer renews: released, and not before', async t => {
  const clock = createFakeClock(0)
  let documents: ReturnType<typeof declareLockDocuments> | undefined
  const user = definePlugin({
    name: 'user',
    requires: ['store'],
    setup: ({ services }) => {
      documents = declareLockDocuments(services.store)
    },
  })
  const { services, stop } = await start(
    needed.filter(name => name !== 'lock'),
    [user],
  )
  t.teardown(stop)
  const { locks, renewals } = documents!
  const log = { warn() {} } as never
  const { worker } = createStaleLocks({
    store: services.store,
    documents: documents!,
    clock,
    log,
    refreshMs: 10_000,
    staleAfterMs: 60_000,
  })
  const look = () => worker.work(new AbortController().signal)
  const lock = { uid: 'u', owner: 'n', source: 's', type: 'write', sinceMs: 0 } as const
  for (const resource of ['still', 'renewed']) {
    await locks.put(resource, lock)
    await renewals.put(resource, { uid: 'u' })
  }
  const held = async () => (await locks.list()).documents.map(({ id }) => id)
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await look()
    t.same(await held(), ['renewed', 'still'])
    clock.advance(10_000)
    await renewals.put('renewed', { uid: 'u' })
  }
  await look()
  t.same(await held(), ['renewed'])
  t.equal(await renewals.get('still'), undefined)
})

t.test('a release that was not told is seen by the next renewal', async t => {
  const clock = createFakeClock(0)
  let documents: ReturnType<typeof declareLockDocuments> | undefined
  const user = definePlugin({
    name: 'user',
    requires: ['store'],
    setup: ({ services }) => {
      documents = declareLockDocuments(services.store)
      Object.assign(documents.locks, { watch: () => () => {} })
    },
  })
  const { services, stop } = await start(
    needed.filter(name => name !== 'lock'),
    [user],
  )
  t.teardown(stop)
  const locks = createLocks({
    store: services.store,
    documents: documents!,
    ports: { clock, random: { bytes: (count: number) => new Uint8Array(count) } } as never,
    log: { warn() {} } as never,
    owner: 'n',
    refreshMs: 10_000,
    staleAfterMs: 60_000,
    onTimeout() {},
  })
  await locks.hold('photos/delete', { source: 'test' }, async ({ signal }) => {
    const lost = new Promise(resolve => signal.addEventListener('abort', resolve))
    await locks.release(['photos/delete'])
    t.notOk(signal.aborted)
    await clock.advance(10_000)
    await lost
    t.match(signal.reason, { code: 'conflict' })
  })
})

t.test('intervals that cannot work are refused', async t => {
  await t.rejects(
    startKernel({
      plugins: standard.filter(({ name }) => needed.includes(name)),
      config: {
        storage: { endpoints: [folder] },
        store: { rootPassword: 'root password' },
        lock: { refreshMs: 5000, staleAfterMs: 8000 },
      },
    }),
    /SVC_LOCK_REFRESH_INTERVAL is at most half of SVC_LOCK_STALE_AFTER/,
  )
})
