/**
 * Random rules over random histories of days, against a model that walks all versions. A failure prints the seed and the path;
 * SEED and ROUNDS choose others.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Body } from 'svc/plugins/objects/api'
import { testRounds } from 'svc/testing'
import t from 'tap'
import { checkLifecycleRules, type LifecycleRule } from '../rules.ts'
import { LifecycleModel, noResult } from './lifecycle-model.ts'
import { dayMs, startLifecycle } from './start.ts'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const runCount = testRounds({ laptop: 50, ci: 200, long: 3000 })
const server = await startLifecycle({ byHand: true, atNoon: true })
t.teardown(() => server.stop())
t.comment(`seed ${seed}, ${runCount} histories`)
const { objects, lifecycle } = server.kernel.services
const owner = server.kernel.services.iam.owner

function payload(size: number): Body {
  return {
    sizeBytes: size,
    expectedDigests: () => ({ md5: undefined, checksum: undefined }),
    async consume(sink) {
      if (size > 0) await sink(Buffer.alloc(size))
    },
  }
}

const keys = ['a', 'a/b', 'a/\u0001c', 'logs/d', '\u{1f600}'] as const
const key = fc.constantFrom(...keys)
const days = fc.integer({ min: 1, max: 4 })
const tag = fc.record({ key: fc.constant('t'), value: fc.constantFrom('1', '2') })
const prefix = fc.constantFrom('', 'a', 'a/', 'logs/', '\u{1f600}', 'none')
const sizes = fc.constantFrom(
  { sizeGreaterThan: 10 },
  { sizeLessThan: 20 },
  { sizeGreaterThan: 5, sizeLessThan: 25 },
  {},
)
const form = fc.oneof(
  fc.record({ prefix }),
  fc.record({ filter: fc.record({ prefix }) }),
  fc.record({ filter: fc.record({ tag }) }),
  fc.record({ filter: fc.constantFrom({}, { sizeGreaterThan: 10 }, { sizeLessThan: 20 }) }),
  fc
    .tuple(fc.option(prefix, { nil: undefined }), sizes, fc.array(tag, { maxLength: 1 }))
    .filter(([p, s, tags]) => p !== undefined || tags.length > 0 || Object.keys(s).length > 0)
    .map(([p, s, tags]) => ({ filter: { and: { ...s, ...(p === undefined ? undefined : { prefix: p }), tags } } })),
)
const expiration = fc.oneof(
  fc.record({ days }),
  // Counted from when the rule is put: see `play`.
  fc.integer({ min: -3, max: 6 }).map(offset => ({ dateMs: offset * dayMs })),
  fc.constantFrom({ expiredObjectDeleteMarker: true }, { expiredObjectDeleteMarker: false }),
)
const noncurrentExpiration = fc.oneof(
  fc.record({ noncurrentDays: days }),
  fc.record({ noncurrentDays: days, newerNoncurrentVersions: fc.integer({ min: 1, max: 3 }) }),
)
const actions = fc.record(
  { expiration, noncurrentExpiration, abortIncompleteUpload: fc.record({ daysAfterInitiation: days }) },
  { requiredKeys: [] },
)
const rule: fc.Arbitrary<LifecycleRule> = fc
  .tuple(form, actions, fc.integer({ min: 0, max: 9 }))
  .map(([f, a, n]) => ({ id: '', enabled: n > 0, ...f, ...a }) as LifecycleRule)
  .filter(one => checkLifecycleRules([one]).length === 0)

const expireAll: LifecycleRule = { id: 'r', enabled: true, prefix: '', expiration: { days: 1 } }

const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant('put'), key, size: fc.nat(30), tagged: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete'), key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deleteVersion'), key, place: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('tag'), key, place: fc.nat(3), tagged: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hold'), key, place: fc.nat(3), on: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('upload'), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('versioning'), to: fc.constantFrom('enabled', 'suspended') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rules'), rules: fc.array(rule, { maxLength: 5 }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait'), days: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('run') }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
const tagsFor = (tagged: number): Record<string, string> => (tagged === 0 ? {} : { t: String(tagged) })
const seen: Record<string, number> = {}
let bucketCount = 0

const partBytes = 3
const all = { prefix: '', delimiter: '', keyMarker: '' }
async function versionsOf(bucket: string) {
  const listed = await objects.listVersions({ bucket, ...all, versionIdMarker: '', maxKeys: 1000 })
  return listed.versions
}

async function check(bucket: string, model: LifecycleModel): Promise<void> {
  const listed = (await versionsOf(bucket)).map(one => [one.key, one.isDeleteMarker, one.sizeBytes, one.versionId])
  const order = [...model.keys.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const expected = order.flatMap(name => model.versions(name).map(one => [name, one.isMarker, one.size, one.id]))
  assert.deepEqual(listed, expected)
  const versions = [...model.keys.values()].flat()
  const bodies = versions.filter(one => !one.isMarker)
  assert.deepEqual(await objects.usage(bucket), {
    objects: [...model.keys.values()].filter(([newest]) => newest !== undefined && !newest.isMarker).length,
    versions: bodies.length,
    deleteMarkers: versions.length - bodies.length,
    sizeBytes: bodies.reduce((sum, one) => sum + one.size, 0),
    uploads: model.uploads.length,
    // Each has one part.
    uploadBytes: partBytes * model.uploads.length,
  })
  const { uploads } = await objects.listUploads({ bucket, ...all, uploadIdMarker: '', maxUploads: 1000 })
  assert.deepEqual(uploads.map(one => one.uploadId).sort(), model.uploads.map(one => one.id).sort())
}

/** All entries of the index, by a walk over all versions. */
async function checkIndex(bucket: string, model: LifecycleModel): Promise<void> {
  const { dueIndex } = await objects.getBucket(bucket)
  if (dueIndex?.isComplete !== true) return
  const ranges = [{ prefix: '', lastDay: 2 ** 23 }]
  const found: unknown[] = []
  for (const kind of ['current', 'noncurrent', 'marker'] as const) {
    const { entries } = await objects.listDue({ bucket, kind, ranges, withTags: true })
    for (const entry of entries)
      found.push([kind, entry.key, entry.day, entry.sizeBytes, Object.fromEntries(entry.tags ?? [])])
  }
  const expected: unknown[] = []
  for (const [name, versions] of model.keys) {
    for (const [place, one] of versions.entries()) {
      const day = Math.floor((place === 0 ? one.modifiedMs : one.sinceMs) / dayMs)
      if (place === 0 && one.isMarker && versions.length > 1) continue
      const kind = place > 0 ? 'noncurrent' : one.isMarker ? 'marker' : 'current'
      expected.push([kind, name, day, one.size, one.tags])
    }
  }
  const sorted = (list: unknown[]) => list.map(one => JSON.stringify(one)).sort()
  assert.deepEqual(sorted(found), sorted(expected))
}

const datedFrom =
  (startMs: number) =>
  (one: LifecycleRule): LifecycleRule => {
    const { dateMs } = one.expiration ?? {}
    return dateMs === undefined ? one : { ...one, expiration: { dateMs: startMs + dateMs } }
  }

async function play(history: {
  readonly locked: boolean
  readonly later: number
  readonly steps: readonly Step[]
}): Promise<void> {
  const bucket = `runs-${++bucketCount}`
  const model = new LifecycleModel()
  await objects.createBucket(bucket, { region: 'us-east-1', owner, objectLock: history.locked })
  if (history.locked) model.versioning = 'enabled'
  const newest = async (name: string) => (await objects.getObject(bucket, name)).versionId
  for (const one of history.steps) {
    const nowMs = server.now()
    const found = 'place' in one ? model.versions(one.key)[one.place] : undefined
    if (one.do === 'put') {
      const tags = tagsFor(one.tagged)
      const body = payload(one.size)
      await objects.putObject({
        bucket,
        key: one.key,
        attributes: { ...attributes, tags: new Map(Object.entries(tags)) },
        body,
        checksumAlgorithm: undefined,
      })
      const id = await newest(one.key)
      model.add(one.key, { id, isMarker: false, size: one.size, tags, hold: false, modifiedMs: nowMs })
    } else if (one.do === 'delete') {
      const { isDeleteMarker } = await objects.deleteObject(bucket, one.key)
      if (model.versioning === 'off') model.keys.delete(one.key)
      else {
        assert.ok(isDeleteMarker)
        const id = await newest(one.key)
        model.add(one.key, { id, isMarker: true, size: 0, tags: {}, hold: false, modifiedMs: nowMs })
      }
    } else if (one.do === 'deleteVersion') {
      if (found === undefined || found.hold) continue
      await objects.deleteObject(bucket, one.key, found.id)
      model.remove(one.key, found)
    } else if (one.do === 'tag') {
      if (found === undefined || found.isMarker) continue
      found.tags = tagsFor(one.tagged)
      await objects.changeVersion(bucket, one.key, found.id, { tags: new Map(Object.entries(found.tags)) })
    } else if (one.do === 'hold') {
      if (!history.locked || found === undefined || found.isMarker) continue
      found.hold = one.on
      await objects.changeVersion(bucket, one.key, found.id, { legalHold: one.on })
    } else if (one.do === 'upload') {
      const options = { attributes, checksumAlgorithm: undefined, checksumType: undefined }
      const upload = await objects.createUpload({ bucket, key: one.key, ...options })
      await objects.putPart(upload, 1, payload(partBytes))
      model.uploads.push({ key: one.key, id: upload.uploadId, startedMs: nowMs })
    } else if (one.do === 'versioning') {
      if (history.locked) continue
      model.versioning = one.to as 'enabled' | 'suspended'
      await objects.changeBucket(bucket, { versioning: model.versioning })
    } else if (one.do === 'rules') {
      model.rules = one.rules.map(datedFrom(Math.floor(nowMs / dayMs) * dayMs))
      await lifecycle.replace(bucket, model.rules)
    } else if (one.do === 'wait') server.advanceDays(one.days)
    else {
      await apply(bucket, model)
      // Only entries that the first run made possible: a new delete marker makes one more version noncurrent.
      await apply(bucket, model)
    }
    for (const [name, versions] of model.keys) if (versions.length === 0) model.keys.delete(name)
  }
  await check(bucket, model)
  await foresee(bucket, model, history.later)
}

async function preview(bucket: string, atMs?: number) {
  return lifecycle.preview(bucket, (await lifecycle.configuration(bucket)).rules, { atMs })
}

/** What runs of each day leave of what is there now is what the preview said before the first of them. */
async function foresee(bucket: string, model: LifecycleModel, dayCount: number): Promise<void> {
  const atMs = Math.floor(server.now() / dayMs + dayCount) * dayMs
  const foreseen = await preview(bucket, atMs)
  const before = await versionsOf(bucket)
  const sums = noResult()
  let last = sums
  for (let day = 0; day <= dayCount; day++) {
    if (day > 0) server.advanceDays(1)
    last = await lifecycle.run(bucket)
    for (const name of ['replaced', 'uploadsAborted'] as const) sums[name] += last[name]
  }
  const nameOf = ({ key, versionId, modifiedMs, isDeleteMarker }: (typeof before)[number]) =>
    JSON.stringify([key, versionId, modifiedMs, isDeleteMarker])
  const after = new Map((await versionsOf(bucket)).map(one => [nameOf(one), one]))
  const isGone = (one: (typeof before)[number]) => !after.has(nameOf(one))
  const deleted = before.filter(isGone).length - sums.replaced
  const staying = before.filter(one => one.isLatest && !isGone(one) && !after.get(nameOf(one))!.isLatest)
  assert.deepEqual(foreseen, {
    ...foreseen,
    ...sums,
    deleted,
    deleteMarkers: foreseen.deleteMarkers,
    locked: foreseen.locked,
  })
  // Keys whose null version is replaced count whether the one that got the delete marker stays or not.
  const least = staying.length
  assert.ok(foreseen.deleteMarkers >= least && foreseen.deleteMarkers <= least + sums.replaced, 'delete markers')
  if (model.versioning !== 'suspended') assert.equal(foreseen.deleteMarkers, least)
  assert.ok(foreseen.locked >= last.locked, 'what a lock still keeps')
  seen['foreseen deleted'] = (seen['foreseen deleted'] ?? 0) + deleted
}

async function apply(bucket: string, model: LifecycleModel): Promise<void> {
  const nowMs = server.now()
  const foreseen = await preview(bucket)
  await check(bucket, model)
  const { buckets, versions, ...result } = await lifecycle.run(bucket)
  assert.deepEqual(foreseen, { ...result, buckets, versions: foreseen.versions })
  assert.equal(buckets, model.rules.length === 0 ? 0 : 1)
  const marker = { id: '?', isMarker: true, size: 0, tags: {}, hold: false, modifiedMs: nowMs }
  const expected = model.run(nowMs, () => ({ ...marker }))
  for (const [name, list] of model.keys) {
    for (const version of list) if (version.id === '?') version.id = (await objects.getObject(bucket, name)).versionId
    if (list.length === 0) model.keys.delete(name)
  }
  assert.deepEqual(result, expected)
  assert.ok(versions >= result.deleted, `${versions} looked at`)
  for (const [name, count] of Object.entries(result)) seen[name] = (seen[name] ?? 0) + count
  await check(bucket, model)
  await checkIndex(bucket, model)
}

t.test('rules remove the same versions as the model', async t => {
  const steps = fc.array(step, { minLength: 5, maxLength: 70 })
  const some = fc.array(rule, { minLength: 2, maxLength: 6 })
  // One whose rules are applied at the end, or one whose rules are new then, so that the days after it have much to do.
  const ended = fc.tuple(steps, some, fc.boolean()).map(([list, rules, isApplied]): Step[] => {
    const put: Step = { do: 'rules', rules }
    if (!isApplied) return [...list.filter(one => one.do !== 'rules'), put]
    return [...list.slice(0, 8), put, ...list.slice(8), { do: 'wait', days: 5 }, { do: 'run' }]
  })
  // Where versions are suspended, the delete marker takes the place of the null version: rare among so few histories.
  const replacing: Step[] = [
    { do: 'put', key: 'a', size: 1, tagged: 0 },
    { do: 'versioning', to: 'suspended' },
    { do: 'rules', rules: [expireAll] },
    { do: 'wait', days: 3 },
    { do: 'run' },
  ]
  await fc.assert(
    fc.asyncProperty(fc.record({ locked: fc.boolean(), later: fc.integer({ min: 0, max: 24 }), steps: ended }), play),
    { seed, numRuns: runCount, examples: [[{ locked: false, later: 3, steps: replacing }]] },
  )
  // Locked versions that are due are rare here: another test covers them.
  for (const name of ['deleted', 'deleteMarkers', 'replaced', 'uploadsAborted', 'foreseen deleted'])
    t.ok(seen[name]! > 0, `${name}: ${seen[name]}`)
})

const put = (bucket: string, name: string, tags: Record<string, string> = {}) =>
  objects.putObject({
    bucket,
    key: name,
    attributes: { ...attributes, tags: new Map(Object.entries(tags)) },
    body: payload(1),
    checksumAlgorithm: undefined,
  })
const ranges = [{ prefix: '', lastDay: 2 ** 23 }]

t.test('versions that changed since they were found stay', async t => {
  const bucket = 'runs-races'
  await objects.createBucket(bucket, { region: 'us-east-1', owner })
  await objects.changeBucket(bucket, { versioning: 'enabled', dueIndex: 'on' })
  for (const name of ['overwritten', 'tagged', 'same']) await put(bucket, name, { t: '1' })
  const { entries } = await objects.listDue({ bucket, kind: 'current', ranges, withTags: true })
  await put(bucket, 'overwritten')
  await objects.changeVersion(bucket, 'tagged', undefined, { tags: new Map() })
  const expiries = entries.map(({ key, sequence, tags }) => ({ kind: 'current' as const, key, sequence, tags }))
  t.same(await objects.expire(bucket, expiries), ['changed', 'marked', 'changed'], 'by key')
  t.same(await objects.expire(bucket, expiries), ['changed', 'changed', 'changed'], 'once')

  for (let i = 0; i < 3; i++) await put(bucket, 'kept')
  const older = await objects.listDue({ bucket, kind: 'noncurrent', ranges, newerMax: 1 })
  const oldest = older.entries.find(entry => entry.key === 'kept')!
  t.equal(oldest.newerCount, 1)
  const [, newer] = (await versionsOf(bucket)).filter(one => one.key === 'kept')
  await objects.deleteObject(bucket, 'kept', newer!.versionId)
  const expiry = { kind: 'noncurrent' as const, key: 'kept', sequence: oldest.sequence }
  t.same(await objects.expire(bucket, [{ ...expiry, newerMin: 1 }]), ['changed'], 'too few newer ones are left')
  t.same(await objects.expire(bucket, [expiry]), ['deleted'])
})

t.test('rules of a bucket are applied once at a time, and not after they were replaced', async t => {
  const bucket = 'runs-hands'
  const count = 1500
  await objects.createBucket(bucket, { region: 'us-east-1', owner })
  await Promise.all(Array.from({ length: count }, (_, i) => put(bucket, `k${i}`)))
  await lifecycle.replace(bucket, [expireAll])
  server.advanceDays(2)
  const first = lifecycle.run(bucket)
  await t.rejects(lifecycle.run(bucket), { code: 'conflict' })
  while ((await objects.usage(bucket)).objects === count) await new Promise(resolve => setImmediate(resolve))
  await lifecycle.replace(bucket, [])
  const left = (await objects.usage(bucket)).objects
  const { deleted } = await first
  t.ok(deleted > 0 && deleted < count, `${deleted} of ${count}`)
  t.ok(left - (count - deleted) <= 64, 'at most the commit that was under way when the rules went')
  await lifecycle.replace(bucket, [expireAll])
  t.equal((await lifecycle.run(bucket)).deleted, count - deleted, 'a later run does the rest')
})

t.test('objects from before the rules are found, also while they change', async t => {
  const bucket = 'runs-before'
  await objects.createBucket(bucket, { region: 'us-east-1', owner })
  await objects.changeBucket(bucket, { versioning: 'enabled' })
  const names = Array.from({ length: 400 }, (_, i) => `k${String(i).padStart(3, '0')}`)
  for (let i = 0; i < 2; i++) await Promise.all(names.map(name => put(bucket, name)))
  const before = await objects.changeBucket(bucket, { dueIndex: 'on' })
  const { since } = before.dueIndex!
  // Versions move between parts that a page has passed and parts that it has not reached.
  const churn = async () => {
    for (const name of names) {
      const { versionId } = await objects.getObject(bucket, name)
      if (Number(name.slice(1)) % 2 === 0) await objects.deleteObject(bucket, name, versionId)
      else await put(bucket, name)
    }
  }
  const build = async () => {
    let after: Buffer | undefined
    do after = await objects.indexDue(bucket, after)
    while (after !== undefined)
  }
  await Promise.all([build(), churn()])
  await objects.changeBucket(bucket, { dueIndex: { completeSince: since - 1 } })
  t.equal((await objects.getBucket(bucket)).dueIndex?.isComplete, false, 'what somebody else built is not this index')
  const found = async (kind: 'current' | 'noncurrent') => {
    let total = 0
    let after: Buffer | undefined
    do {
      const page = await objects.listDue({ bucket, kind, ranges, after })
      total += page.entries.length
      after = page.next
    } while (after !== undefined)
    return total
  }
  t.equal(await found('current'), 400)
  t.equal(await found('noncurrent'), 400)
})

t.test('versions under object lock stay, below a delete marker if they were the newest', async t => {
  const bucket = 'runs-locked'
  await objects.createBucket(bucket, { region: 'us-east-1', owner, objectLock: true })
  const hold = (legalHold: boolean) => objects.changeVersion(bucket, 'a', undefined, { legalHold })
  await put(bucket, 'a')
  await hold(true)
  const noncurrentExpiration = { noncurrentDays: 1 }
  await lifecycle.replace(bucket, [{ ...expireAll, noncurrentExpiration }])
  server.advanceDays(2)
  const none = { buckets: 1, versions: 1, deleted: 0, deleteMarkers: 0, replaced: 0, uploadsAborted: 0, locked: 1 }
  t.same(await lifecycle.run(bucket), { ...none, deleteMarkers: 1 })
  t.same(
    (await versionsOf(bucket)).map(one => one.isDeleteMarker),
    [true, false],
  )
  server.advanceDays(2)
  t.same(await lifecycle.run(bucket), none, 'also as a noncurrent version')
  const kept = (await versionsOf(bucket))[1]!
  await objects.changeVersion(bucket, 'a', kept.versionId, { legalHold: false })
  t.match(
    await lifecycle.run(bucket),
    { deleted: 2, locked: 0 },
    'the version, and the delete marker that is alone then',
  )
  t.same(await versionsOf(bucket), [])
})

t.test('a preview foresees until when a lock protects a version', async t => {
  const bucket = 'runs-retained'
  await objects.createBucket(bucket, { region: 'us-east-1', owner, objectLock: true })
  await put(bucket, 'a')
  const retention = { mode: 'COMPLIANCE' as const, retainUntilMs: server.now() + 9 * dayMs }
  await objects.changeVersion(bucket, 'a', undefined, { retention })
  const rules = [{ ...expireAll, noncurrentExpiration: { noncurrentDays: 1 } }]
  const inDays = (days: number) => lifecycle.preview(bucket, rules, { atMs: server.now() + days * dayMs })
  t.match(await inDays(1), { deleted: 0, deleteMarkers: 0, locked: 0 })
  t.match(await inDays(8), { deleted: 0, deleteMarkers: 1, locked: 1 })
  t.match(await inDays(10), { deleted: 1, deleteMarkers: 0, locked: 0 })
  await objects.changeVersion(bucket, 'a', undefined, { legalHold: true })
  t.match(await inDays(10), { deleted: 0, deleteMarkers: 1, locked: 1 })
})

t.test('a preview counts a delete marker that goes in the run that removes its last version', async t => {
  for (const expiration of [{ expiredObjectDeleteMarker: true }, { days: 1 }]) {
    const bucket = `runs-lone-${Object.keys(expiration)[0]!.toLowerCase()}`
    await objects.createBucket(bucket, { region: 'us-east-1', owner })
    await objects.changeBucket(bucket, { versioning: 'enabled' })
    await put(bucket, 'a')
    await objects.deleteObject(bucket, 'a')
    const rules = [{ ...expireAll, expiration, noncurrentExpiration: { noncurrentDays: 1 } }]
    const atMs = server.now() + 2 * dayMs
    t.match(await lifecycle.preview(bucket, rules, { atMs }), { deleted: 2, deleteMarkers: 0 }, 'before that day')
    server.advanceDays(2)
    t.match(await lifecycle.preview(bucket, rules), { deleted: 2, deleteMarkers: 0 }, 'on that day')
    await lifecycle.replace(bucket, rules)
    t.match(await lifecycle.run(bucket), { deleted: 2, deleteMarkers: 0 }, 'the run')
    t.same(await versionsOf(bucket), [])
  }
})
