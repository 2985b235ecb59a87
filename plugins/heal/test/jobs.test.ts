/** How long a job is listed after its end, and what ends one. */
import { lockErrors } from 'svc/plugins/lock/api'
import { recordRanges } from 'svc/plugins/objects/api'
import { createFakeClock, until } from 'svc/testing'
import t from 'tap'
import type { HealRequest, StoredHealJob } from '../admin/heal-schema.ts'
import { newJob } from '../job-run.ts'
import { createJobs } from '../jobs.ts'

const hourMs = 3_600_000
const everything: HealRequest = { recursive: true, deep: true }

t.test('a job that has ended is listed for an hour, and while what it has found or left counts', async t => {
  const clock = createFakeClock()
  const job = (id: string, minute: number, request: HealRequest, given: Partial<StoredHealJob> = {}) => {
    const startedMs = clock.now() + minute * 60_000
    const finishedAt = new Date(startedMs + 1000).toISOString()
    return {
      ...newJob(id, request, 'here', startedMs),
      state: 'completed',
      finished: true,
      finishedAt,
      ...given,
    } as const
  }
  const dryRun = job('found', 0, { ...everything, dryRun: true }, { damaged: 2 })
  const left = job('left', 1, { bucket: 'photos' }, { failed: 1, left: { keys: ['AA=='], more: 0 } })
  const clean = job('clean', 2, { bucket: 'other' })
  const stored = new Map([dryRun, left, clean].map(value => [value.id, value as StoredHealJob]))
  const open = async () => {
    const documents = {
      list: () => ({ documents: [...stored].map(([id, value]) => ({ id, value })), next: undefined }),
      delete: async (id: string) => stored.delete(id),
    }
    const given = { documents, ports: { clock }, redundancy: {}, objects: {}, storage: {}, locks: {}, log: {} }
    const jobs = createJobs(given as unknown as Parameters<typeof createJobs>[0])
    await jobs.open()
    return { ids: () => jobs.list().map(({ id }) => id) }
  }
  const before = await open()
  t.same(before.ids(), ['clean', 'left', 'found'])
  await clock.advance(2 * hourMs)
  t.same(before.ids(), ['left', 'found'])
  t.same((await open()).ids(), ['left', 'found'])
  t.same([...stored.keys()], ['found', 'left'], 'the others are deleted')

  // It began earlier than the job that takes its place, and ends later.
  const endsLater = new Date(clock.now() + hourMs / 2).toISOString()
  const slow = job('slow', -1, { ...everything, dryRun: true }, { damaged: 1, finishedAt: endsLater })
  const full = job('full', 0, everything)
  for (const value of [slow, full]) stored.set(value.id, value)
  await clock.advance(1.25 * hourMs)
  t.same((await open()).ids(), ['full', 'slow'], 'what was found does not come back')
  await clock.advance(hourMs)
  t.same((await open()).ids(), [])
  t.equal(stored.size, 0)
})

t.test('a job whose lock is released heals no further record, and says so', async t => {
  const clock = createFakeClock()
  let isHeld = true
  const healed: Buffer[] = []
  const redundant = {
    canWrite: true,
    drives: async () => [],
    page: async () => ({ keys: ['a', 'b', 'c'].map(name => recordRanges('photos', name)[0]![0]), next: undefined }),
    async heal(key: Buffer) {
      healed.push(key)
      isHeld = false
    },
  }
  // It is told to the thread of the job later.
  const lease = {
    signal: new AbortController().signal,
    check() {
      if (!isHeld) throw lockErrors.conflict('The lock was released.')
    },
  }
  const given = {
    documents: { put: async () => {} },
    ports: { clock, random: { bytes: () => Buffer.alloc(8) } },
    redundancy: { storage: () => redundant },
    objects: {},
    storage: { get: () => undefined },
    locks: { hold: (_resource: string, _options: object, work: (held: object) => Promise<void>) => work(lease) },
    log: { error() {}, info() {} },
  }
  const jobs = createJobs(given as unknown as Parameters<typeof createJobs>[0])
  const { job } = await jobs.start({ bucket: 'photos', recursive: true }, {} as never)
  await until(async () => jobs.get(job.id).finished, { what: 'the job ends' })
  t.match(jobs.get(job.id), { state: 'failed', error: 'The lock was released.', scanned: 1 })
  t.equal(healed.length, 1)
})
