import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketLifecycleCommand,
  GetBucketLifecycleConfigurationCommand,
  HeadObjectCommand,
  type LifecycleRule,
  ListPartsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { outcome } from 'svc/plugins/s3/testing'
import { eventually } from 'svc/testing'
import t from 'tap'
import { readyRules } from '../ready-rules.ts'
import { dayMs, startLifecycle } from './start.ts'

const server = await startLifecycle()
t.teardown(() => server.stop())
const { client } = server
const { objects, lifecycle } = server.kernel.services

let bucketCount = 0
async function newBucket(): Promise<string> {
  const Bucket = `lifecycle-${++bucketCount}`
  await client.send(new CreateBucketCommand({ Bucket }))
  return Bucket
}
const put = (Bucket: string, ...Rules: object[]) =>
  outcome(
    client.send(
      new PutBucketLifecycleConfigurationCommand({
        Bucket,
        LifecycleConfiguration: { Rules: Rules as LifecycleRule[] },
      }),
    ),
  )
const read = async (Bucket: string) => (await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules
const putXml = async (Bucket: string, rules: string, headers: Record<string, string> = {}) => {
  const body = `<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${rules}</LifecycleConfiguration>`
  const answer = await server.signed({ method: 'PUT', path: `/${Bucket}`, query: 'lifecycle=', body, headers })
  const code = /<Code>(\w+)</.exec(await answer.text())?.[1]
  return { outcome: code === undefined ? 'ok' : `${answer.status} ${code}`, headers: answer.headers }
}
const expire = { Expiration: { Days: 1 } }
const base = { ID: 'r', Status: 'Enabled', Filter: { Prefix: '' } }

t.test('a configuration is put, returned as it was put, replaced and deleted', async t => {
  const Bucket = await newBucket()
  t.equal(await outcome(read(Bucket)), '404 NoSuchLifecycleConfiguration')
  const rules = [
    { ID: 'old form', Status: 'Enabled', Prefix: 'old/', Expiration: { Days: 3 } },
    { ID: 'no filter', Status: 'Disabled', Filter: {}, Expiration: { ExpiredObjectDeleteMarker: true } },
    {
      ID: 'prefix',
      Status: 'Enabled',
      Filter: { Prefix: 'a b/é\u{1f600}' },
      Expiration: { Date: new Date('2031-05-01') },
    },
    { ID: 'tag', Status: 'Enabled', Filter: { Tag: { Key: 'k', Value: '' } }, Expiration: { Days: 4 } },
    {
      ID: 'greater',
      Status: 'Enabled',
      Filter: { ObjectSizeGreaterThan: 0 },
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
    },
    { ID: 'less', Status: 'Enabled', Filter: { ObjectSizeLessThan: 500 }, Expiration: { Days: 2 ** 31 - 1 } },
    {
      ID: 'and',
      Status: 'Enabled',
      Filter: {
        And: {
          Prefix: '',
          Tags: [
            { Key: 'b', Value: '1' },
            { Key: 'a', Value: '2' },
          ],
          ObjectSizeGreaterThan: 5,
          ObjectSizeLessThan: 10,
        },
      },
      Expiration: { Days: 1 },
      NoncurrentVersionExpiration: { NoncurrentDays: 7, NewerNoncurrentVersions: 100 },
    },
    {
      ID: 'abort',
      Status: 'Enabled',
      Filter: { Prefix: '' },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
    },
  ]
  t.equal(await put(Bucket, ...rules), 'ok')
  t.same(await read(Bucket), rules)
  t.equal(await put(Bucket, { ...base, ...expire }), 'ok')
  t.same(await read(Bucket), [{ ...base, ...expire }], 'the new ones replace all others')
  t.equal(await outcome(client.send(new DeleteBucketLifecycleCommand({ Bucket }))), 'ok')
  t.equal(await outcome(read(Bucket)), '404 NoSuchLifecycleConfiguration')
  t.equal(await outcome(client.send(new DeleteBucketLifecycleCommand({ Bucket }))), 'ok', 'also where there is none')
  t.equal(await put('lifecycle-nowhere', { ...base, ...expire }), '404 NoSuchBucket')
})

t.test('rules without an id get different ones', async t => {
  const Bucket = await newBucket()
  const { ID: _, ...unnamed } = base
  t.equal(await put(Bucket, { ...unnamed, ...expire }, { ...unnamed, ...expire }), 'ok')
  const ids = (await read(Bucket))!.map(rule => rule.ID!)
  t.ok(ids.every(id => /^[0-9a-f]{32}$/.test(id)))
  t.not(ids[0], ids[1])
})

t.test('rules that AWS refuses are refused, and nothing is stored', async t => {
  const Bucket = await newBucket()
  const days = (Days: unknown, more: object = {}) => ({ ...base, Expiration: { Days, ...more } })
  const noncurrent = (rule: object) => ({ ...base, NoncurrentVersionExpiration: rule })
  const filter = (Filter: object, more: object = expire) => ({ ...base, Filter, ...more })
  const tag = { Key: 'k', Value: 'v' }
  const abort = { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } }
  const marker = { Expiration: { ExpiredObjectDeleteMarker: true } }
  const date = (text: string) => ({ ...base, Expiration: { Date: new Date(text) } })
  for (const [rule, expected] of [
    [{ ...base, ID: 'x'.repeat(256), ...expire }, '400 InvalidArgument'],
    [{ ...base, Status: 'enabled', ...expire }, '400 MalformedXML'],
    [base, '400 InvalidRequest'],
    [days(0), '400 InvalidArgument'],
    [days(-1), '400 InvalidArgument'],
    [days(2 ** 31), '400 InvalidArgument'],
    [{ ...base, Expiration: {} }, '400 MalformedXML'],
    [days(1, { Date: new Date('2031-01-01') }), '400 MalformedXML'],
    [days(1, { ExpiredObjectDeleteMarker: true }), '400 MalformedXML'],
    [date('2031-01-01T01:00:00Z'), '400 InvalidArgument'],
    [noncurrent({}), '400 MalformedXML'],
    [noncurrent({ NoncurrentDays: 0 }), '400 InvalidArgument'],
    [noncurrent({ NoncurrentDays: 1, NewerNoncurrentVersions: 0 }), '400 InvalidArgument'],
    [noncurrent({ NoncurrentDays: 1, NewerNoncurrentVersions: 101 }), '400 InvalidArgument'],
    [{ ...base, AbortIncompleteMultipartUpload: {} }, '400 MalformedXML'],
    [{ ...base, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 0 } }, '400 InvalidArgument'],
    [{ ID: 'r', Status: 'Enabled', ...expire }, '400 MalformedXML'],
    [{ ...base, Prefix: '', ...expire }, '400 MalformedXML'],
    [filter({ And: { Tags: [tag, tag] } }), '400 InvalidRequest'],
    [filter({ And: { ObjectSizeGreaterThan: 5, ObjectSizeLessThan: 5 } }), '400 InvalidRequest'],
    [filter({ ObjectSizeLessThan: 0 }), '400 InvalidRequest'],
    [filter({ Tag: tag }, abort), '400 InvalidRequest'],
    [filter({ ObjectSizeGreaterThan: 1 }, abort), '400 InvalidRequest'],
    [filter({ Tag: tag }, marker), '400 InvalidRequest'],
    [filter({ Prefix: 'x'.repeat(1025) }), '400 InvalidRequest'],
    [{ ...base, Transitions: [{ Days: 1, StorageClass: 'GLACIER' }] }, '501 NotImplemented'],
    [
      { ...base, ...expire, NoncurrentVersionTransitions: [{ NoncurrentDays: 1, StorageClass: 'GLACIER' }] },
      '501 NotImplemented',
    ],
  ] as const) {
    t.equal(await put(Bucket, rule), expected, JSON.stringify(rule).slice(0, 200))
  }
  t.equal(await put(Bucket, { ...base, ...expire }, { ...base, ...expire }), '400 InvalidArgument', 'one id twice')
  const many = Array.from({ length: 1001 }, (_, i) => ({ ...base, ID: String(i), ...expire }))
  t.equal(await put(Bucket, ...many), '400 MalformedXML')
  for (const rules of [
    '',
    '<Other/>',
    '<Rule><Status>Enabled</Status><Filter/><Expiration><Days>1</Days></Expiration><Action/></Rule>',
    '<Rule><Status>Enabled</Status><Filter/><Expiration><Days>1.5</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter><Prefix/><Tag><Key>a</Key><Value/></Tag></Filter><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter/><Filter/><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter><And/></Filter><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter/><Expiration><Date>soon</Date></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter><NotTag/></Filter><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter>logs/</Filter><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter>logs/<Tag><Key>a</Key><Value/></Tag></Filter><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><Status>Enabled</Status><Filter><Prefix><x/></Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>',
    '<Rule><ID>a&#0;</ID><Status>Enabled</Status><Filter><Prefix>logs/</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>',
  ]) {
    t.equal((await putXml(Bucket, rules)).outcome, '400 MalformedXML', rules)
  }
  t.equal(await outcome(read(Bucket)), '404 NoSuchLifecycleConfiguration')
  t.equal(await put(Bucket, ...many.slice(1)), 'ok', 'a thousand rules are allowed')
  t.equal((await read(Bucket))!.length, 1000)
})

t.test('the minimum size for transitions is stored and returned', async t => {
  const Bucket = await newBucket()
  const rule = '<Rule><ID>r</ID><Status>Enabled</Status><Filter/><Expiration><Days>1</Days></Expiration></Rule>'
  const header = 'x-amz-transition-default-minimum-object-size'
  const get = async () => (await server.signed({ method: 'GET', path: `/${Bucket}`, query: 'lifecycle=' })).headers
  t.equal((await putXml(Bucket, rule)).headers.get(header), 'all_storage_classes_128K')
  t.equal((await get()).get(header), 'all_storage_classes_128K')
  const other = await putXml(Bucket, rule, { [header]: 'varies_by_storage_class' })
  t.equal(other.headers.get(header), 'varies_by_storage_class')
  t.equal((await get()).get(header), 'varies_by_storage_class')
  t.equal((await putXml(Bucket, rule, { [header]: 'none' })).outcome, '400 InvalidArgument')
})

/** The scheduled worker may be applying the same rules: then a run by hand is refused, and comes after it. */
const runByHand = (bucket: string) =>
  eventually(
    () =>
      lifecycle.run(bucket).catch(error => {
        if (error.code !== 'conflict') throw error
      }),
    found => found !== undefined,
  )

t.test('answers to reads have the expiration of the object and its rule', async t => {
  const Bucket = await newBucket()
  const object = (Key: string, extra = {}) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'x', ...extra }))
  const head = async (Key: string) => (await client.send(new HeadObjectCommand({ Bucket, Key }))).Expiration
  await object('a')
  t.equal(await head('a'), undefined)
  t.equal(
    await put(
      Bucket,
      { ...base, ID: 'all', Expiration: { Days: 9 } },
      { ...base, ID: 'logs é', Filter: { Prefix: 'logs/' }, Expiration: { Days: 2 } },
      { ...base, ID: 'off', Status: 'Disabled', Expiration: { Days: 1 } },
      { ...base, ID: 'tagged', Filter: { Tag: { Key: 't', Value: '1' } }, Expiration: { Days: 1 } },
    ),
    'ok',
  )
  await object('logs/b')
  await object('tagged', { Tagging: 't=1' })
  const midnight = (days: number) => new Date((Math.floor(server.now() / dayMs) + days + 1) * dayMs).toUTCString()
  t.equal(await head('a'), `expiry-date="${midnight(9)}", rule-id="all"`)
  t.equal(await head('logs/b'), `expiry-date="${midnight(2)}", rule-id="logs%20%C3%A9"`)
  t.equal(await head('tagged'), `expiry-date="${midnight(1)}", rule-id="tagged"`)
  const [most, never] = [2 ** 31 - 1, 'expiry-date="Fri, 31 Dec 9999 00:00:00 GMT", rule-id="r"']
  const later = await newBucket()
  t.equal(await put(later, { ...base, Expiration: { Days: most } }), 'ok')
  const late = { Bucket: later, Key: 'late' }
  t.equal((await client.send(new PutObjectCommand({ ...late, Body: 'x' }))).Expiration, never)
  t.equal((await client.send(new HeadObjectCommand(late))).Expiration, never)
  t.match(await runByHand(later), { buckets: 1, deleted: 0 })
  t.equal(await put(later, { ...base, NoncurrentVersionExpiration: { NoncurrentDays: most } }), 'ok')
  t.match(await runByHand(later), { buckets: 1, deleted: 0 })
  const byId = await client.send(new HeadObjectCommand({ Bucket, Key: 'a', VersionId: 'null' }))
  t.equal(byId.Expiration, undefined, 'rules for newest versions say nothing of a version that is named')
  const upload = { bucket: Bucket, key: 'logs/c', startedMs: server.now() }
  t.equal(await lifecycle.abortionOf(upload), undefined)
  const abort = { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 3 } }
  t.equal(await put(Bucket, { ...base, ...abort }), 'ok')
  t.same(await lifecycle.abortionOf(upload), { ruleId: 'r', dueMs: Date.parse(midnight(3)) })
})

t.test('answers to writes have the expiration of the object, and the abort date of an upload', async t => {
  const Bucket = await newBucket()
  const abort = { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 3 } }
  const rules = [
    { ...base, ID: 'tagged é', Filter: { Tag: { Key: 't', Value: '1' } }, Expiration: { Days: 1 } },
    { ...base, ID: 'all', Filter: { Prefix: 'all/' }, Expiration: { Days: 2 } },
    { ...base, ID: 'parts é', Filter: { Prefix: 'all/' }, ...abort },
  ]
  const upload = async (Key: string, Tagging: string) => {
    const begun = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, Tagging }))
    const { UploadId } = begun
    const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'x' }))
    const listed = await client.send(new ListPartsCommand({ Bucket, Key, UploadId }))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    const done = await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
    const again = await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
    return { begun, listed, done, again }
  }
  const write = (Key: string, Tagging: string) =>
    client.send(new PutObjectCommand({ Bucket, Key, Body: 'x', Tagging })).then(answer => answer.Expiration)
  const CopySource = `${Bucket}/a`
  const copy = (extra: object) =>
    client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ...extra })).then(answer => answer.Expiration)
  t.equal(await write('a', 't=1'), undefined, 'without rules')
  t.same((await upload('all/u', '')).begun.AbortDate, undefined)

  t.equal(await put(Bucket, ...rules), 'ok')
  const midnight = (days: number) => new Date((Math.floor(server.now() / dayMs) + days + 1) * dayMs).toUTCString()
  const tagged = `expiry-date="${midnight(1)}", rule-id="tagged%20%C3%A9"`
  t.equal(await write('a', 't=1'), tagged, 'tags of the request count')
  t.equal(await write('a', 't=2'), undefined)
  t.equal(await write('all/a', 't=2'), `expiry-date="${midnight(2)}", rule-id="all"`)
  await write('a', 't=1')
  t.equal(await copy({}), tagged, 'tags that are taken over count')
  t.equal(await copy({ TaggingDirective: 'REPLACE', Tagging: 't=2' }), undefined)

  const { begun, listed, done, again } = await upload('all/u', 't=1')
  for (const { AbortDate, AbortRuleId } of [begun, listed]) {
    t.same([AbortDate!.toUTCString(), AbortRuleId], [midnight(3), 'parts%20%C3%A9'])
  }
  t.same([done.Expiration, again.Expiration], [tagged, tagged], 'tags of the upload count, in a repetition as well')
  t.same((await upload('u', '')).begun.AbortDate, undefined)

  const form = new FormData()
  form.set('key', 'all/form')
  form.set('file', new Blob(['x']))
  const Statement = [{ Effect: 'Allow', Principal: '*', Action: 's3:PutObject', Resource: `arn:aws:s3:::${Bucket}/*` }]
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement })
  await client.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  const posted = await fetch(`${server.endpoint}/${Bucket}`, { method: 'POST', body: form })
  t.same([posted.status, posted.headers.get('x-amz-expiration')], [204, `expiry-date="${midnight(2)}", rule-id="all"`])
})

t.test('days are counted from the next midnight', t => {
  const rules = readyRules([{ id: 'r', enabled: true, prefix: '', expiration: { days: 1 } }], key => key)
  const at = (text: string) => Date.parse(text)
  const due = (written: string, now: string) =>
    rules.ranges('current', at(now)).some(range => Math.floor(at(written) / dayMs) <= range.lastDay)
  t.notOk(due('2026-03-01T00:00:00.000Z', '2026-03-02T23:59:59.999Z'))
  t.ok(due('2026-03-01T00:00:00.000Z', '2026-03-03T00:00:00.000Z'))
  t.notOk(due('2026-03-01T23:59:59.999Z', '2026-03-02T23:59:59.999Z'))
  t.ok(due('2026-03-01T23:59:59.999Z', '2026-03-03T00:00:00.000Z'))
  t.end()
})

t.test('the worker applies existing and new rules by itself', async t => {
  const Bucket = await newBucket()
  const versions = async () => {
    const request = { bucket: Bucket, prefix: '', delimiter: '', keyMarker: '', versionIdMarker: '', maxKeys: 100 }
    return (await objects.listVersions(request)).versions.map(one => one.key)
  }
  const until = async (expected: readonly string[]) => {
    for (let tries = 0; tries < 1800 && (await versions()).join() !== expected.join(); tries++) {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    t.same(await versions(), expected)
  }
  for (const Key of ['a', 'keep/b']) await client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))
  const prefix = (text: string, days: number) => ({
    ID: text,
    Status: 'Enabled',
    Filter: { Prefix: text },
    Expiration: { Days: days },
  })
  t.equal(await put(Bucket, prefix('a', 1), prefix('late', 30), prefix('keep', 90)), 'ok')
  server.advanceDays(2)
  const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
  const none = { checksumAlgorithm: undefined, checksumType: undefined }
  await objects.createUpload({ bucket: Bucket, key: 'late', attributes, ...none })
  await until(['keep/b'])
  t.equal((await objects.getBucket(Bucket)).dueIndex?.isComplete, true)
  await lifecycle.replace(Bucket, [
    { id: 'now', enabled: true, prefix: 'keep', expiration: { days: 1 } },
    { id: 'abort', enabled: true, prefix: '', abortIncompleteUpload: { daysAfterInitiation: 1 } },
  ])
  await until([])
  t.equal((await objects.usage(Bucket)).uploads, 1, 'an upload of today stays')
  server.advanceDays(2)
  for (let tries = 0; tries < 1800 && (await objects.usage(Bucket)).uploads > 0; tries++) {
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.equal((await objects.usage(Bucket)).uploads, 0)
  await lifecycle.replace(Bucket, [])
  t.equal((await objects.getBucket(Bucket)).dueIndex, undefined)
  t.same(await lifecycle.run(Bucket), {
    buckets: 0,
    versions: 0,
    deleted: 0,
    deleteMarkers: 0,
    replaced: 0,
    uploadsAborted: 0,
    locked: 0,
  })
  await t.rejects(lifecycle.run('lifecycle-nowhere'), { code: 'NoSuchBucket' })
})
