/** Lifecycle rules over the Admin API: the rules of S3, with ETags, and with all problems at once. */
import { startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import { createSystemPorts } from 'svc/testing'
import t from 'tap'
import { pauseMs } from '../worker.ts'
import { untilNoonMs } from './start.ts'

/** No midnight passes during the tests. */
const system = createSystemPorts().clock
const aheadMs = untilNoonMs(system.now())
const now = () => system.now() + aheadMs
/** Rules are applied on demand alone: a test that takes longer than the worker's pause would find them applied. */
const after: typeof system.after = (ms, call) => (ms === pauseMs ? () => undefined : system.after(ms, call))

const actions = ['s3:PutLifecycleConfiguration', 's3:ListBucketVersions', 's3:GetObjectTagging']
const allow = (count: number) => [
  { Effect: 'Allow', Action: actions.slice(0, count), Resource: ['arn:aws:s3:::aging', 'arn:aws:s3:::aging/*'] },
]
const server = await startAdmin({
  ports: { clock: { ...system, now, after } },
  without: ['users'],
  plugins: [testUsers({ 'may-put': allow(1), 'may-list': allow(2), 'may-read-tags': allow(3) })],
})
t.teardown(() => server.stop())
const { signed } = server
const { lifecycle, objects } = server.kernel.services
const path = '/api/v1/buckets/aging/lifecycle'
const put = (rules: readonly object[], headers: Record<string, string> = {}) =>
  signed({ method: 'PUT', path, body: { rules }, headers })

t.test('rules are those of S3, and change only if the ETag matches', async t => {
  t.equal((await signed({ path })).json.code, 'bucket_not_found')
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'aging' } })
  const none = await signed({ path })
  t.same(none.json, { rules: [] })
  const whileEmpty = { 'if-match': String(none.headers.etag) }
  t.match(whileEmpty['if-match'], /^"[0-9a-f]{32}"$/)
  const rules = [
    {
      id: 'a',
      enabled: true,
      filter: { prefix: 'x/', tags: { k: 'v' }, sizeGreaterThan: 1, sizeLessThan: 9 },
      expiration: { days: 3 },
      noncurrentExpiration: { noncurrentDays: 1, newerNoncurrentVersions: 2 },
    },
    { id: 'b', enabled: false, filter: { prefix: '' }, expiration: { date: '2031-01-01T00:00:00.000Z' } },
    { id: 'c', enabled: true, filter: { prefix: '', tags: { k: 'v' } }, expiration: { days: 1 } },
  ]
  const first = await put(rules, whileEmpty)
  t.same([first.status, first.json], [200, { rules }])
  t.match(first.headers.etag, /^"[0-9a-f]{32}"$/)
  const read = await signed({ path })
  t.same([read.json, read.headers.etag], [{ rules }, first.headers.etag])
  const stored = (await lifecycle.configuration('aging')).rules
  t.same(stored[1]!.filter, { prefix: '' }, 'one predicate stands for itself')
  t.same(stored[2]!.filter, { and: { prefix: '', tags: [{ key: 'k', value: 'v' }] } })

  const abort = { enabled: true, abortIncompleteUpload: { daysAfterInitiation: 7 } }
  t.equal((await put([abort], { 'if-match': '"0"' })).json.code, 'precondition_failed')
  t.equal((await put([abort], whileEmpty)).json.code, 'precondition_failed')
  const second = await put([abort], { 'if-match': String(first.headers.etag) })
  t.match(second.json.rules, [{ id: /^[0-9a-f]{32}$/, filter: { prefix: '' } }])
  t.same((await put([])).json, { rules: [] })
  t.equal((await signed({ path })).headers.etag, none.headers.etag)
})

t.test('all problems are reported, by rule', async t => {
  const fine = { id: 'fine', enabled: true, expiration: { days: 1 } }
  const transitions = [{ days: 1, storageClass: 'GLACIER' }]
  const answer = await put([fine, { ...fine, transitions }, { enabled: true }])
  t.equal(`${answer.status} ${answer.json.code}`, '400 invalid_configuration')
  t.match(answer.json.ruleErrors, [
    { rule: 1, id: 'fine', code: 'NotImplemented' },
    { rule: 1, id: 'fine', code: 'InvalidArgument', message: /unique/ },
    { rule: 2, code: 'InvalidRequest', message: /action/ },
  ])
  t.same((await signed({ path })).json, { rules: [] }, 'nothing was stored')
})

t.test('each problem names the field of its rule', async t => {
  const fields = async (rule: object) => {
    const { json } = await put([{ enabled: true, ...rule }])
    return (json.ruleErrors ?? json.errors).map(({ field }: { field?: string }) => field)
  }
  const expiration = { days: 1 }
  t.same(await fields({ id: 'x'.repeat(300), expiration: { days: 0 } }), ['id', 'expiration.days'])
  t.same(await fields({ expiration: { days: 1, date: '2030-01-01T00:00:00Z' } }), ['expiration.date'])
  t.same(await fields({ expiration: { days: 1, expiredObjectDeleteMarker: true } }), [
    'expiration.expiredObjectDeleteMarker',
  ])
  t.same(await fields({ noncurrentExpiration: { noncurrentDays: 0, newerNoncurrentVersions: 101 } }), [
    'noncurrentExpiration.noncurrentDays',
    'noncurrentExpiration.newerNoncurrentVersions',
  ])
  t.same(await fields({ filter: { sizeGreaterThan: 9, sizeLessThan: 9, prefix: 'x'.repeat(1025) }, expiration }), [
    'filter.prefix',
    'filter.sizeLessThan',
  ])
  t.same(await fields({ filter: { tags: { [`${'k'.repeat(200)}`]: 'v' } }, expiration }), [
    `filter.tags.${'k'.repeat(200)}`,
  ])
  const abortIncompleteUpload = { daysAfterInitiation: 2 ** 31 }
  t.same(await fields({ abortIncompleteUpload }), ['abortIncompleteUpload.daysAfterInitiation'])
  const large = await put([{ enabled: true, abortIncompleteUpload }])
  t.match(large.json.detail, /positive integer, at most 2147483647/)
  t.same(await fields({}), ['expiration'], 'a rule that does nothing')
})

t.test('a dry run checks and stores nothing', async t => {
  const dry = (rules: readonly object[], headers?: Record<string, string>) =>
    signed({ method: 'PUT', path: `${path}?dryRun=true`, body: { rules }, ...(headers && { headers }) })
  const rule = { enabled: true, expiration: { days: 1 } }
  t.match(await dry([rule]), { status: 200, json: { rules: [{ enabled: true, expiration: { days: 1 } }] } })
  t.equal((await dry([{ ...rule, expiration: { days: 0 } }])).json.code, 'invalid_configuration')
  t.equal((await dry([rule], { 'if-match': '"0"' })).json.code, 'precondition_failed')
  t.same((await signed({ path })).json, { rules: [] })
})

t.test('a prefix in decomposed Unicode means the same keys, and stays as it was put', async t => {
  const bucket = 'names'
  const own = `/api/v1/buckets/${bucket}`
  const [composed, decomposed] = ['NFC', 'NFD'].map(form => 'über/'.normalize(form))
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: bucket } })
  for (const key of [`${composed}a`, 'other'])
    await signed({ method: 'POST', path: `${own}/objects/upload?key=${encodeURIComponent(key)}`, body: 'x' })
  const rules = [{ id: 'r', enabled: true, filter: { prefix: decomposed }, expiration: { days: 1 } }]
  const run = (body: object) => signed({ method: 'POST', path: `${own}/lifecycle/run`, body })
  const at = new Date(now() + 3 * 86_400_000).toISOString()
  t.match((await run({ dryRun: true, at, draft: { rules } })).json, { deleted: 1 }, 'a draft')
  t.same((await signed({ method: 'PUT', path: `${own}/lifecycle`, body: { rules } })).json, { rules })
  t.match((await run({ dryRun: true, at })).json, { deleted: 1 }, 'what is stored')
  const version = { key: `${composed}a`, modifiedMs: now(), sizeBytes: 1 }
  t.match(await lifecycle.expirationOf({ ...version, bucket } as never), { ruleId: 'r' })
})

t.test('what a rule deletes first and removes as an old version later is gone in the end', async t => {
  const own = '/api/v1/buckets/chained'
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'chained', versioning: true } })
  await signed({ method: 'POST', path: `${own}/objects/upload?key=a`, body: 'x' })
  const after = async (days: number, rules: readonly object[]) => {
    const at = new Date(now() + days * 86_400_000).toISOString()
    const body = { dryRun: true, at, draft: { rules } }
    const { json } = await signed({ method: 'POST', path: `${own}/lifecycle/run`, body })
    return [json.deleted, json.deleteMarkers]
  }
  const today = `${new Date(now()).toISOString().slice(0, 10)}T00:00:00.000Z`
  const old = { enabled: true, noncurrentExpiration: { noncurrentDays: 1 } }
  for (const [first, expiration] of [
    [2, { days: 1 }],
    [1, { date: today }],
  ] as const) {
    for (const rules of [[{ ...old, expiration }], [{ enabled: true, expiration }, old]]) {
      t.same(await after(first - 1, rules), [0, 0])
      t.same(await after(first, rules), [0, 1], 'an old version')
      t.same(await after(first + 1, rules), [0, 1])
      t.same(await after(first + 2, rules), [1, 0], 'gone for good')
      t.same(await after(3000, rules), [1, 0])
    }
    const kept = { enabled: true, noncurrentExpiration: { noncurrentDays: 1, newerNoncurrentVersions: 1 } }
    t.same(await after(3000, [{ ...kept, expiration }]), [0, 1], 'the last of the old versions is kept')
  }
  // A delete marker goes with the last version below it.
  await signed({ method: 'DELETE', path: `${own}/objects`, body: { objects: [{ key: 'a' }] } })
  const lonely = { enabled: true, expiration: { expiredObjectDeleteMarker: true } }
  t.same(await after(1, [lonely, old]), [0, 0])
  t.same(await after(2, [lonely, old]), [2, 0])
  t.same(await after(2, [old]), [1, 0])
})

t.test('a dry run of rules with tags needs the right to read tags, also where the rules are stored', async t => {
  const rule = { id: 'r', enabled: true, expiration: { days: 1 }, filter: { prefix: '', tags: { project: 'zeus' } } }
  const dryRun = async (user: string) =>
    (await server.signedBy(user, userSecret)({ method: 'POST', path: `${path}/run`, body: { dryRun: true } })).status
  await put([rule])
  t.equal(await dryRun('may-list'), 403)
  t.equal(await dryRun('may-read-tags'), 200)
  await put([{ ...rule, enabled: false }])
  t.equal(await dryRun('may-list'), 200, 'nothing is counted by it')
  await put([])
})

t.test('rules are applied on demand', async t => {
  const run = () => signed({ method: 'POST', path: `${path}/run` })
  const nothing = { buckets: 0, versions: 0, deleted: 0, deleteMarkers: 0, replaced: 0, uploadsAborted: 0, locked: 0 }
  t.same((await run()).json, nothing, 'a bucket without rules is left as it is')
  await objects.changeBucket('aging', { versioning: 'enabled' })
  // A delete marker that is the only version is due at once.
  await objects.deleteObject('aging', 'gone')
  await lifecycle.replace('aging', [
    { id: 'm', enabled: true, prefix: '', expiration: { expiredObjectDeleteMarker: true } },
  ])
  const dry = await signed({ method: 'POST', path: `${path}/run`, body: { dryRun: true } })
  t.match(dry, { status: 200, json: { ...nothing, buckets: 1, versions: 1, deleted: 1 } })
  t.equal((await objects.usage('aging')).deleteMarkers, 1, 'a dry run deletes nothing')
  const draft = { rules: [] as object[] }
  const trial = (rules: readonly object[], more: object = { dryRun: true }) =>
    signed({ method: 'POST', path: `${path}/run`, body: { ...more, draft: { ...draft, rules } } })
  const stored = (await signed({ path })).json
  const { dueIndex } = await objects.getBucket('aging')
  t.same((await trial([])).json, nothing, 'rules that are not stored count, the stored ones do not')
  const marker = { enabled: true, expiration: { expiredObjectDeleteMarker: true } }
  t.match((await trial([marker])).json, { buckets: 1, versions: 1, deleted: 1 })
  t.same((await trial([{ ...marker, filter: { prefix: 'other/' } }])).json, { ...nothing, buckets: 1 })
  const old = { enabled: true, expiration: { days: 1 }, abortIncompleteUpload: { daysAfterInitiation: 1 } }
  t.same((await trial([old])).json, { ...nothing, buckets: 1 }, 'nothing is old enough')
  await signed({ method: 'POST', path: '/api/v1/buckets/aging/objects/upload?key=young', body: 'x' })
  const at = (days: number) => new Date(now() + days * 86_400_000).toISOString()
  t.match((await trial([old], { dryRun: true, at: at(0) })).json, { deleteMarkers: 0 })
  t.match((await trial([old], { dryRun: true, at: at(2) })).json, { deleteMarkers: 1 }, 'it is two days later')
  const byDate = { enabled: true, expiration: { date: `${at(-2).slice(0, 10)}T00:00:00.000Z` } }
  t.match((await trial([byDate])).json, { deleteMarkers: 0 }, 'what was written today is due at midnight')
  t.match((await trial([byDate], { dryRun: true, at: at(1) })).json, { deleteMarkers: 1 })
  for (const noTime of ['soon', '2030-12-31T23:59:60Z'])
    t.equal((await trial([], { dryRun: true, at: noTime })).status, 400)
  const late = await signed({ method: 'POST', path: `${path}/run`, body: { at: at(1) } })
  t.equal(late.json.code, 'invalid_argument', 'a run is done now')
  // Counts of rules that nobody has stored would tell which keys there are, letter by letter.
  for (const [user, expected] of [
    ['may-put', '403 403'],
    ['may-list', '200 403'],
    ['may-read-tags', '200 200'],
  ] as const) {
    const call = server.signedBy(user, userSecret)
    const statuses = await Promise.all(
      [{ prefix: 'y' }, { tags: { project: 'zeus' } }].map(async filter => {
        const body = { dryRun: true, draft: { rules: [{ enabled: true, expiration: { days: 1 }, filter }] } }
        return (await call({ method: 'POST', path: `${path}/run`, body })).status
      }),
    )
    t.equal(statuses.join(' '), expected, user)
  }
  const wrong = await trial([{ enabled: true }])
  t.match(wrong.json, { code: 'invalid_configuration', ruleErrors: [{ rule: 0, message: /action/ }] })
  t.equal((await trial([marker], {})).json.code, 'invalid_argument', 'a draft is not applied')
  t.same((await signed({ path })).json, stored)
  t.same((await objects.getBucket('aging')).dueIndex, dueIndex)
  t.equal((await objects.usage('aging')).deleteMarkers, 1)
  const sums = { ...nothing }
  for (let tries = 0; tries < 100 && sums.deleted === 0 && (await objects.usage('aging')).deleteMarkers > 0; tries++) {
    const { status, json } = await run()
    t.ok(status === 200 || json.code === 'conflict')
    if (status === 200) Object.assign(sums, json)
  }
  t.equal((await objects.usage('aging')).deleteMarkers, 0)
  t.equal(
    (await signed({ method: 'POST', path: '/api/v1/buckets/missing/lifecycle/run' })).json.code,
    'bucket_not_found',
  )
})
