/** A server on a real drive stores data that needs a plugin, stops, and is started without the plugin. */
import { createHash } from 'node:crypto'
import { cp } from 'node:fs/promises'
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketPolicyCommand,
  PutBucketEncryptionCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import type { TestServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import type { StoredNeedsService } from '../api.ts'
import { firstNeeds } from '../first-needs.ts'
import { mergeNeeds, namedNeeds } from '../named-need.ts'
import { during, newDrive, standardWithout, start } from './start.ts'

const bucket = 'photos'
const policy = JSON.stringify({
  Version: '2012-10-17',
  Statement: { Effect: 'Deny', Principal: '*', Action: 's3:DeleteObject', Resource: `arn:aws:s3:::${bucket}/*` },
})
const customerKey = Buffer.alloc(32, 3)
const customerKeyHeaders = {
  SSECustomerAlgorithm: 'AES256',
  SSECustomerKey: customerKey.toString('base64'),
  SSECustomerKeyMD5: createHash('md5').update(customerKey).digest('base64'),
}

const putPolicy = ({ client }: TestServer) =>
  client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: policy }))

const storing: readonly {
  readonly what: string
  readonly plugin: string
  readonly reason: string
  /** In an existing bucket. */
  store(server: TestServer): Promise<unknown>
}[] = [
  { what: 'a bucket policy', plugin: 'bucket-policy', reason: 'has a policy', store: putPolicy },
  {
    what: 'a public access block',
    plugin: 'object-ownership',
    reason: 'has a public access block',
    store: ({ client }) =>
      client.send(
        new PutPublicAccessBlockCommand({
          Bucket: bucket,
          PublicAccessBlockConfiguration: { RestrictPublicBuckets: true },
        }),
      ),
  },
  {
    what: 'a default encryption',
    plugin: 'encryption',
    reason: 'has a default encryption',
    store: ({ client }) =>
      client.send(
        new PutBucketEncryptionCommand({
          Bucket: bucket,
          ServerSideEncryptionConfiguration: {
            Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
          },
        }),
      ),
  },
  {
    what: 'an object that is encrypted because its writer asked for it',
    plugin: 'encryption',
    reason: 'has encrypted objects',
    store: ({ client }) =>
      client.send(new PutObjectCommand({ Bucket: bucket, Key: 'a', Body: 'x', ServerSideEncryption: 'AES256' })),
  },
  {
    what: "an object under a customer's key",
    plugin: 'encryption',
    reason: 'has encrypted objects',
    store: ({ client }) =>
      client.send(new PutObjectCommand({ Bucket: bucket, Key: 'a', Body: 'x', ...customerKeyHeaders })),
  },
  {
    what: 'an encrypted upload that is not completed',
    plugin: 'encryption',
    reason: 'has encrypted objects',
    store: ({ client }) =>
      client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'a', ServerSideEncryption: 'AES256' })),
  },
  {
    what: 'a bucket with object lock',
    plugin: 'object-lock',
    reason: 'has object lock',
    store: async ({ kernel, client }) => {
      await kernel.services.objects.deleteBucket(bucket)
      await client.send(new CreateBucketCommand({ Bucket: bucket, ObjectLockEnabledForBucket: true }))
    },
  },
  {
    what: 'a quota',
    plugin: 'quota',
    reason: 'has a quota',
    store: ({ kernel }) => kernel.services.quota.set(bucket, 1_000_000),
  },
]

async function readiness({ endpoint }: TestServer): Promise<Record<string, string>> {
  const answer = await fetch(`${endpoint}/svc/health/ready`)
  return ((await answer.json()) as { checks: Record<string, string> }).checks
}

for (const { what, plugin, reason, store } of storing) {
  t.test(`${what}: without the plugin ${plugin} the start is refused`, async t => {
    const drive = await newDrive(t)
    await during(drive, {}, async server => {
      await server.client.send(new CreateBucketCommand({ Bucket: bucket }))
      await store(server)
    })
    const refusal = new RegExp(
      `^plugin "stored-needs": start: The plugin "${plugin}" is not loaded, but stored data needs it: the bucket "photos" ${reason}\\. ` +
        `Without it .+\\. Load the plugin, or name it in SVC_IGNORE_MISSING_PLUGINS to start without it\\.$`,
    )
    await t.rejects(start(drive, { without: [plugin] }), { message: refusal })

    await during(drive, { without: [plugin], ignoreMissingPlugins: [plugin] }, async server => {
      const { logs, announcements, services } = server.kernel
      const told = logs.find(({ msg }) => String(msg).startsWith(`The server starts without the plugin "${plugin}"`))
      t.match(told, { level: 'error', missing: plugin, msg: `the bucket "photos" ${reason}` })
      t.equal(announcements.startedWithout, plugin)
      t.equal((await readiness(server))['stored-needs'], `started without "${plugin}", which stored data needs`)
      t.match(services.storedNeeds.ignored(), [{ name: plugin, reasons: [`the bucket "photos" ${reason}`] }])
    })
    await during(drive, {}, async server => {
      t.equal((await readiness(server))['stored-needs'], 'ok')
      t.notOk(server.kernel.announcements.startedWithout)
      t.same(server.kernel.services.storedNeeds.ignored(), [])
    })
  })
}

t.test('removed data no longer needs its plugin', async t => {
  const drive = await newDrive(t)
  await during(drive, {}, async server => {
    await server.client.send(new CreateBucketCommand({ Bucket: bucket }))
    await putPolicy(server)
  })
  const without = ['bucket-policy']
  await t.rejects(start(drive, { without, ignoreMissingPlugins: ['quota'] }), /"bucket-policy" is not loaded/)
  await during(drive, { without, ignoreMissingPlugins: ['bucket-policy'] }, async () => undefined)
  await t.rejects(start(drive, { without }), /"bucket-policy" is not loaded/, 'the word counts for one start')
  await during(drive, {}, ({ client }) => client.send(new DeleteBucketPolicyCommand({ Bucket: bucket })))
  await during(drive, { without }, async server => {
    t.equal((await readiness(server))['stored-needs'], 'ok')
  })
})

t.test('several plugins and buckets are named at once', async t => {
  const drive = await newDrive(t)
  await during(drive, {}, async ({ kernel, client }) => {
    for (const name of ['a-first', 'b-second', 'c-third']) {
      await client.send(new CreateBucketCommand({ Bucket: name }))
      await kernel.services.quota.set(name, 1)
    }
    await client.send(new CreateBucketCommand({ Bucket: 'locked', ObjectLockEnabledForBucket: true }))
  })
  const without = ['quota', 'object-lock']
  await t.rejects(start(drive, { without }), {
    message:
      /"quota" is not loaded, but stored data needs it: 3 buckets have a quota, "a-first" among them\..+"object-lock" is not loaded|"object-lock" is not loaded.+"quota" is not loaded, but stored data needs it: 3 buckets have a quota, "a-first" among them\./,
  })
  await t.rejects(start(drive, { without, ignoreMissingPlugins: ['quota'] }), {
    message: /start: The plugin "object-lock"/,
  })
})

t.test('a superfluous name in the list of ignored plugins is reported', async t => {
  const drive = await newDrive(t)
  await during(drive, { without: ['cors'], ignoreMissingPlugins: ['quota', 'cors'] }, async ({ kernel }) => {
    const told = kernel.logs.filter(({ level }) => level === 'warn').map(({ msg }) => String(msg))
    t.ok(told.some(line => /names "quota", which is loaded: remove/.test(line)))
    t.ok(told.some(line => /names "cors", which stored data does not need: remove/.test(line)))
  })
})

t.test('without encrypted objects, all objects are searched once, and again after a start with encryption', async t => {
  const drive = await newDrive(t)
  const searches = ({ kernel }: TestServer) =>
    kernel.logs.filter(({ msg }) => /reading the records of all objects, once/.test(String(msg))).length
  await during(drive, {}, async server => {
    t.equal(searches(server), 0)
    await server.client.send(new CreateBucketCommand({ Bucket: bucket }))
    await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'plain', Body: 'x' }))
  })
  const without = ['encryption']
  await during(drive, { without }, async server => t.equal(searches(server), 1))
  await during(drive, { without }, async server => t.equal(searches(server), 0))
  await during(drive, {}, ({ client }) =>
    client.send(new PutObjectCommand({ Bucket: bucket, Key: 'secret', Body: 'x', ...customerKeyHeaders })),
  )
  await t.rejects(
    start(drive, { without }),
    /"encryption" is not loaded, but stored data needs it: the bucket "photos"/,
  )
})

t.test('before anything is served, the needs of all plugins are on the drive', async t => {
  const drive = await newDrive(t)
  const { notes, use } = notesPlugin()
  const kernel = await startKernel({
    plugins: [...standard, notes],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
      storage: { endpoints: [drive] },
    },
    until: 'start',
  })
  t.teardown(kernel.stop)
  const copy = `${drive}-copy`
  await kernel.services.objects.createBucket(bucket, { region: 'us-east-1', owner: kernel.services.iam.owner })
  await use.collection().put(bucket, { text: 'hidden' })
  // The copy is the state that a crash would leave: the server has served no request, and was not stopped.
  await cp(drive, copy, { recursive: true })
  await t.rejects(start(copy), {
    message:
      /The plugin "notes" is not loaded, but stored data needs it: the bucket "photos" has a note\. Without it notes show/,
  })
})

t.test('a full drive starts, and its needs are recorded later', async t => {
  const drive = await newDrive(t)
  await during(drive, {}, async () => undefined)
  // A plugin that has not used the drive before.
  const plugins = [notesPlugin().notes]
  const full = await start(drive, { plugins, config: { drive: { reserveBytes: 2 ** 52 } } })
  t.teardown(full.stop)
  const told = full.kernel.logs.filter(({ msg }) => /could not be written; trying again/.test(String(msg)))
  t.equal(told.length, 1)
  const { state } = full.kernel.kernel.workers().find(({ plugin }) => plugin === 'stored-needs')!
  t.not(state, 'done')
})

t.test('a missing third-party plugin is found by its recorded need and its data', async t => {
  const drive = await newDrive(t)
  const first = notesPlugin()
  await during(drive, { plugins: [first.notes] }, async ({ client }) => {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
  })
  await during(drive, {}, async server => t.equal((await readiness(server))['stored-needs'], 'ok'))
  const second = notesPlugin()
  await during(drive, { plugins: [second.notes] }, () => second.use.collection().put(bucket, { text: 'hidden' }))
  await t.rejects(start(drive), /The plugin "notes" is not loaded/)
  await during(drive, { ignoreMissingPlugins: ['notes'] }, async server => {
    t.equal((await readiness(server))['stored-needs'], 'started without "notes", which stored data needs')
  })
})

/** Notes of buckets, which the plugin hides from clients. */
function notesPlugin() {
  type Notes = ReturnType<typeof declare>
  let collection: Notes | undefined
  const declare = (store: import('svc/plugins/store/api').StoreService) =>
    store.collection({ name: 'bucket-note', version: 1, scope: 'bucket', schema: Type.Object({ text: Type.String() }) })
  const notes = definePlugin({
    name: 'notes',
    requires: ['store'],
    setup({ services, contribute }) {
      collection = declare(services.store)
      contribute('stored.need', 'note', {
        sign: { kind: 'bucket-document', name: 'bucket-note' },
        has: 'a note',
        consequence: 'notes show',
      })
    },
  })
  return { notes, use: { collection: () => collection! } }
}

/** Stores a policy as release 0.1.0 did: in the same collections and records, without a record of needs. */
async function storeAsBefore(drive: string): Promise<void> {
  let policies: import('svc/plugins/store/api').Collection<{ text: string }> | undefined
  const old = definePlugin({
    name: 'bucket-policy',
    requires: ['store'],
    setup({ services: { store } }) {
      const schema = Type.Object({ text: Type.String() }, { additionalProperties: false })
      policies = store.collection({ name: 'bucket-policy', schema, version: 1, scope: 'bucket' })
    },
  })
  const kernel = await startKernel({
    plugins: [
      ...standard.filter(({ name }) => ['storage', 'drive', 'checksums', 'objects', 'store', 'iam'].includes(name)),
      old,
    ],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
      storage: { endpoints: [drive] },
    },
  })
  await kernel.services.objects.createBucket(bucket, { region: 'us-east-1', owner: kernel.services.iam.owner })
  await policies!.put(bucket, { text: policy })
  t.same(await kernel.stop(), [])
}

t.test('a drive of release 0.1.0, which recorded no needs', async t => {
  const drive = await newDrive(t)
  await storeAsBefore(drive)
  const without = ['bucket-policy']
  await t.rejects(
    start(drive, { without }),
    /"bucket-policy" is not loaded, but stored data needs it: the bucket "photos"/,
  )
  await t.rejects(
    start(drive, { without }),
    /"bucket-policy" is not loaded/,
    'a start that was refused changes nothing',
  )
  await during(drive, {}, async server => t.equal((await readiness(server))['stored-needs'], 'ok'))
  await t.rejects(start(drive, { without }), /"bucket-policy" is not loaded/)
})

t.test('the needs of 0.1.0 are those that its plugins contribute', async t => {
  const kernel = await startKernel({
    plugins: standard,
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [await newDrive(t)] },
    },
    until: 'set-up',
  })
  const later = new Set(['access-rules', 'distributions'])
  const contributed = namedNeeds(kernel.point('stored.need').list()).filter(({ id }) => !later.has(id))
  t.same(mergeNeeds(contributed), mergeNeeds(firstNeeds))
})

t.test('neither S3 nor the Admin API is served without the check', async t => {
  for (const name of ['s3', 'admin']) {
    const plugin = standard.find(each => each.name === name)!
    t.ok(plugin.requires!.includes('storedNeeds' satisfies keyof { storedNeeds: StoredNeedsService }), name)
  }
  t.notOk(standardWithout(['stored-needs']).some(({ name }) => name === 's3' || name === 'admin'))
})
