/**
 * Versions and locks: thousands of random histories compared with a simple model. A failure prints the seed and the path; pass
 * them to `fc.assert` to repeat it. SEED and ROUNDS choose others.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { isCatalogError } from 'svc/kernel'
import type { Cursor } from 'svc/plugins/storage/api'
import { testRounds } from 'svc/testing'
import t from 'tap'
import type { ObjectLock, Retention, VersionSummary } from '../api.ts'
import { counterKey } from '../keys.ts'
import { listObjects } from '../listing.ts'
import { noTags } from '../tags.ts'
import { decodeUsage } from '../usage.ts'
import { collect, owner, payload, startObjects } from './start.ts'
import { type ModelVersion, unlocked, VersionModel } from './version-model.ts'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const runCount = testRounds({ laptop: 300, ci: 1500, long: 10_000 })
const hourMs = 3_600_000
const server = await startObjects({ inMemory: true })
const { objects, storage } = server
t.teardown(() => server.stop())
t.comment(`seed ${seed}, ${runCount} histories`)

const keys = ['a', 'a/b', 'a/c', 'd'] as const
const key = fc.constantFrom(...keys)
/** Selects a version of a key by position, or an id that does not exist. */
const which = fc.oneof(fc.nat(4), fc.constantFrom('current', 'null', 'unknown'))
const retention = fc.record({
  mode: fc.constantFrom('GOVERNANCE', 'COMPLIANCE'),
  hours: fc.integer({ min: -1, max: 3 }),
})
const lock = fc.record({ retention: fc.option(retention, { nil: undefined }), legalHold: fc.boolean() })
const size = fc.oneof({ weight: 8, arbitrary: fc.nat(30) }, { weight: 1, arbitrary: fc.constant(140_000) })

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('put'), key, size, condition: fc.constantFrom(0, 0, 0, 1, 2, 3) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('putLocked'), key, size, lock }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('upload'), key, size }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('copy'), key, to: key, which }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('delete'), key, condition: fc.constantFrom(0, 0, 1, 2) }) },
  { weight: 9, arbitrary: fc.record({ do: fc.constant('deleteVersion'), key, which, bypass: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('tag'),
      key,
      which,
      // Whole numbers: what a plain object would put in another order.
      tags: fc
        .uniqueArray(fc.tuple(fc.constantFrom('x', '10', '2'), fc.constantFrom('1', '2')), {
          selector: ([name]) => name,
        })
        .map(pairs => new Map(pairs)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('retain'),
      key,
      which,
      retention: fc.option(retention),
      bypass: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hold'), key, which, on: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('versioning'), to: fc.constantFrom('enabled', 'suspended') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lockBucket'), byDefault: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('list'),
      maxKeys: fc.integer({ min: 1, max: 4 }),
      delimiter: fc.constantFrom('', '/'),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

let bucketCount = 0
let bodyCount = 0

/** `ok`, or the error code. */
async function outcome<T>(attempt: () => Promise<T> | T): Promise<{ code: string; result: T | undefined }> {
  try {
    return { code: 'ok', result: await attempt() }
  } catch (error) {
    if (!isCatalogError(error)) throw error
    return { code: error.code, result: undefined }
  }
}

class History {
  readonly bucket = `history-${++bucketCount}`
  readonly model = new VersionModel()

  idOf(key: string, which: number | string): string | undefined {
    if (which === 'current') return undefined
    if (which === 'unknown') return '00000000000001'
    if (which === 'null') return 'null'
    return this.model.versions(key)[which as number]?.id ?? 'null'
  }

  body(size: number): Buffer {
    const bytes = Buffer.alloc(size, ++bodyCount & 0xff)
    if (size > 4) bytes.writeUInt32BE(bodyCount)
    return bytes
  }

  lockOf(given: { retention?: { mode: string; hours: number }; legalHold: boolean }): ObjectLock | undefined {
    const lock = { legalHold: given.legalHold, retention: given.retention && this.retentionOf(given.retention) }
    return lock.retention === undefined && !lock.legalHold ? undefined : lock
  }

  retentionOf({ mode, hours }: { mode: string; hours: number }): Retention {
    return { mode: mode as Retention['mode'], retainUntilMs: server.now() + hours * hourMs }
  }

  /** The lock of a new version. Times are compared with a tolerance, because the commit has its own clock. */
  lockOfNew(asked: ObjectLock | undefined): ObjectLock {
    const byDefault = this.model.objectLock?.defaultRetention
    const { legalHold, retention } = asked ?? unlocked
    if (retention !== undefined || byDefault === undefined) return { legalHold, retention }
    return {
      legalHold,
      retention: { mode: byDefault.mode, retainUntilMs: server.now() + byDefault.days! * 24 * hourMs },
    }
  }

  async run(step: Step): Promise<void> {
    const { bucket, model } = this
    const s = step as Record<string, never> & { key: string; do: string }
    const target = 'key' in s ? s.key : ''
    switch (s.do) {
      case 'put':
      case 'putLocked':
        return this.put(s)
      case 'upload': {
        const body = this.body(s.size)
        const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
        const upload = await objects.createUpload({
          bucket,
          key: target,
          attributes,
          checksumAlgorithm: undefined,
          checksumType: undefined,
        })
        const part = await objects.putPart(upload, 1, payload(body))
        const request = { bucket, key: target, uploadId: upload.uploadId, parts: [part] }
        const done = await objects.completeUpload(request)
        model.add(target, done.versionId, {
          body,
          etag: `${md5(Buffer.from(md5(body), 'hex'))}-1`,
          tags: noTags,
          lock: this.lockOfNew(undefined),
        })
        assert.deepEqual(await objects.completeUpload(request), done, 'a repeated completion gets the same answer')
        return
      }
      case 'copy':
        return this.copy(target, s.to, s.which)
      case 'delete':
        return this.delete(target, s.condition)
      case 'deleteVersion': {
        const id = this.idOf(target, s.which) ?? 'null'
        const version = model.find(target, id)
        const isKept = version !== undefined && model.isKept(version, server.now(), s.bypass)
        const options = { bypassGovernance: s.bypass as boolean }
        const { code, result } = await outcome(() => objects.deleteObject(bucket, target, id, undefined, options))
        assert.equal(code, isKept ? 'AccessDenied' : 'ok')
        if (isKept) return
        const isMarker = version !== undefined && version.body === undefined
        assert.deepEqual(result, { existed: version !== undefined, versionId: id, isDeleteMarker: isMarker })
        model.remove(target, id)
        return
      }
      case 'tag':
        return this.change(target, s.which, { tags: s.tags }, version => {
          version.tags = s.tags
        })
      case 'hold':
        return this.change(target, s.which, { legalHold: s.on }, version => {
          version.lock = { ...version.lock, legalHold: s.on }
        })
      case 'retain': {
        const next = s.retention === null ? null : this.retentionOf(s.retention)
        const change = { retention: next, bypassGovernance: s.bypass as boolean }
        return this.change(
          target,
          s.which,
          change,
          version => {
            version.lock = { ...version.lock, retention: next ?? undefined }
          },
          version => {
            if (next !== null && next.retainUntilMs <= server.now()) return 'InvalidArgument'
            return model.mayRetain(version, next, server.now(), s.bypass) ? 'ok' : 'AccessDenied'
          },
        )
      }
      case 'versioning': {
        const { code } = await outcome(() => objects.changeBucket(bucket, { versioning: s.to }))
        const isRefused = model.objectLock !== undefined && s.to === ('suspended' as string)
        assert.equal(code, isRefused ? 'InvalidBucketState' : 'ok')
        if (!isRefused) model.versioning = s.to
        return
      }
      case 'lockBucket': {
        const objectLock = s.byDefault ? { defaultRetention: { mode: 'GOVERNANCE' as const, days: 1 } } : {}
        const { code } = await outcome(() => objects.changeBucket(bucket, { objectLock }))
        assert.equal(code, model.versioning === 'enabled' ? 'ok' : 'InvalidBucketState')
        if (code === 'ok') model.objectLock = objectLock
        return
      }
      case 'wait':
        server.advance(1.5 * hourMs)
        return
      case 'list':
        return this.compareListings(s.maxKeys, s.delimiter)
      default:
        assert.fail(s.do)
    }
  }

  async put(s: Record<string, never> & { key: string }): Promise<void> {
    const { bucket, model } = this
    const asked = s.lock === undefined ? undefined : this.lockOf(s.lock)
    const body = this.body(s.size)
    const current = model.current(s.key)
    const etag = current?.etag ?? 'none'
    const conditions = [undefined, { ifNoneMatch: '*' as const }, { ifMatch: etag }, { ifMatch: 'other' }][
      s.condition ?? 0
    ]
    let expected = 'ok'
    if (conditions?.ifNoneMatch !== undefined && current !== undefined) expected = 'PreconditionFailed'
    if (conditions?.ifMatch !== undefined && current === undefined) expected = 'NoSuchKey'
    else if (conditions?.ifMatch === 'other') expected = 'PreconditionFailed'
    if (asked !== undefined) {
      if (asked.retention !== undefined && asked.retention.retainUntilMs <= server.now()) expected = 'InvalidArgument'
      if (model.objectLock === undefined) expected = 'InvalidRequest'
    }
    const attributes = { system: {}, user: {}, storageClass: 'STANDARD', lock: asked }
    const { code, result } = await outcome(() =>
      objects.putObject({
        bucket,
        key: s.key,
        attributes,
        body: payload(body),
        checksumAlgorithm: undefined,
        conditions,
      }),
    )
    assert.equal(code, expected)
    if (code !== 'ok') return
    this.checkId(result!.versionId)
    model.add(s.key, result!.versionId, { body, etag: md5(body), tags: noTags, lock: this.lockOfNew(asked) })
  }

  async copy(from: string, to: string, which: number | string): Promise<void> {
    const { bucket, model } = this
    const id = this.idOf(from, which)
    const version = model.find(from, id)
    const found = await outcome(() => objects.getObject(bucket, from, id))
    assert.equal(found.code, version !== undefined ? 'ok' : id === undefined ? 'NoSuchKey' : 'NoSuchVersion')
    if (version?.body === undefined) return
    const source = found.result!
    const { lock: _, ...attributes } = source
    const request = { source, bucket, key: to, attributes, checksumAlgorithm: undefined }
    const copied = await objects.copyObject(request)
    this.checkId(copied.versionId)
    const { body, tags } = version
    // A copy of an upload's object is one object.
    model.add(to, copied.versionId, { body, etag: md5(body), tags, lock: this.lockOfNew(undefined) })
  }

  async delete(key: string, condition: number): Promise<void> {
    const { bucket, model } = this
    const current = model.current(key)
    const conditions = [undefined, { ifMatch: '*' }, { ifMatch: 'other' }][condition]
    const { code, result } = await outcome(() => objects.deleteObject(bucket, key, undefined, conditions))
    if (condition === 2 && current !== undefined) {
      assert.equal(code, 'PreconditionFailed')
      return
    }
    assert.equal(code, 'ok')
    assert.equal(result!.existed, current !== undefined)
    const isMade = model.versioning !== 'off' && (conditions === undefined || current !== undefined)
    assert.equal(result!.isDeleteMarker, isMade)
    if (isMade) {
      this.checkId(result!.versionId)
      model.add(key, result!.versionId, { body: undefined, etag: '', tags: noTags, lock: unlocked })
    } else if (model.versioning === 'off') model.remove(key, 'null')
  }

  async change(
    key: string,
    which: number | string,
    change: Parameters<typeof objects.changeVersion>[3],
    apply: (version: ModelVersion) => void,
    lockCode: (version: ModelVersion) => string = () => 'ok',
  ): Promise<void> {
    const id = this.idOf(key, which)
    const version = this.model.find(key, id)
    const isOfLock = change.tags === undefined
    let expected = 'ok'
    if (version === undefined) expected = id === undefined ? 'NoSuchKey' : 'NoSuchVersion'
    else if (version.body === undefined) expected = 'MethodNotAllowed'
    else if (isOfLock && this.model.objectLock === undefined) expected = 'InvalidRequest'
    else expected = lockCode(version)
    const before = version === undefined ? undefined : await objects.getObject(this.bucket, key, version.id)
    const { code, result } = await outcome(() => objects.changeVersion(this.bucket, key, id, change))
    assert.equal(code, expected)
    if (code !== 'ok') return
    assert.equal(result, version!.id)
    apply(version!)
    const after = await objects.getObject(this.bucket, key, version!.id)
    assert.equal(after.modifiedMs, before!.modifiedMs)
    assert.equal(after.etag, before!.etag)
  }

  checkId(id: string | undefined): void {
    const { versioning } = this.model
    if (versioning === 'off') assert.equal(id, undefined)
    else if (versioning === 'suspended') assert.equal(id, 'null')
    else {
      assert.match(id!, /^[A-Za-z0-9._-]{1,32}$/)
      assert.notEqual(id, 'null')
    }
  }

  async compareListings(maxKeys: number, delimiter: string): Promise<void> {
    const { bucket, model } = this
    const seen: string[] = []
    const prefixes: string[] = []
    let markers = { keyMarker: '', versionIdMarker: '' }
    for (let pages = 0; ; pages++) {
      assert.ok(pages < 500, 'a listing terminates')
      const page = await objects.listVersions({ bucket, prefix: '', delimiter, ...markers, maxKeys })
      assert.ok(page.versions.length + page.prefixes.length <= maxKeys)
      seen.push(...page.versions.map(describe))
      prefixes.push(...page.prefixes)
      if (!page.isTruncated) break
      markers = { keyMarker: page.nextKeyMarker, versionIdMarker: page.nextVersionIdMarker }
    }
    const isFolded = (key: string) => delimiter !== '' && key.includes(delimiter)
    const all = model.all()
    assert.deepEqual(
      seen,
      all
        .filter(({ key }) => !isFolded(key))
        .map(({ key, version, isLatest }) =>
          describe({ key, versionId: version.id, isLatest, isDeleteMarker: version.body === undefined }),
        ),
    )
    assert.deepEqual(prefixes, all.some(({ key }) => isFolded(key)) ? ['a/'] : [])
    const page = await objects.listObjects({ bucket, prefix: '', delimiter, startAfter: '', maxKeys: 1000 })
    const current = all.filter(({ version, isLatest }) => isLatest && version.body !== undefined)
    assert.deepEqual(
      page.objects.map(object => object.key),
      current.filter(({ key }) => !isFolded(key)).map(({ key }) => key),
    )
    assert.deepEqual(page.prefixes, current.some(({ key }) => isFolded(key)) ? ['a/'] : [])
  }

  /** Compares everything visible. */
  async compareAll(): Promise<void> {
    const { bucket, model } = this
    for (const { key, version } of model.all()) {
      const stored = await objects.getObject(bucket, key, version.id)
      assert.equal(stored.versionId, version.id)
      assert.equal(stored.isDeleteMarker, version.body === undefined)
      assert.deepEqual([...(stored.tags ?? noTags)], [...version.tags], 'in their order')
      assert.equal(stored.lock?.legalHold ?? false, version.lock.legalHold)
      assert.equal(stored.lock?.retention?.mode, version.lock.retention?.mode)
      const until = [stored.lock?.retention?.retainUntilMs ?? 0, version.lock.retention?.retainUntilMs ?? 0]
      assert.ok(Math.abs(until[0]! - until[1]!) < 60_000, `retained until ${until}`)
      if (version.body === undefined) continue
      assert.equal(stored.etag, version.etag)
      assert.ok((await collect(await objects.read(stored, 0, stored.sizeBytes))).equals(version.body), 'the bytes')
    }
    for (const key of keys) {
      const { code, result } = await outcome(() => objects.getObject(bucket, key))
      assert.equal(code === 'ok' ? result!.versionId : undefined, model.versions(key)[0]?.id)
    }
    await this.compareListings(1000, '')
    assert.deepEqual(await objects.usage(bucket), model.usage())
    const prefix = Buffer.concat([counterKey(bucket), Buffer.from('\0a/')])
    assert.deepEqual(decodeUsage(await storage.counter(prefix)), model.usage('a/'))
    const { code } = await outcome(() => objects.deleteBucket(bucket))
    assert.equal(code, model.all().length === 0 ? 'ok' : 'BucketNotEmpty')
  }
}

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

function describe(version: Pick<VersionSummary, 'key' | 'versionId' | 'isLatest' | 'isDeleteMarker'>): string {
  const { key, versionId, isLatest, isDeleteMarker } = version
  return [key, versionId, isLatest ? 'latest' : '', isDeleteMarker ? 'marker' : ''].join(' ')
}

t.test('any history of versions and locks has the same result as in a simple model', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
        fc.constantFrom('off', 'enabled', 'lock'),
        async (steps, beginning) => {
          const history = new History()
          const { bucket, model } = history
          await objects.createBucket(bucket, { region: 'us-east-1', owner, objectLock: beginning === 'lock' })
          if (beginning === 'lock') model.objectLock = {}
          if (beginning === 'enabled') await objects.changeBucket(bucket, { versioning: 'enabled' })
          if (beginning !== 'off') model.versioning = 'enabled'
          for (const step of steps) await history.run(step)
          await history.compareAll()
        },
      ),
      { numRuns: runCount, seed },
    ),
  )
})

async function versionedBucket(name: string): Promise<string> {
  await objects.createBucket(name, { region: 'us-east-1', owner })
  await objects.changeBucket(name, { versioning: 'enabled' })
  return name
}

const put = (bucket: string, key: string, text: string) =>
  objects.putObject({
    bucket,
    key,
    attributes: { system: {}, user: {}, storageClass: 'STANDARD' },
    body: payload(Buffer.from(text)),
    checksumAlgorithm: undefined,
  })

t.test('a version is found while it moves between places', async t => {
  const bucket = await versionedBucket('moving')
  const { versionId } = await put(bucket, 'k', 'first')
  let isOver = false
  const writer = async () => {
    for (let i = 0; i < 200; i++) {
      const { versionId: later } = await put(bucket, 'k', `later ${i}`)
      await objects.deleteObject(bucket, 'k', later)
    }
    isOver = true
  }
  let reads = 0
  const reader = async () => {
    for (; !isOver; reads++) {
      const version = await objects.getObject(bucket, 'k', versionId)
      assert.equal((await collect(await objects.read(version, 0, version.sizeBytes))).toString(), 'first')
      await setImmediate()
    }
  }
  await Promise.all([writer(), reader(), reader()])
  t.ok(reads > 10, `${reads} reads`)
})

t.test('a listing seeks past older versions, however many there are', async t => {
  const bucket = await versionedBucket('many')
  await put(bucket, 'a', '')
  for (let i = 0; i < 2000; i += 50)
    await Promise.all(Array.from({ length: 50 }, (_, j) => put(bucket, 'b', `${i + j}`)))
  await put(bucket, 'c', '')
  await objects.deleteObject(bucket, 'b')
  let moves = 0
  const counting = {
    ...storage,
    scan: <T>(start: Buffer, end: Buffer, visit: (cursor: Cursor) => T) =>
      storage.scan(start, end, cursor =>
        visit({
          get key() {
            return cursor.key
          },
          get value() {
            return cursor.value
          },
          get body() {
            return cursor.body
          },
          next() {
            moves++
            return cursor.next()
          },
          seek(key) {
            moves++
            return cursor.seek(key)
          },
        }),
      ),
  }
  const page = await listObjects(counting, { bucket, prefix: '', delimiter: '', startAfter: '', maxKeys: 1000 })
  t.same(
    page.objects.map(({ key }) => key),
    ['a', 'c'],
  )
  t.ok(moves < 15, `${moves} moves over 2004 records`)
})

t.test('a bulk delete equals as many single deletes', async t => {
  const bucket = await versionedBucket('together')
  const names = Array.from({ length: 300 }, (_, index) => `k${String(index).padStart(3, '0')}`)
  const put1 = await Promise.all(names.map(name => put(bucket, name, name)))
  const outcomes = await objects.deleteObjects(bucket, [
    ...names.map(key => ({ key })),
    { key: 'k000' },
    { key: 'k000', versionId: put1[0]!.versionId },
    { key: 'k001', versionId: 'no id at all' },
    { key: 'k002', versionId: put1[2]!.versionId, conditions: { ifMatch: 'another' } },
    { key: 'not there' },
  ])
  t.equal(outcomes.length, 305)
  const made = outcomes.slice(0, 301).map(outcome => ('failed' in outcome ? undefined : outcome.versionId))
  t.ok(outcomes.slice(0, 301).every(outcome => 'isDeleteMarker' in outcome && outcome.isDeleteMarker))
  t.not(made[0], made[300], 'a key named twice gets two delete markers')
  t.match(outcomes.slice(301), [
    { existed: true, versionId: put1[0]!.versionId, isDeleteMarker: false },
    { failed: { code: 'InvalidArgument' } },
    { failed: { code: 'PreconditionFailed' } },
    { isDeleteMarker: true },
  ])
  const { versions } = await objects.listVersions({
    bucket,
    prefix: '',
    delimiter: '',
    keyMarker: '',
    versionIdMarker: '',
    maxKeys: 1000,
  })
  t.equal(versions.filter(({ isDeleteMarker }) => isDeleteMarker).length, 302)
  t.equal(versions.filter(({ isDeleteMarker }) => !isDeleteMarker).length, 299)
  t.equal(new Set(versions.map(({ key, versionId }) => `${key} ${versionId}`)).size, 601, 'no id occurs twice')
  const usage = decodeUsage(await storage.counter(counterKey(bucket)))
  t.match(usage, { versions: 299, deleteMarkers: 302 })
})
