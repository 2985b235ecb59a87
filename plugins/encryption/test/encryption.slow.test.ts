/** Encryption through the S3 protocol, over the real server: each kind, all reads and writes, and requests that must fail. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketEncryptionCommand,
  GetBucketEncryptionCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutBucketEncryptionCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  RenameObjectCommand,
  type S3Client,
  UpdateObjectEncryptionCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { outcome, startServer, type TestServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import t from 'tap'

const masterKey = (name: string, byte: number) => `${name}:${Buffer.alloc(32, byte).toString('base64')}`
const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest()

/** The SDK's parameters for a customer's key. */
function customer(key: Buffer) {
  return {
    SSECustomerAlgorithm: 'AES256',
    SSECustomerKey: key.toString('base64'),
    SSECustomerKeyMD5: md5(key).toString('base64'),
  }
}

function copySource(key: Buffer) {
  const { SSECustomerAlgorithm, SSECustomerKey, SSECustomerKeyMD5 } = customer(key)
  return {
    CopySourceSSECustomerAlgorithm: SSECustomerAlgorithm,
    CopySourceSSECustomerKey: SSECustomerKey,
    CopySourceSSECustomerKeyMD5: SSECustomerKeyMD5,
  }
}

const folder = await mkdtemp(join(tmpdir(), 'svc-encryption-'))
/** Writes records as an attacker with access to the drive could. */
const intruder = definePlugin({
  name: 'intruder',
  requires: ['storage'],
  setup({ services }) {
    services.storage.define({
      'intruder.put': (tx, { key, value }: { key: Buffer; value: Buffer }, body) => tx.put(key, value, { body }),
    })
  },
})
const start = (current: string, previous: string[] = []) =>
  startServer({
    drive: folder,
    plugins: [...standard, intruder],
    config: {
      store: { masterKey: current },
      kms: { secretKey: current, previousSecretKeys: previous },
      encryption: { allowsInsecureCustomerKeys: true },
      prometheus: { authType: 'public' },
    },
  })
let server: TestServer = await start(masterKey('first', 1))
let client: S3Client = server.client
t.teardown(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})
const Bucket = 'vault'
await client.send(new CreateBucketCommand({ Bucket }))
await client.send(new CreateBucketCommand({ Bucket: 'history' }))
await client.send(new PutBucketVersioningCommand({ Bucket: 'history', VersioningConfiguration: { Status: 'Enabled' } }))
await server.kernel.services.kms.createKey('photos')

const customerKey = randomBytes(32)
const otherKey = randomBytes(32)
const partBytes = 5 * 1024 ** 2
const large = randomBytes(partBytes + 300_001)

async function read(Key: string, more: object = {}): Promise<Buffer> {
  const answer = await client.send(new GetObjectCommand({ Bucket, Key, ...more }))
  return Buffer.from(await answer.Body!.transformToByteArray())
}

/** The parameters of a write that request the encryption, and those of a read. */
const kinds: Record<string, { readonly put: object; readonly get: object; readonly shown: object }> = {
  none: { put: {}, get: {}, shown: { ServerSideEncryption: undefined } },
  'SSE-S3': { put: { ServerSideEncryption: 'AES256' }, get: {}, shown: { ServerSideEncryption: 'AES256' } },
  'SSE-KMS': {
    put: {
      ServerSideEncryption: 'aws:kms',
      SSEKMSKeyId: 'arn:aws:kms:us-east-1:1:key/photos',
      SSEKMSEncryptionContext: Buffer.from('{"team":"x"}').toString('base64'),
      BucketKeyEnabled: true,
    },
    get: {},
    shown: { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'photos', BucketKeyEnabled: true },
  },
  'SSE-C': {
    put: customer(customerKey),
    get: customer(customerKey),
    shown: { SSECustomerAlgorithm: 'AES256', SSECustomerKeyMD5: customer(customerKey).SSECustomerKeyMD5 },
  },
}

t.test('objects of any size are read whole and in ranges, and report their encryption', async t => {
  for (const [kind, { put, get, shown }] of Object.entries(kinds)) {
    for (const size of [0, 1, 4096, 65_520, 65_521, 200_000, large.length]) {
      const body = large.subarray(0, size)
      const Key = `${kind}/${size}`
      const stored = await client.send(new PutObjectCommand({ Bucket, Key, Body: body, ...put }))
      t.match(stored, shown, `${Key} as it was put`)
      t.equal(stored.ETag === `"${md5(body).toString('hex')}"`, kind === 'none' || kind === 'SSE-S3', 'ETag as AWS')
      const head = await client.send(new HeadObjectCommand({ Bucket, Key, ...get }))
      t.match(head, { ...shown, ContentLength: size, ETag: stored.ETag }, 'as HEAD tells')
      t.ok((await read(Key, get)).equals(body), 'whole')
      for (const [from, to] of [
        [0, 0],
        [65_519, 65_520],
        [1, size - 1],
        [size - 5, size + 99],
      ] as const) {
        if (from < 0 || from >= size || to < from) continue
        const range = await read(Key, { ...get, Range: `bytes=${from}-${to}` })
        t.ok(range.equals(body.subarray(from, to + 1)), `${from}-${to} of ${size}`)
      }
    }
  }
  const { Contents } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'SSE-C/' }))
  t.same(Contents!.map(({ Size }) => Size).sort(), [0, 1, 200_000, 4096, 65_520, 65_521, large.length].sort())
})

t.test('every read needs the customer’s key, and the right one', async t => {
  const Key = 'SSE-C/4096'
  const reads: [string, (more: object) => Promise<unknown>][] = [
    ['GET', more => client.send(new GetObjectCommand({ Bucket, Key, ...more }))],
    ['HEAD', more => client.send(new HeadObjectCommand({ Bucket, Key, ...more }))],
    [
      'attributes',
      more => client.send(new GetObjectAttributesCommand({ Bucket, Key, ObjectAttributes: ['ETag'], ...more })),
    ],
  ]
  for (const [name, send] of reads) {
    t.match(await outcome(send({})), /^400 /, `${name} without`)
    t.match(await outcome(send(customer(otherKey))), /^403 /, `${name} with another`)
    t.equal(await outcome(send(customer(customerKey))), 'ok', name)
  }
  t.equal(await outcome(reads[0]![1]({})), '400 InvalidRequest')
  t.equal(await outcome(reads[0]![1](customer(otherKey))), '403 AccessDenied')
  const { ETag } = await client.send(new HeadObjectCommand({ Bucket, Key, ...customer(customerKey) }))
  for (const conditions of [{ IfMatch: '"x"' }, { IfNoneMatch: ETag }, { IfUnmodifiedSince: new Date(0) }]) {
    for (const [name, send] of reads.slice(0, 2)) {
      t.match(await outcome(send(conditions)), /^400 /, `${name} without the key, before conditions are looked at`)
      t.match(await outcome(send({ ...conditions, ...customer(otherKey) })), /^403 /, `${name} with another`)
      t.match(await outcome(send({ ...conditions, ...customer(customerKey) })), /^(412|304) /, `${name} with it`)
    }
  }
  for (const plain of ['none/4096', 'SSE-S3/4096']) {
    const send = client.send(new GetObjectCommand({ Bucket, Key: plain, ...customer(customerKey) }))
    t.equal(await outcome(send), '400 InvalidRequest', `${plain} has no customer’s key`)
  }
  const put = (more: object) => outcome(client.send(new PutObjectCommand({ Bucket, Key: 'wrong', Body: 'x', ...more })))
  const key = customer(customerKey)
  // The SDK computes it itself.
  const lying = server.with({ 'x-amz-server-side-encryption-customer-key-md5': md5(otherKey).toString('base64') })
  const lie = lying.send(new PutObjectCommand({ Bucket, Key: 'wrong', Body: 'x', ...key }))
  t.equal(await outcome(lie), '400 InvalidArgument')
  t.equal(await put({ ...key, SSECustomerAlgorithm: 'AES128' }), '400 InvalidEncryptionAlgorithmError')
  t.equal(await put({ ...customer(randomBytes(16)) }), '400 InvalidArgument')
  t.equal(await put({ ...key, ServerSideEncryption: 'AES256' }), '400 InvalidArgument')
  t.equal(await put({ ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'nowhere' }), '400 KMS.NotFoundException')
  t.equal(await put({ ServerSideEncryption: 'AES256', SSEKMSKeyId: 'photos' }), '400 InvalidArgument')
  t.equal(await put({ ServerSideEncryption: 'aws:kms:dsse' }), '501 NotImplemented')
  t.equal(await put({ ServerSideEncryption: 'rot13' }), '400 InvalidArgument')
  for (const context of ['x', '[]', '{"a":1}', '{"aws:s3:arn":"x"}']) {
    const SSEKMSEncryptionContext = Buffer.from(context).toString('base64')
    t.equal(await put({ ServerSideEncryption: 'aws:kms', SSEKMSEncryptionContext }), '400 InvalidArgument', context)
  }
  t.match(await outcome(client.send(new HeadObjectCommand({ Bucket, Key: 'wrong' }))), /^404/, 'nothing was stored')
  const asked = server.with({ 'x-amz-server-side-encryption': 'AES256' })
  t.equal(await outcome(asked.send(new GetObjectCommand({ Bucket, Key: 'SSE-S3/1' }))), '400 InvalidArgument')
})

t.test('every kind is copied to every kind', async t => {
  for (const from of Object.keys(kinds)) {
    for (const [to, target] of Object.entries(kinds)) {
      for (const size of [0, 4096, 200_000]) {
        const Key = `copy/${from}/${to}/${size}`
        const copied = await client.send(
          new CopyObjectCommand({
            Bucket,
            Key,
            CopySource: `${Bucket}/${from}/${size}`,
            ...target.put,
            ...(from === 'SSE-C' ? copySource(customerKey) : {}),
          }),
        )
        // Without an encryption request a copy has the encryption of its source; a copy of an SSE-C source has SSE-S3, as the request has
        // no customer's key for it.
        const kept = from === 'SSE-C' ? 'SSE-S3' : from
        t.match(copied, kinds[to === 'none' ? kept : to]!.shown, Key)
        t.ok((await read(Key, target.get)).equals(large.subarray(0, size)))
      }
    }
  }
  const copy = (more: object) =>
    outcome(client.send(new CopyObjectCommand({ Bucket, Key: 'copy/x', CopySource: `${Bucket}/SSE-C/4096`, ...more })))
  t.equal(await copy({}), '400 InvalidRequest', 'without the key of the source')
  t.equal(await copy(copySource(otherKey)), '403 AccessDenied')
  t.equal(await copy({ CopySource: `${Bucket}/none/4096`, ...copySource(customerKey) }), '400 InvalidRequest')
  // Onto itself, with another encryption: that is a change.
  const Key = 'copy/self'
  await client.send(new PutObjectCommand({ Bucket, Key, Body: 'self' }))
  const self = { Bucket, Key, CopySource: `${Bucket}/${Key}` }
  t.equal(await outcome(client.send(new CopyObjectCommand(self))), '400 InvalidRequest')
  await client.send(new CopyObjectCommand({ ...self, ServerSideEncryption: 'AES256' }))
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key })), { ServerSideEncryption: 'AES256' })
  t.equal((await read(Key)).toString(), 'self')
})

t.test('an object is copied onto itself to decrypt it, and to change the key of the client', async t => {
  const Key = 'own-key'
  const CopySource = `${Bucket}/${Key}`
  await client.send(new PutObjectCommand({ Bucket, Key, Body: 'bytes', ...customer(customerKey) }))
  const change = new CopyObjectCommand({ Bucket, Key, CopySource, ...copySource(customerKey), ...customer(otherKey) })
  t.equal(await outcome(client.send(change)), 'ok')
  t.equal((await read(Key, customer(otherKey))).toString(), 'bytes')
  t.equal(await outcome(client.send(new CopyObjectCommand({ Bucket, Key, CopySource, ...copySource(otherKey) }))), 'ok')
  t.equal((await read(Key, {})).toString(), 'bytes')
})

t.test('an upload without an encryption request is encrypted like the first part that is copied into it', async t => {
  for (const [from, shown] of Object.entries({ 'SSE-S3': 'SSE-S3', 'SSE-KMS': 'SSE-KMS', 'SSE-C': 'SSE-S3' })) {
    const Key = `multipart/of-${from}`
    const begun = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    t.match(begun, kinds.none!.shown)
    const upload = { Bucket, Key, UploadId: begun.UploadId }
    const more = from === 'SSE-C' ? copySource(customerKey) : {}
    // At the same time, as clients send them.
    const copied = await Promise.all(
      [0, 100, 1000].map((start, i) => {
        const CopySourceRange = `bytes=${start}-${start + partBytes - 1}`
        const CopySource = `${Bucket}/${from}/${large.length}`
        const part = { ...upload, PartNumber: i + 1, CopySource, CopySourceRange, ...more }
        return client.send(new UploadPartCopyCommand(part))
      }),
    )
    for (const part of copied) t.match(part, kinds[shown]!.shown, `${from}: a part`)
    const last = await client.send(
      new UploadPartCommand({ ...upload, PartNumber: 4, Body: 'and what comes by itself' }),
    )
    t.match(last, kinds[shown]!.shown)
    const Parts = [...copied.map(part => part.CopyPartResult!.ETag), last.ETag].map((ETag, i) => ({
      PartNumber: i + 1,
      ETag,
    }))
    const done = await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }))
    t.match(done, kinds[shown]!.shown, `${from}: the object`)
    const whole = [0, 100, 1000].map(start => large.subarray(start, start + partBytes))
    t.ok((await read(Key)).equals(Buffer.concat([...whole, Buffer.from('and what comes by itself')])))
  }
})

t.test('uploads in parts: parts, copied parts, ranges over their borders', async t => {
  for (const [kind, { put, get, shown }] of Object.entries(kinds)) {
    const Key = `multipart/${kind}`
    const { put: target } = { put: kind === 'SSE-C' ? customer(customerKey) : {} }
    const begun = await client.send(
      new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'CRC64NVME', ...put }),
    )
    t.match(begun, shown, `${kind} as it was begun`)
    const { UploadId } = begun
    const upload = (PartNumber: number, Body: Buffer, more: object = target) =>
      client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ...more }))
    await upload(2, randomBytes(partBytes))
    const first = await upload(2, large.subarray(0, partBytes))
    const copyPart = (CopySource: string, more: object = {}) =>
      client.send(
        new UploadPartCopyCommand({
          Bucket,
          Key,
          UploadId,
          PartNumber: 3,
          CopySource,
          CopySourceRange: `bytes=0-${partBytes}`,
          ...target,
          ...more,
        }),
      )
    const ofCustomer = () => copyPart(`${Bucket}/SSE-C/${large.length}`, copySource(customerKey))
    if (kind === 'none') t.equal(await outcome(ofCustomer()), '400 InvalidRequest', 'it would become plain')
    const copied = await (kind === 'none' ? copyPart(`${Bucket}/none/${large.length}`) : ofCustomer())
    const last = await upload(7, large.subarray(0, 12_345))
    for (const answer of [first, copied, last]) t.match(answer, shown, `${kind} as a part of it tells`)
    if (kind === 'SSE-C') {
      t.equal(await outcome(upload(8, Buffer.alloc(1), {})), '400 InvalidRequest', 'a part without the key')
      t.equal(await outcome(upload(8, Buffer.alloc(1), customer(otherKey))), '403 AccessDenied')
    } else t.equal(await outcome(upload(8, Buffer.alloc(1), customer(otherKey))), '400 InvalidRequest')
    // Somebody who guesses the bytes could verify the guess by the checksums.
    const list = (more: object) => client.send(new ListPartsCommand({ Bucket, Key, UploadId, ...more }))
    const tells = async (more: object) => (await list(more)).Parts!.map(part => part.ChecksumCRC64NVME !== undefined)
    t.same(await tells({}), Array(3).fill(kind !== 'SSE-C'), 'checksums of parts')
    const complete = (more: object) =>
      client.send(
        new CompleteMultipartUploadCommand({
          Bucket,
          Key,
          UploadId,
          MultipartUpload: {
            Parts: [
              { PartNumber: 2, ETag: first.ETag },
              { PartNumber: 3, ETag: copied.CopyPartResult!.ETag },
              { PartNumber: 7, ETag: last.ETag },
            ],
          },
          ...more,
        }),
      )
    if (kind === 'SSE-C') {
      t.same(await tells(customer(customerKey)), [true, true, true], 'with the key')
      t.equal(await outcome(list(customer(otherKey))), '403 AccessDenied')
      t.equal(await outcome(complete(customer(otherKey))), '403 AccessDenied')
    }
    const done = await complete({})
    t.match(done.ETag, /^"[0-9a-f]{32}-3"$/)
    t.equal(done.ChecksumCRC64NVME !== undefined, kind !== 'SSE-C', 'the checksum of the whole')
    const whole = Buffer.concat([
      large.subarray(0, partBytes),
      large.subarray(0, partBytes + 1),
      large.subarray(0, 12_345),
    ])
    t.ok((await read(Key, get)).equals(whole), `${kind} whole`)
    for (const [from, to] of [
      [partBytes - 3, partBytes + 3],
      [partBytes - 1, 2 * partBytes + 2],
      [2 * partBytes + 1, whole.length - 1],
      [whole.length - 1, whole.length - 1],
    ] as const) {
      const range = await read(Key, { ...get, Range: `bytes=${from}-${to}` })
      t.ok(range.equals(whole.subarray(from, to + 1)), `${from}-${to}`)
    }
    t.ok((await read(Key, { ...get, PartNumber: 3 })).equals(large.subarray(0, 12_345)), 'the last part alone')
  }
})

t.test('a bucket’s default applies to writes without an encryption request', async t => {
  const set = (Rule: object) =>
    client.send(
      new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration: { Rules: [Rule as never] } }),
    )
  const get = () => client.send(new GetBucketEncryptionCommand({ Bucket }))
  t.equal(await outcome(get()), '404 ServerSideEncryptionConfigurationNotFoundError')
  await set({ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } })
  t.match((await get()).ServerSideEncryptionConfiguration, {
    Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' }, BucketKeyEnabled: false }],
  })
  const head = async (Key: string) => client.send(new HeadObjectCommand({ Bucket, Key }))
  await client.send(new PutObjectCommand({ Bucket, Key: 'default/s3', Body: 'x' }))
  t.match(await head('default/s3'), { ServerSideEncryption: 'AES256' })
  await client.send(new CopyObjectCommand({ Bucket, Key: 'default/copy', CopySource: `${Bucket}/none/4096` }))
  t.match(await head('default/copy'), { ServerSideEncryption: 'AES256' })
  await set({
    ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: 'photos' },
    BucketKeyEnabled: true,
    BlockedEncryptionTypes: { EncryptionType: ['SSE-C'] },
  })
  await client.send(new PutObjectCommand({ Bucket, Key: 'default/kms', Body: 'x' }))
  t.match(await head('default/kms'), { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'photos', BucketKeyEnabled: true })
  const blocked = client.send(new PutObjectCommand({ Bucket, Key: 'default/c', Body: 'x', ...customer(customerKey) }))
  t.equal(await outcome(blocked), '403 AccessDenied')
  const form = await server.kernel.services.objects.createUpload({
    bucket: Bucket,
    key: 'default/upload',
    attributes: { system: {}, user: {}, storageClass: 'STANDARD' },
    checksumAlgorithm: undefined,
    checksumType: undefined,
  })
  t.match(form.encryption, { type: 'SSE-KMS', kmsKeyId: 'photos' })
  const unknown = set({ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: 'nowhere' } })
  t.equal(await outcome(unknown), '400 KMS.NotFoundException')
  t.equal(await outcome(set({ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'none' } })), '400 MalformedXML')
  await client.send(new DeleteBucketEncryptionCommand({ Bucket }))
  t.equal(await outcome(get()), '404 ServerSideEncryptionConfigurationNotFoundError')
  await client.send(new PutObjectCommand({ Bucket, Key: 'default/none', Body: 'x' }))
  t.equal((await head('default/none')).ServerSideEncryption, undefined)
})

t.test('an object takes another key of its bucket along with its encryption', async t => {
  for (const kind of ['SSE-S3', 'SSE-KMS']) {
    const body = `renamed ${kind}`
    await client.send(new PutObjectCommand({ Bucket, Key: `from/${kind}`, Body: body, ...kinds[kind]!.put }))
    await client.send(new RenameObjectCommand({ Bucket, Key: `to/${kind}`, RenameSource: `from/${kind}` }))
    t.equal((await read(`to/${kind}`)).toString(), body)
    t.match(await client.send(new HeadObjectCommand({ Bucket, Key: `to/${kind}` })), kinds[kind]!.shown)
  }
  const source = { Bucket, Key: 'to/c', RenameSource: 'SSE-C/4096' }
  t.equal(await outcome(client.send(new RenameObjectCommand(source))), '400 InvalidRequest')
  t.ok((await read('SSE-C/4096', customer(customerKey))).equals(large.subarray(0, 4096)), 'it is still there')
})

t.test('the data key of an object is put under another key; bytes, ETag and time stay', async t => {
  const Key = 'SSE-S3/200000'
  const before = await client.send(new HeadObjectCommand({ Bucket, Key }))
  const update = (more: object) => client.send(new UpdateObjectEncryptionCommand({ Bucket, Key, ...more } as never))
  const to = { SSEKMS: { KMSKeyArn: 'arn:aws:kms:us-east-1:1:key/photos', BucketKeyEnabled: true } }
  await update({ ObjectEncryption: to })
  const after = await client.send(new HeadObjectCommand({ Bucket, Key }))
  t.match(after, { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'photos', ETag: before.ETag })
  t.same(after.LastModified, before.LastModified)
  t.ok((await read(Key)).equals(large.subarray(0, 200_000)))
  t.equal(await outcome(update({ Key: 'SSE-C/1', ObjectEncryption: to })), '400 InvalidRequest')
  t.equal(await outcome(update({ Key: 'none/1', ObjectEncryption: to })), '400 InvalidRequest')
  t.equal(await outcome(update({ Key: 'nothing', ObjectEncryption: to })), '404 NoSuchKey')
  const nowhere = { SSEKMS: { KMSKeyArn: 'nowhere' } }
  t.equal(await outcome(update({ ObjectEncryption: nowhere })), '400 KMS.NotFoundException')
})

t.test('records that were moved to another object cannot be decrypted', async t => {
  const { storage } = server.kernel.services
  for (const [Key, more] of [
    ['SSE-S3/4096', {}],
    ['SSE-C/4096', customer(customerKey)],
  ] as const) {
    const from = await storage.get(objectKey(Bucket, Key))
    const value = Buffer.from(from!.value)
    const body = await storage.readBody(from!.body!)
    await storage.execute('intruder.put', { key: objectKey(Bucket, `stolen/${Key}`), value }, Buffer.from(body))
    t.match(await outcome(client.send(new GetObjectCommand({ Bucket, Key: `stolen/${Key}`, ...more }))), /^500/, Key)
  }
  // The bytes of one version under the record of another.
  const target = await storage.get(objectKey(Bucket, 'copy/none/SSE-S3/4096'))
  const other = await storage.get(objectKey(Bucket, 'copy/SSE-S3/SSE-S3/4096'))
  const value = Buffer.from(target!.value)
  const bytes = Buffer.from(await storage.readBody(other!.body!))
  await storage.execute('intruder.put', { key: objectKey(Bucket, 'copy/none/SSE-S3/4096'), value }, bytes)
  t.match(await outcome(client.send(new GetObjectCommand({ Bucket, Key: 'copy/none/SSE-S3/4096' }))), /^500/)
})

/** As objects/keys.ts makes them, for keys without the bytes 0 and 1. */
function objectKey(bucket: string, key: string): Buffer {
  return Buffer.from(`o${bucket}\0${key}\0`)
}

t.test('neither the drive nor the log has plaintext or keys', async t => {
  const secret = `plaintext-${randomBytes(8).toString('hex')}`
  for (const [kind, { put }] of Object.entries(kinds)) {
    if (kind === 'none') continue
    for (const size of [100, 300_000]) {
      const Body = Buffer.alloc(size, secret)
      await client.send(new PutObjectCommand({ Bucket, Key: `quiet/${kind}/${size}`, Body, ...put }))
    }
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: `quiet/${kind}`, ...put }))
    const key = kind === 'SSE-C' ? customer(customerKey) : {}
    const part = { Bucket, Key: `quiet/${kind}`, UploadId, PartNumber: 1, Body: Buffer.alloc(1000, secret), ...key }
    await client.send(new UploadPartCommand(part))
  }
  const needles = [Buffer.from(secret.slice(0, 24)), customerKey, Buffer.from(customerKey.toString('base64'))]
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    if (!entry.isFile()) continue
    // Replaced bytes are collected meanwhile.
    const bytes = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0))
    for (const needle of needles) t.notOk(bytes.includes(needle), `${entry.name} of the drive`)
  }
  const log = JSON.stringify(server.kernel.logs)
  for (const needle of needles) t.notOk(log.includes(needle.toString('latin1')))
})

t.test('after a rotation all data keys are rewrapped, and the former key may be removed', async t => {
  await client.send(new PutObjectCommand({ Bucket: 'history', Key: 'a', Body: 'one', ServerSideEncryption: 'AES256' }))
  await client.send(new PutObjectCommand({ Bucket: 'history', Key: 'a', Body: 'two', ServerSideEncryption: 'aws:kms' }))
  const upload = await client.send(
    new CreateMultipartUploadCommand({ Bucket: 'history', Key: 'up', ServerSideEncryption: 'AES256' }),
  )
  const part = { Bucket: 'history', Key: 'up', UploadId: upload.UploadId, PartNumber: 1 }
  const sent = await client.send(new UploadPartCommand({ ...part, Body: 'part' }))
  await server.stop()
  server = await start(masterKey('second', 2), [masterKey('first', 1)])
  client = server.client
  const { encryption } = server.kernel.services
  t.ok((await read('SSE-S3/4096')).equals(large.subarray(0, 4096)), 'opened by the former key')
  const first = await encryption.reseal('history')
  t.same(first, { buckets: 1, versions: 2, uploads: 1, resealed: 3, failed: 0, firstError: '', formerKeys: 1 })
  t.match(await encryption.reseal('history'), { versions: 2, uploads: 1, resealed: 0, failed: 0 })
  const [all, refused] = await Promise.allSettled([encryption.reseal(undefined), encryption.reseal(undefined)])
  t.match(refused, { status: 'rejected', reason: { code: 'conflict' } })
  // Records that the test before has moved cannot be rewrapped: they are reported, and do not end the run.
  t.match(all, { status: 'fulfilled', value: { buckets: 2, failed: 1, firstError: /data key cannot be unwrapped/ } })
  await t.rejects(encryption.reseal('nowhere'), { code: 'NoSuchBucket' })
  await server.stop()
  server = await start(masterKey('second', 2))
  client = server.client
  for (const kind of Object.keys(kinds)) {
    for (const size of [0, 4096, large.length]) {
      const got = await read(`${kind}/${size}`, kinds[kind]!.get)
      t.ok(got.equals(large.subarray(0, size)), `${kind} ${size}`)
    }
    t.ok((await read(`multipart/${kind}`, { ...kinds[kind]!.get, Range: 'bytes=0-99' })).equals(large.subarray(0, 100)))
  }
  const Parts = [{ PartNumber: 1, ETag: sent.ETag }]
  const complete = { Bucket: 'history', Key: 'up', UploadId: upload.UploadId, MultipartUpload: { Parts } }
  await client.send(new CompleteMultipartUploadCommand(complete))
  const done = await client.send(new GetObjectCommand({ Bucket: 'history', Key: 'up' }))
  t.equal(await done.Body!.transformToString(), 'part')
})

t.test('without the key encrypted objects are unavailable, and others are served', async t => {
  await server.stop()
  server = await start(masterKey('third', 3), [masterKey('second', 2)])
  client = server.client
  await server.stop()
  server = await start(masterKey('third', 3))
  client = server.client
  // Clients learn that a key is unavailable; the operator learns which one, and where to configure it.
  const told = await client.send(new GetObjectCommand({ Bucket, Key: 'SSE-S3/4096' })).catch((error: Error) => error)
  t.match(told, { name: 'ServiceUnavailable', message: 'The required key is not available at present.' })
  const cause = /version [0-9a-f]{16} of the master key.*\(key "second"\).*SVC_KMS_SECRET_KEY_PREVIOUS/
  t.match(
    server.kernel.logs.find(({ msg }) => msg === 'a key is not available'),
    { level: 'warn', reason: cause },
  )
  t.match(await server.kernel.services.kms.status(), { online: true, error: /"second" .* missing.*_PREVIOUS/ })
  const { port } = server.kernel.services.http.listeners().find(({ name }) => name === 's3')!
  const scraped = await (await fetch(`http://127.0.0.1:${port}/svc/metrics/v1/node`)).text()
  t.match(scraped, /svc_kms_errors_total\{op="decrypt",reason="master_key_missing".*\} 1\n/)
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key: 'SSE-S3/4096' })), { ServerSideEncryption: 'AES256' })
  t.ok((await read('none/4096')).equals(large.subarray(0, 4096)))
  t.ok((await read('SSE-C/4096', customer(customerKey))).equals(large.subarray(0, 4096)))
  t.match(await server.kernel.services.encryption.reseal(Bucket), { resealed: 0, firstError: /SECRET_KEY_PREVIOUS/ })

  await server.stop()
  server = await startServer({
    drive: folder,
    config: { store: { previousMasterKeys: [masterKey('third', 3)] } },
  })
  client = server.client
  t.equal(await outcome(client.send(new GetObjectCommand({ Bucket, Key: 'SSE-S3/4096' }))), '503 ServiceUnavailable')
  t.match(
    server.kernel.logs.find(({ msg }) => msg === 'a key is not available'),
    { reason: cause },
  )
  t.match(await server.kernel.services.kms.status(), { isConfigured: false, error: /SVC_KMS_SECRET_KEY_PREVIOUS/ })
  const put = { Bucket, Key: 'refused', Body: 'x', ServerSideEncryption: 'AES256' } as const
  t.equal(await outcome(client.send(new PutObjectCommand(put))), '501 NotImplemented')
  t.equal(await outcome(client.send(new GetObjectCommand({ Bucket, Key: 'refused' }))), '404 NoSuchKey')
  const ObjectEncryption = { SSEKMS: { KMSKeyArn: 'photos' } }
  const update = new UpdateObjectEncryptionCommand({ Bucket, Key: 'SSE-S3/4096', ObjectEncryption })
  t.equal(await outcome(client.send(update)), '501 NotImplemented')
  // Over plain HTTP, without the switch for tests.
  const customers = client.send(new PutObjectCommand({ Bucket, Key: 'refused', Body: 'x', ...customer(customerKey) }))
  t.equal(await outcome(customers), '400 InvalidRequest')
})
