/** A drive that has caught up has every change: also one that was under way meanwhile, or that it has refused. */
import { pino } from 'pino'
import type { Derive, Procedure } from 'svc/plugins/storage/api'
import { until } from 'svc/testing'
import t, { type Test } from 'tap'
import { catchUp } from '../catching-up.ts'
import type { Member } from '../member.ts'
import { setKey } from '../set-keys.ts'
import { type AdoptArgs, type ApplyArgs, procedure } from '../set-procedures.ts'
import { newFolders, openTestSet, type TestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
const keyOf = (name: string) => Buffer.from(`t${name}`)
const procedures: Readonly<Record<string, Procedure>> = {
  put: (tx, { name }: { readonly name: string }) => tx.put(keyOf(name), Buffer.from(name)),
}
/** On a busy machine no drive times out, and none is left behind because it takes long to open. */
const tickMs = 60_000
const { signal } = new AbortController()

function membersOf({ set }: TestSet): { leader: Member; others: Member[] } {
  const leader = set.leader() as Member
  return { leader, others: set.members.filter(each => each !== leader) }
}

/** Calls `before` ahead of each request to a drive; what it returns takes the place of the arguments. */
function intercept({ drive }: Member, before: (name: string, args: unknown) => unknown): () => void {
  const { execute } = drive
  drive.execute = <Result>(name: string, args: unknown, body?: Uint8Array): Promise<Result> =>
    execute.call(drive, name, before(name, args) ?? args, body) as Promise<Result>
  return () => {
    drive.execute = execute
  }
}

async function requireSame(t: Test, set: TestSet, names: readonly string[]): Promise<void> {
  for (const member of set.set.members) {
    for (const name of names) t.ok(await member.drive.get(keyOf(name)), `drive ${member.slot} has ${name}`)
  }
}

t.test('a drive refuses a change while its last records are on their way', async t => {
  const set = await openTestSet(await newFolders(t, 3), { procedures, derive, parityCount: 1, tickMs })
  t.teardown(() => set.stop())
  const { leader, others } = membersOf(set)
  const [back] = others as [Member]
  await set.backend.execute('put', { name: 'first' })
  set.set.onLost(back, new Error('it is lost for this test'))
  await set.backend.execute('put', { name: 'missed' })
  let refusing: Promise<unknown> | undefined
  const passAll = intercept(leader, (name, args) => {
    if (name !== procedure.show || !(args as Buffer[]).some(key => key.equals(setKey))) return
    // In the same turn, so that the drive gets both before it answers the first.
    refusing ??= set.backend.execute('put', { name: 'refused' })
  })
  const takeAll = intercept(back, (name, args) => {
    const keys = name === procedure.apply ? (args as ApplyArgs).operations.map(({ key }) => String(key)) : []
    return keys.includes('trefused') ? { ...(args as ApplyArgs), operations: undefined } : undefined
  })
  await set.repairLoop.bringBack(signal)
  await refusing
  passAll()
  takeAll()
  t.equal(back.state, 'offline')
  await set.backend.execute('put', { name: 'last' })
  await set.repairLoop.bringBack(signal)
  t.ok(set.set.isWhole)
  await requireSame(t, set, ['first', 'missed', 'refused', 'last'])
})

t.test('the new leader has not made a change yet when a drive that lacks it comes back', async t => {
  const hanging = new Set<string>()
  const set = await openTestSet(await newFolders(t, 4), { procedures, derive, parityCount: 2, hanging, tickMs })
  t.teardown(() => set.stop())
  const { leader, others } = membersOf(set)
  const [next, back, third] = others as [Member, Member, Member]
  await set.backend.execute('put', { name: 'first' })
  const lose = (member: Member) => set.set.onLost(member, new Error('it is lost for this test'))
  lose(back)
  hanging.add(next.path)
  const changing = set.backend.execute('put', { name: 'under-way' })
  await until(async () => (await third.drive.get(keyOf('under-way'))) !== undefined)
  set.set.onReturned(back, false)
  lose(third)
  lose(leader)
  t.equal(set.set.leader(), next)
  const { promise: isAsked, resolve: onAsked } = Promise.withResolvers<void>()
  const stop = intercept(next, name => {
    if (name === procedure.show) onAsked()
  })
  const catching = catchUp({ set: set.set, member: back, log: pino({ level: 'silent' }), signal })
  await isAsked
  stop()
  t.equal(await next.drive.get(keyOf('under-way')), undefined)
  hanging.clear()
  await changing
  await catching
  t.equal(back.state, 'current')
  t.ok(await back.drive.get(keyOf('under-way')), 'it has what the leader has')
})

t.test('the leader fails while a drive makes the last records that it had missed', async t => {
  const hanging = new Set<string>()
  const set = await openTestSet(await newFolders(t, 4), { procedures, derive, parityCount: 2, hanging, tickMs })
  t.teardown(() => set.stop())
  const { leader, others } = membersOf(set)
  const [third, back, fourth] = others as [Member, Member, Member]
  const lose = (member: Member) => set.set.onLost(member, new Error('it is lost for this test'))
  lose(back)
  await set.backend.execute('put', { name: 'missed' })
  hanging.add(third.path)
  const changing = set.backend.execute('put', { name: 'under-way' })
  await until(async () => (await fourth.drive.get(keyOf('under-way'))) !== undefined)
  const stop = intercept(back, (name, args) => {
    if (name === procedure.adopt && (args as AdoptArgs).progress !== undefined) hanging.add(back.path)
  })
  set.set.onReturned(back, false)
  const catching = catchUp({ set: set.set, member: back, log: pino({ level: 'silent' }), signal })
  await until(() => back.state === 'current')
  stop()
  lose(fourth)
  lose(leader)
  t.ok(await (set.set.leader() as Member).drive.get(keyOf('missed')), 'what was acknowledged is read')
  t.equal(set.set.leader(), third, 'although it owes an older answer')
  hanging.clear()
  await Promise.allSettled([changing, catching])
})
