/** What health checks say of drives: of each set by itself. */
import t from 'tap'
import { checkDrives } from '../drive-health.ts'
import { drive } from './drives.ts'

const offline = { state: 'offline' } as const

t.test('a set that works is not blamed for the drives of another one', async t => {
  const pair = { pool: 1, parityCount: 1, readQuorum: 1, writeQuorum: 2 }
  const pools = (...changed: readonly ReturnType<typeof drive>[]) => [
    ...[1, 2, 3, 4].map(slot => changed.find(({ path }) => path === `/d${slot}`) ?? drive(slot)),
    ...[5, 6].map(slot => changed.find(({ path }) => path === `/d${slot}`) ?? drive(slot, {}, pair)),
  ]
  t.same(checkDrives(pools()), { ok: true, detail: undefined })
  t.same(checkDrives(pools(drive(3, offline))), { ok: true, detail: '5 of 6 drives online' })
  t.same(checkDrives(pools(drive(3, {}, { isCurrent: false }))), { ok: true, detail: '1 of 6 drives catch up' })
  t.same(checkDrives(pools(drive(6, offline, pair))), { ok: false, detail: 'no write quorum: 5 of 6 drives online' })
  t.same(checkDrives(pools(drive(3, offline), drive(4, {}, { isCurrent: false }))), {
    ok: false,
    detail: 'no write quorum: 5 of 6 drives online',
  })
})

t.test('a full set has its quorum, and refuses data', async t => {
  const full = [1, 2, 3, 4].map(slot => drive(slot, { state: 'full' }))
  t.same(checkDrives(full), { ok: true, detail: 'full: new data is refused' })
})
