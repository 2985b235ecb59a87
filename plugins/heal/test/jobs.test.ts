/** How long a job is listed after its end, and what ends one. */
import { lockErrors } from 'svc/plugins/lock/api'
import { recordRanges } from 'svc/plugins/objects/api'
import { createFakeClock, until } from 'svc/testing'
import t from 'tap'
import type { HealRequest, StoredHealJob } from '../admin/heal-schema.ts'
import { foundByDryRun, visits } from '../found-records.ts'
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

t.test('what a dry run has found counts until jobs over parts have checked it', async t => {
  const records = ['photos', 'videos'].map(bucket => recordRanges(bucket, '')[1]![0])
  const stored = new Map<string, StoredHealJob>()
  const redundant = {
    canWrite: true,
    drives: async () => [{ path: '/d1', state: 'online', place: { pool: 0, set: 0, slot: 0, isCurrent: true } }],
    page: async (start: Buffer, end: Buffer) => ({
      keys: records.filter(key => start.compare(key) <= 0 && key.compare(end) < 0),
      next: undefined,
    }),
    heal: async (_key: Buffer, { dryRun }: { dryRun: boolean }) => ({
      before: ['missing'],
      after: [dryRun ? 'missing' : 'ok'],
      isReadable: true,
      error: undefined,
      dataBytes: 1,
    }),
  }
  const lease = { signal: new AbortController().signal, check() {} }
  let count = 0
  const given = {
    documents: { put: async (id: string, value: StoredHealJob) => void stored.set(id, value) },
    ports: { clock: createFakeClock(), random: { bytes: () => Buffer.alloc(8, count++) } },
    redundancy: { storage: () => redundant },
    objects: {},
    storage: { get: () => ({ value: Buffer.alloc(1) }) },
    locks: { hold: (_resource: string, _options: object, work: (held: object) => Promise<void>) => work(lease) },
    log: { error() {}, info() {} },
  }
  const jobs = createJobs(given as unknown as Parameters<typeof createJobs>[0])
  const run = async (request: HealRequest) => {
    const { job } = await jobs.start(request, {} as never)
    await until(async () => stored.get(job.id)?.finished === true, { what: 'the job ends' })
    return job.id
  }
  const id = await run({ ...everything, dryRun: true })
  const counts = (expected: number, message: string) =>
    until(async () => foundByDryRun(stored.get(id)!) === expected, { what: message })
  await counts(2, 'both are found')
  await run({ bucket: 'photos', recursive: true })
  await run({ bucket: 'photos', recursive: true, deep: true, dryRun: true })
  t.equal(foundByDryRun(jobs.get(id)), 2, 'they have not read every byte, or healed nothing')
  await run({ bucket: 'photos', recursive: true, deep: true })
  await counts(1, 'one is checked')
  await run({ bucket: 'videos', prefix: 'a/', recursive: true, deep: true })
  t.equal(foundByDryRun(jobs.get(id)), 1, 'it is elsewhere')
  await run({ bucket: 'videos', deep: true })
  await counts(0, 'all are checked')
  t.match(stored.get(id), { damaged: 2, found: { keys: [], checked: 2 } }, 'it says what it has found all the same')
})

t.test('a job visits what its request names', t => {
  const [[start]] = recordRanges('photos', '') as [[Buffer, Buffer]]
  const object = (key: string) => Buffer.concat([start, Buffer.from(`${key}\0`)])
  const requests: Record<string, HealRequest> = {
    all: { recursive: true },
    system: {},
    bucket: { bucket: 'photos', recursive: true },
    top: { bucket: 'photos' },
    folder: { bucket: 'photos', prefix: 'a/', recursive: true },
    other: { bucket: 'photo', recursive: true },
  }
  const visitors = (record: Buffer) =>
    Object.entries(requests).flatMap(([name, request]) => (visits(request, record) ? [name] : []))
  t.same(visitors(object('a/b/c')), ['all', 'bucket', 'folder'])
  t.same(visitors(object('b')), ['all', 'bucket', 'top'])
  t.same(visitors(Buffer.from([0xff, 1])), ['all', 'system'])
  t.end()
})
