/** The events that observers get, and that they are emitted in the commit of their change. */
import { definePlugin } from 'svc/kernel'
import type { Transaction } from 'svc/plugins/storage/api'
import t from 'tap'
import type { ChangeOrigin, ObjectEvent } from '../api.ts'
import { owner, payload, startObjects } from './start.ts'

const origin: ChangeOrigin = {
  principalId: 'alice',
  sourceAddress: '192.0.2.7',
  requestId: 'ABC',
  userAgent: 'agent\nwith a line',
}
const attributes = { system: { contentType: 'text/x' }, user: { a: '1' }, storageClass: 'STANDARD' }
const options = { region: 'us-east-1', owner }

/** Writes its events as records, as a plugin that stores events does. */
const start = Buffer.from('X')
const end = Buffer.from('Y')
const deaf = new Set<string>()
let refuse: string | undefined
const observer = definePlugin({
  name: 'test-observer',
  requires: ['objects'],
  setup({ contribute }) {
    contribute('object.observer', 'test', {
      wants: bucket => !deaf.has(bucket),
      observe(tx: Transaction, event: ObjectEvent) {
        const { name, bucket, key, versionId } = event
        const found = event.version()
        const version = found && {
          sizeBytes: found.sizeBytes,
          etag: found.etag,
          user: found.user,
          tags: [...(found.tags ?? [])],
        }
        const place = Buffer.from(`X${tx.sequence}/${String(toldInCommit(tx)).padStart(4, '0')}`)
        tx.put(place, Buffer.from(JSON.stringify({ name, bucket, key, versionId, version, origin: event.origin })))
        if (key === refuse) throw new Error('refused')
      },
    })
    return {}
  },
})
let last = { sequence: 0, count: 0 }
const toldInCommit = ({ sequence }: Transaction) => {
  last = last.sequence === sequence ? { sequence, count: last.count + 1 } : { sequence, count: 0 }
  return last.count
}

const server = await startObjects({ inMemory: true, plugins: [observer] })
const { objects, storage } = server
t.teardown(server.stop)

const put = (bucket: string, key: string, more: object = {}) =>
  objects.putObject({
    bucket,
    key,
    attributes,
    body: payload(Buffer.from('abc')),
    checksumAlgorithm: undefined,
    origin,
    ...more,
  })

/** Events since the last call, in order. */
let seen = 0
async function told() {
  const all = await storage.scan(start, end, cursor => {
    const found: {
      name: string
      key: string
      versionId?: string
      origin: ChangeOrigin
      version?: Record<string, unknown>
    }[] = []
    while (cursor.next()) found.push(JSON.parse(Buffer.from(cursor.value).toString()))
    return found
  })
  const recent = all.slice(seen)
  seen = all.length
  return recent
}
const brief = async () => (await told()).map(({ name, key, versionId }) => [name, key, versionId])

t.test('without versioning', async t => {
  await objects.createBucket('plain', options)
  await put('plain', 'a')
  const [created] = await told()
  t.match(created, { name: 'ObjectCreated:Put', key: 'a', origin, version: { sizeBytes: 3, user: { a: '1' } } })
  t.notOk('versionId' in created!)
  await put('plain', 'form', { cause: 'Post' })
  await objects.copyObject({
    source: await objects.getObject('plain', 'a'),
    bucket: 'plain',
    key: 'copy',
    attributes,
    checksumAlgorithm: undefined,
    origin,
  })
  const upload = await objects.createUpload({
    bucket: 'plain',
    key: 'parts',
    attributes,
    checksumAlgorithm: undefined,
    checksumType: undefined,
  })
  const part = await objects.putPart(upload, 1, payload(Buffer.from('part')))
  const { uploadId } = upload
  const parts = [{ partNumber: 1, etag: part.etag }]
  await objects.completeUpload({ bucket: 'plain', key: 'parts', uploadId, parts, origin })
  await objects.changeVersion('plain', 'a', undefined, { tags: new Map([['x', 'y']]) }, origin)
  await objects.changeVersion('plain', 'a', undefined, { tags: new Map() }, origin)
  const source = await objects.getObject('plain', 'copy')
  await objects.renameObject({ bucket: 'plain', sourceKey: 'copy', key: 'moved', source, clientToken: 'token', origin })
  // Repeating it changes nothing, so there is no event.
  await objects.renameObject({ bucket: 'plain', sourceKey: 'copy', key: 'moved', source, clientToken: 'token', origin })
  await objects.deleteObject('plain', 'a', undefined, undefined, { origin })
  await objects.deleteObject('plain', 'never', undefined, undefined, { origin })
  await objects.deleteObject('plain', 'form', 'null', undefined, { origin })
  await objects.deleteObjects('plain', [{ key: 'moved' }, { key: 'never' }, { key: 'parts' }], origin)
  const all = await told()
  t.same(
    all.map(({ name, key }) => [name, key]),
    [
      ['ObjectCreated:Post', 'form'],
      ['ObjectCreated:Copy', 'copy'],
      ['ObjectCreated:CompleteMultipartUpload', 'parts'],
      ['ObjectTagging:Put', 'a'],
      ['ObjectTagging:Delete', 'a'],
      ['ObjectCreated:Copy', 'moved'],
      ['ObjectRemoved:Delete', 'copy'],
      ['ObjectRemoved:Delete', 'a'],
      ['ObjectRemoved:Delete', 'form'],
      ['ObjectRemoved:Delete', 'moved'],
      ['ObjectRemoved:Delete', 'parts'],
    ],
  )
  t.ok(all.every(event => !('versionId' in event)))
  t.strictSame(
    all.map(event => event.origin),
    all.map(() => origin),
  )
  t.match(all[3]!.version, { tags: [['x', 'y']] })
  t.ok(all.filter(({ name }) => name.startsWith('ObjectRemoved')).every(({ version }) => version === undefined))
})

t.test('with versions and locks', async t => {
  await objects.createBucket('locked', { ...options, objectLock: true })
  const first = await put('locked', 'a')
  const second = await put('locked', 'a')
  const marker = await objects.deleteObject('locked', 'a', undefined, undefined, { origin })
  await objects.deleteObject('locked', 'a', marker.versionId, undefined, { origin })
  await objects.changeVersion('locked', 'a', first.versionId, { legalHold: true }, origin)
  await objects.changeVersion('locked', 'a', first.versionId, { legalHold: false }, origin)
  const retention = { mode: 'GOVERNANCE' as const, retainUntilMs: server.now() + 1000 }
  await objects.changeVersion('locked', 'a', first.versionId, { retention }, origin)
  await t.rejects(objects.deleteObject('locked', 'a', first.versionId, undefined, { origin }), { code: 'AccessDenied' })
  const outcomes = await objects.deleteObjects(
    'locked',
    [{ key: 'a', versionId: first.versionId! }, { key: 'b' }],
    origin,
  )
  t.match(outcomes[0], { failed: { code: 'AccessDenied' } })
  t.strictSame(await brief(), [
    ['ObjectCreated:Put', 'a', first.versionId],
    ['ObjectCreated:Put', 'a', second.versionId],
    ['ObjectRemoved:DeleteMarkerCreated', 'a', marker.versionId],
    ['ObjectRemoved:Delete', 'a', marker.versionId],
    ['ObjectLegalHold:Put', 'a', first.versionId],
    ['ObjectLegalHold:Put', 'a', first.versionId],
    ['ObjectRetention:Put', 'a', first.versionId],
    ['ObjectRemoved:DeleteMarkerCreated', 'b', (outcomes[1] as { versionId: string }).versionId],
  ])
})

t.test('expirations name the removed version, or the new delete marker', async t => {
  await objects.createBucket('old', options)
  await objects.changeBucket('old', { versioning: 'enabled', dueIndex: 'on' })
  const older = await put('old', 'a')
  const newer = await put('old', 'a')
  await told()
  const sequence = (versionId: string | undefined) => Number.parseInt(versionId!, 16)
  const outcomes = await objects.expire(
    'old',
    [
      { kind: 'noncurrent', key: 'a', sequence: sequence(older.versionId) },
      { kind: 'current', key: 'a', sequence: sequence(newer.versionId) },
      { kind: 'current', key: 'never', sequence: 1 },
    ],
    { ...origin, principalId: 's3.lifecycle' },
  )
  t.strictSame(outcomes, ['deleted', 'marked', 'changed'])
  const { versions } = await objects.listVersions({
    bucket: 'old',
    prefix: '',
    delimiter: '',
    keyMarker: '',
    versionIdMarker: '',
    maxKeys: 10,
  })
  const events = await told()
  t.match(events, [
    {
      name: 'LifecycleExpiration:Delete',
      key: 'a',
      versionId: older.versionId,
      origin: { principalId: 's3.lifecycle' },
    },
    { name: 'LifecycleExpiration:DeleteMarkerCreated', key: 'a', versionId: versions[0]!.versionId },
  ])
  t.equal(events.length, 2)
})

t.test('a rolled-back change has no event, and an observer that throws rolls back', async t => {
  await objects.createBucket('small', { ...options, quotaBytes: 5 })
  await put('small', 'a')
  await t.rejects(put('small', 'b'), { code: 'QuotaExceeded' })
  refuse = 'refused'
  await objects.changeBucket('small', { quotaBytes: 0 })
  await t.rejects(put('small', 'refused'), { message: 'refused' })
  await t.rejects(async () => objects.getObject('small', 'refused'), { code: 'NoSuchKey' })
  t.same(await brief(), [['ObjectCreated:Put', 'a', undefined]])
})

t.test(
  'buckets without interested observers have no events; a change by the server has the server as origin',
  async t => {
    await objects.createBucket('quiet', options)
    deaf.add('quiet')
    await put('quiet', 'a')
    deaf.delete('quiet')
    await put('quiet', 'b', { origin: undefined })
    t.match(await told(), [{ key: 'b', origin: { principalId: 'svc', sourceAddress: '', requestId: '' } }])
  },
)
