/** What is said to be missing after jobs: what the last thorough look has found, until it is healed or gone. */
import { defineErrors } from 'svc/kernel'
import type { RedundantStorage } from 'svc/plugins/erasure/api'
import t from 'tap'
import type { HealRequest, StoredHealJob } from '../admin/heal-schema.ts'
import type { DeepScans } from '../deep-scan.ts'
import { newJob } from '../job-run.ts'
import { readRedundancy } from '../redundancy-reading.ts'
import { countOverScopes } from '../scopes.ts'

const noBucket = defineErrors({ NoSuchBucket: { status: 404, title: '' } })
const whole = {
  sets: [],
  isWhole: true,
  unmarkedShardCount: 0,
  foundShardCount: 0,
  counts: { healed: 0, failed: 0, scrubbed: 0, damaged: 0 },
  drives: async () => [],
} as unknown as RedundantStorage
const scans = { get: () => undefined } as unknown as DeepScans
const drive = { endpoint: '', pool: 0, set: 0, missing: 0, corrupt: 0, healed: 0, offline: 0, state: 'online' }
const drives = [0, 1].map(disk => ({ ...drive, disk }))
const everything: HealRequest = { recursive: true, deep: true }

const jobOf = (request: HealRequest, given: Partial<StoredHealJob> = {}): StoredHealJob => ({
  ...newJob('1', request, 'here', 0),
  state: 'completed',
  finished: true,
  drives,
  ...given,
})
const dryRun = jobOf({ ...everything, dryRun: true }, { damaged: 2 })

/** Of a drive each; `second`: what is amiss in the second one. */
function twoSets({
  belowCount = 0,
  isHealing = false,
  state = 'online',
  foundCount = 0,
  notedCount = 0,
  isWhole = true,
}) {
  const shards = { foundShardCount: foundCount, unmarkedShardCount: foundCount + notedCount }
  const quorums = { parityCount: 0, reducedParityCount: 0, leastParityCount: 0, readQuorum: 1, writeQuorum: 1 }
  const placeOf = (set: number) => ({ pool: 0, set, slot: 0, ...quorums })
  const setOf = (set: number, given: object) => ({ pool: 0, set, redundant: { failingCount: 0, ...given } })
  const amounts = (records: number) => async () => ({ total: { records, bytes: 0 }, below: { records, bytes: 0 } })
  return {
    ...whole,
    isWhole,
    ...shards,
    sets: [
      setOf(0, { amounts: amounts(0), unmarkedShardCount: 0, foundShardCount: 0, isWhole: true }),
      setOf(1, { amounts: amounts(belowCount), ...shards, isWhole }),
    ],
    drives: async () => [
      { state: 'online', place: placeOf(0) },
      { state, place: { ...placeOf(1), isHealing } },
    ],
  } as unknown as RedundantStorage
}

/** `jobs`: newest first; `present`: keys of versions and parts. One that is called `unreadable!` is there, and reading it fails. */
const read = (jobs: readonly StoredHealJob[], present: readonly string[] = [], storage = whole) =>
  readRedundancy({
    redundancy: { storage: () => storage },
    scans,
    jobs: { list: () => jobs },
    storage: {
      get: key => {
        const name = Buffer.from(key).toString()
        if (name === 'unreadable!') throw new Error('The record is damaged.')
        return present.includes(name) ? { value: Buffer.alloc(0), body: undefined } : undefined
      },
    },
    objects: {
      async getBucket(name) {
        if (name === 'deleted') throw noBucket.NoSuchBucket()
        return {} as never
      },
    },
  })

t.test(
  'a job over everything takes the place of what a dry run has found, also where it has failed at some',
  async t => {
    t.match(await read([dryRun]), {
      isFull: false,
      hasFoundDamage: true,
      summary: /^A dry run has found 2 versions and parts/,
    })
    t.match(await read([jobOf(everything, { healed: 1, failed: 1, dangling: 1 }), dryRun]), {
      isFull: true,
      hasFoundDamage: false,
    })
    t.match(await read([], [], twoSets({ isHealing: true })), { isFull: false, hasFoundDamage: false })
    t.match(await read([], [], twoSets({ foundCount: 1 })), {
      isFull: false,
      hasFoundDamage: true,
      sets: [{ hasFoundDamage: false }, { hasFoundDamage: true }],
    })
    t.match(await read([], [], twoSets({ isHealing: true, notedCount: 1 })), {
      hasFoundDamage: false,
      summary: /^1 of 2 drives is being rebuilt\.$/,
    })
    t.match(await read([], [], twoSets({ notedCount: 1 })), {
      isFull: false,
      hasFoundDamage: false,
      summary: 'A drive has come back just now, and has not been asked yet which shards it lacks.',
    })
    t.match(await read([jobOf({ ...everything, dryRun: true }, { damaged: 1 }), dryRun]), {
      summary: /found 1 version or part with/,
    })
    t.match(await read([dryRun]), { lostRecords: 0 })
    const withLost = { ...dryRun, damaged: 3, dangling: 2 }
    t.match(await read([withLost]), {
      lostRecords: 2,
      summary: /healed since\. 2 of them are lost: the job lists them\.$/,
    })
    t.match(await read([{ ...withLost, found: { keys: [], checked: 2 } }]), {
      lostRecords: 1,
      summary: /Up to 1 of them is lost/,
    })
    t.match(await read([jobOf(everything, { failed: 2, dangling: 2 }), withLost]), { lostRecords: 0 })
  },
)

t.test('what was found in a bucket counts while there is that bucket', async t => {
  const found = (bucket: string) => jobOf({ bucket, recursive: true, dryRun: true }, { damaged: 2 })
  t.match(await read([found('photos')]), { isFull: false, summary: /^A dry run has found 2/ })
  t.match(await read([found('deleted')]), { isFull: true })
})

t.test('what jobs have found that have no record in common adds up', async t => {
  const found = (damaged: number, request: HealRequest) => jobOf({ ...request, dryRun: true }, { damaged })
  const photos = found(1, { bucket: 'photos', recursive: true })
  const videos = found(1, { bucket: 'videos', recursive: true })
  const summaryOf = async (...jobs: StoredHealJob[]) => (await read(jobs)).summary
  t.match(await summaryOf(photos, videos), /found 2 versions and parts/)
  // Looked at by the records after every byte: it has found less, and does not take its place.
  t.match(await summaryOf(photos, videos, found(3, everything)), /found 3 versions and parts/)
  t.match(await summaryOf(photos, videos, found(1, everything)), /found 2 versions and parts/)
  const deepPhotos = found(2, { bucket: 'photos', deep: true, recursive: true })
  const folders = ['a/', 'b/'].map(prefix => found(2, { bucket: 'photos', prefix, recursive: true }))
  t.match(await summaryOf(photos, deepPhotos, videos), /found 3 versions and parts/)
  t.match(await summaryOf(...folders, deepPhotos, videos), /found 5 versions and parts/)
  t.match(await summaryOf(found(2, { bucket: 'photos' }), ...folders), /found 6 versions and parts/)
  t.match(await summaryOf(found(1, {}), photos), /found 2 versions and parts/)
  const overlapping = [found(2, {}), found(2, everything), found(2, { bucket: 'photos', recursive: true })]
  const countOf = (jobs: StoredHealJob[]) => countOverScopes(jobs, ({ damaged }) => damaged)
  t.equal(countOf(overlapping), 4)
  t.equal(countOf(overlapping.toReversed()), 4, 'in any order')
  const left = (bucket: string, name: string) =>
    jobOf({ bucket, recursive: true }, { failed: 1, left: { keys: [Buffer.from(name).toString('base64')], more: 0 } })
  t.match(await read([left('photos', 'one'), left('videos', 'two')], ['one', 'two']), {
    summary: /heal 2 versions and parts/,
  })
  t.match(await read([left('photos', 'one'), left('videos', 'two')], ['two']), {
    summary: /heal 1 version or part still/,
  })
})

t.test('a set is full only where nothing that is known says otherwise', async t => {
  const isFull = async (jobs: readonly StoredHealJob[], present: readonly string[] = [], second = {}) =>
    (await read(jobs, present, twoSets(second))).sets.map(set => set.isFull)
  t.same(await isFull([]), [true, true])
  t.same(await isFull([], [], { belowCount: 1 }), [true, false])
  t.same(await isFull([], [], { isHealing: true }), [true, false], 'also where nothing is stored in shards')
  t.same(await isFull([], [], { state: 'offline' }), [true, false])
  t.same(await isFull([], [], { notedCount: 1 }), [true, false])
  t.same(await isFull([], [], { isWhole: false }), [true, false])
  t.same(await isFull([{ ...dryRun, drives: [drives[0]!, { ...drives[0]!, set: 1, corrupt: 2 }] }]), [true, false])
  t.same(await isFull([dryRun]), [false, false], 'of a dry run that does not say where')
  const left = { keys: [Buffer.from('lost').toString('base64')], more: 0 }
  t.same(await isFull([jobOf(everything, { left })], ['lost']), [false, false])
  t.same(await isFull([jobOf(everything, { left })]), [true, true])
})

t.test('what is said of a set is of that set', async t => {
  const summaries = async (jobs: readonly StoredHealJob[], second = {}) =>
    (await read(jobs, [], twoSets(second))).sets.map(set => set.summary)
  t.same(await summaries([]), ['', ''])
  t.same(await summaries([], { state: 'offline', belowCount: 3 }), [
    '',
    '1 of 1 drives cannot be read. 3 of 3 versions and parts lack a shard, or have one on an offline drive.',
  ])
  t.same(await summaries([], { belowCount: 1, isHealing: true }), [
    '',
    '1 of 1 drives is being rebuilt. 1 of 1 version or part lacks a shard, or has one on an offline drive.',
  ])
  const may = 'What a heal job has left or a dry run has found may be in this set.'
  t.same(await summaries([dryRun]), [may, may], 'the count is of both')
  const [only] = twoSets({}).sets
  const one = { ...twoSets({}), sets: [only] } as RedundantStorage
  const { summary, sets } = await read([dryRun], [], one)
  t.same(sets[0]!.summary, summary)
  t.match(summary, /found 2 versions and parts/)
})

t.test('less than that does not', async t => {
  const away = [drives[0]!, { ...drives[1]!, state: 'offline' }]
  for (const less of [
    jobOf({ recursive: true }),
    jobOf({ ...everything, bucket: 'photos' }),
    jobOf({ deep: true, bucket: 'photos' }),
    jobOf(everything, { state: 'canceled' }),
    jobOf(everything, { state: 'failed' }),
    jobOf(everything, { drives: away }),
    jobOf(everything, { drives: [drives[0]!, { ...drives[1]!, offline: 3 }] }),
    // Of an earlier release, which did not tell which records it had left.
    jobOf(everything, { failed: 1, left: undefined }),
  ]) {
    t.match(await read([less, dryRun]), { isFull: false, summary: /^A dry run has found 2/ })
  }
  t.match(await read([jobOf(everything, { drives: away }), { ...dryRun, drives: away }]), { isFull: true })
})

t.test('what a job could not check counts until it is gone, or another job has', async t => {
  const keys = ['lost', 'unreadable'].map(key => Buffer.from(key).toString('base64'))
  const failed = jobOf(everything, { failed: 2, left: { keys, more: 0 } })
  t.match(await read([failed, dryRun], ['lost', 'unreadable']), {
    isFull: false,
    summary: /could not .* heal 2 versions and parts/,
  })
  t.match(await read([failed, dryRun], ['unreadable']), {
    isFull: false,
    summary: /could not .* heal 1 version or part still/,
  })
  t.match(await read([failed, dryRun]), { isFull: true })
  t.match(await read([jobOf(everything), failed], ['lost']), { isFull: true })
  t.match(await read([jobOf(everything, { left: { keys, more: 3 } })], ['lost']), {
    summary: /heal 4 versions and parts/,
  })
})

t.test('a dry run that could not check either takes the place of nothing that was left', async t => {
  const left = { keys: [Buffer.from('unreadable').toString('base64')], more: 2 }
  const failed = jobOf(everything, { failed: 3, left })
  const again: HealRequest = { ...everything, dryRun: true }
  t.match(await read([jobOf(again, { failed: 3, left }), failed], ['unreadable']), {
    summary: /heal 3 versions and parts/,
  })
  t.match(await read([jobOf(again, { failed: 3, left: undefined }), failed], ['unreadable']), { isFull: false })
  t.match(await read([jobOf(again), failed], ['unreadable']), { isFull: true })
})

t.test('a record that cannot be read counts as one that is there, and the others are counted', async t => {
  const keys = ['unreadable!', 'lost', 'gone'].map(key => Buffer.from(key).toString('base64'))
  t.match(await read([jobOf(everything, { failed: 3, left: { keys, more: 0 } })], ['lost']), {
    isFull: false,
    summary: /heal 2 versions and parts/,
  })
})
