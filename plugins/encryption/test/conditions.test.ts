/** Conditions of policies on encryption, through the S3 protocol and as a user who is not root; and the names of keys. */
import { createHash, randomBytes } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutBucketEncryptionCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  UpdateObjectEncryptionCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { createClients, outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const masterKey = `first:${Buffer.alloc(32, 1).toString('base64')}`
const server = await startServer({
  config: {
    store: { masterKey },
    kms: { secretKey: masterKey },
    encryption: { allowsInsecureCustomerKeys: true },
  },
})
const root = server.client
const { services } = server.kernel
await services.users.createUser({ accessKey: 'ada', secretKey: 'secret-of-ada', policyNames: ['readwrite'] })
const clients = createClients(server.endpoint)
const ada = clients.as({ accessKey: 'ada', secretKey: 'secret-of-ada' })
t.teardown(async () => {
  clients.destroy()
  await server.stop()
})
for (const id of ['photos', 'films']) await services.kms.createKey(id)

const denied = '403 AccessDenied'
const partBody = randomBytes(5 * 1024 ** 2)
const prefix = 's3:x-amz-server-side-encryption'
const keyIdName = `${prefix}-aws-kms-key-id`
const key = randomBytes(32)
const customer = {
  SSECustomerAlgorithm: 'AES256',
  SSECustomerKey: key.toString('base64'),
  SSECustomerKeyMD5: createHash('md5').update(key).digest('base64'),
}

let buckets = 0
/** A bucket whose policy denies requests of everybody under these conditions. */
async function bucketDenying(conditions: readonly object[], Action = 's3:PutObject'): Promise<string> {
  const Bucket = `denying-${++buckets}`
  await root.send(new CreateBucketCommand({ Bucket }))
  const Statement = conditions.map(Condition => {
    return { Effect: 'Deny', Principal: '*', Action, Resource: `arn:aws:s3:::${Bucket}/*`, Condition }
  })
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement })
  await root.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  await root.send(new PutObjectCommand({ Bucket, Key: 'source', Body: partBody }))
  return Bucket
}

/** The outcome of each step of an upload that root began. `partly`: headers of the requests on parts. */
async function uploadAs(Bucket: string, begun: object, partly: object): Promise<readonly string[]> {
  const Key = `upload-${randomBytes(4).toString('hex')}`
  const { UploadId } = await root.send(new CreateMultipartUploadCommand({ Bucket, Key, ...begun }))
  const place = { Bucket, Key, UploadId, ...partly }
  const copied = new UploadPartCopyCommand({ ...place, PartNumber: 1, CopySource: `${Bucket}/source` })
  const steps = [
    await outcome(ada.send(copied)),
    await outcome(ada.send(new UploadPartCommand({ ...place, PartNumber: 2, Body: 'the end' }))),
  ]
  // Gives the completion a part to complete.
  if (steps[0] === denied) {
    await root.send(new UploadPartCopyCommand({ ...place, PartNumber: 1, CopySource: `${Bucket}/source` }))
    await root.send(new UploadPartCommand({ ...place, PartNumber: 2, Body: 'the end' }))
  }
  const { Parts = [] } = await root.send(new ListPartsCommand(place))
  const MultipartUpload = { Parts: Parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag })) }
  const complete = () => outcome(ada.send(new CompleteMultipartUploadCommand({ ...place, MultipartUpload })))
  // The second time like a client that has lost the answer.
  return [...steps, await complete(), await complete()]
}

const allowed = ['ok', 'ok', 'ok', 'ok']
const refused = [denied, denied, denied, denied]

t.test('a denial of unencrypted uploads evaluates the encryption with which the upload was created', async t => {
  const withoutAlgorithm = await bucketDenying([
    { StringNotEquals: { [prefix]: ['AES256', 'aws:kms'] } },
    { Null: { [prefix]: 'true' } },
  ])
  const sse = { ServerSideEncryption: 'AES256' } as const
  t.equal(await outcome(ada.send(new PutObjectCommand({ Bucket: withoutAlgorithm, Key: 'k', Body: '1' }))), denied)
  t.equal(await outcome(ada.send(new CreateMultipartUploadCommand({ Bucket: withoutAlgorithm, Key: 'k' }))), denied)
  t.equal(
    await outcome(ada.send(new CreateMultipartUploadCommand({ Bucket: withoutAlgorithm, Key: 'k', ...sse }))),
    'ok',
  )
  t.same(await uploadAs(withoutAlgorithm, sse, {}), allowed)
  t.same(await uploadAs(withoutAlgorithm, { ServerSideEncryption: 'aws:kms' }, {}), allowed)
  t.same(await uploadAs(withoutAlgorithm, {}, {}), refused)
  t.same(await uploadAs(withoutAlgorithm, customer, customer), refused)

  const withoutCustomer = await bucketDenying([{ Null: { [`${prefix}-customer-algorithm`]: 'true' } }])
  t.same(await uploadAs(withoutCustomer, customer, customer), allowed)
  t.same(await uploadAs(withoutCustomer, sse, {}), refused)

  const onlyPhotos = await bucketDenying([
    { StringNotEquals: { [keyIdName]: 'arn:aws:kms:us-east-1:111122223333:key/photos' } },
  ])
  const kms = { ServerSideEncryption: 'aws:kms' }
  t.same(await uploadAs(onlyPhotos, { ...kms, SSEKMSKeyId: 'photos' }, {}), allowed)
  t.same(await uploadAs(onlyPhotos, { ...kms, SSEKMSKeyId: 'films' }, {}), refused)
  t.same(await uploadAs(onlyPhotos, kms, {}), refused)
})

t.test('an encryption header of a part request does not count', async t => {
  const Bucket = await bucketDenying([{ StringNotEquals: { [prefix]: 'AES256' } }])
  const { UploadId } = await root.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }))
  const claiming = clients.as({ accessKey: 'ada', secretKey: 'secret-of-ada' })
  claiming.middlewareStack.add(
    next => args => {
      Object.assign((args.request as { headers: object }).headers, { 'x-amz-server-side-encryption': 'AES256' })
      return next(args)
    },
    { step: 'build' },
  )
  const part = { Bucket, Key: 'k', UploadId, PartNumber: 1, Body: '1' }
  t.equal(await outcome(claiming.send(new UploadPartCommand(part))), denied)
})

t.test('uploads are looked up only where a policy has a condition on encryption', async t => {
  const Bucket = await bucketDenying([{ StringEquals: { 'aws:UserAgent': 'nobody' } }])
  const { UploadId } = await root.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }))
  const { objects } = services
  const getUpload = objects.getUpload
  let lookedUp = 0
  Object.assign(objects, {
    getUpload: (...asked: Parameters<typeof getUpload>) => {
      lookedUp++
      return getUpload(...asked)
    },
  })
  t.teardown(() => Object.assign(objects, { getUpload }))
  await ada.send(new UploadPartCommand({ Bucket, Key: 'k', UploadId, PartNumber: 1, Body: '1' }))
  t.equal(lookedUp, 1, 'by the operation itself')
})

t.test('a condition on the key matches each name of the key', async t => {
  const Bucket = await bucketDenying([{ StringEquals: { [keyIdName]: 'photos' } }])
  const put = (more: object) =>
    outcome(ada.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '1', ServerSideEncryption: 'aws:kms', ...more })))
  const arn = 'arn:aws:kms:us-east-1:111122223333:key/photos'
  for (const SSEKMSKeyId of [
    'photos',
    'arn:aws:kms:::key/photos',
    arn,
    'arn:aws:kms:photos',
    'arn:aws:kms:key/photos',
  ]) {
    t.equal(await put({ SSEKMSKeyId }), denied, SSEKMSKeyId)
    t.equal(await put({ SSEKMSKeyId: SSEKMSKeyId.replace('photos', 'films') }), 'ok')
  }
  for (const SSEKMSKeyId of ['key/photos', 'arn:aws:s3:::key/photos']) {
    t.equal(await put({ SSEKMSKeyId }), '400 KMS.NotFoundException', SSEKMSKeyId)
  }
})

t.test('a write that names no key has the default key, in policies and in storage', async t => {
  const { defaultKeyId } = services.kms
  const Bucket = await bucketDenying([{ StringNotEquals: { [keyIdName]: 'photos' } }])
  const kms = { ServerSideEncryption: 'aws:kms' } as const
  const put = () => outcome(ada.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '1', ...kms })))
  const copy = () =>
    outcome(ada.send(new CopyObjectCommand({ Bucket, Key: 'k', CopySource: `${Bucket}/source`, ...kms })))
  const begin = () => outcome(ada.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k', ...kms })))
  const post = async () => {
    const form = new FormData()
    form.set('key', 'form')
    form.set('x-amz-server-side-encryption', 'aws:kms')
    form.set('file', new Blob(['1']))
    return (await fetch(`${server.endpoint}/${Bucket}`, { method: 'POST', body: form })).status
  }
  t.same([await put(), await copy(), await begin(), await post()], [denied, denied, denied, 403])

  const byDefault = { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: 'arn:aws:kms:us-east-1:1:key/photos' } as const
  const ServerSideEncryptionConfiguration = { Rules: [{ ApplyServerSideEncryptionByDefault: byDefault }] }
  await root.send(new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration }))
  t.same(
    [await put(), await copy(), await begin()],
    [denied, denied, denied],
    'also where a bucket has another default, as on AWS',
  )

  const other = await bucketDenying([{ StringEquals: { [keyIdName]: `arn:aws:kms:*:*:key/${defaultKeyId}` } }])
  const named = { Bucket: other, Key: 'k', Body: '1', ...kms }
  t.equal(await outcome(ada.send(new PutObjectCommand({ ...named, SSEKMSKeyId: 'photos' }))), 'ok')
  await root.send(new PutObjectCommand({ ...named }))
  t.equal((await root.send(new HeadObjectCommand({ Bucket: other, Key: 'k' }))).SSEKMSKeyId, defaultKeyId)
})

t.test('a form that names no key has the default key, too', async t => {
  const Bucket = 'forms'
  await root.send(new CreateBucketCommand({ Bucket }))
  const { defaultKeyId } = services.kms
  const Statement = [
    {
      Effect: 'Allow',
      Principal: '*',
      Action: 's3:PutObject',
      Resource: `arn:aws:s3:::${Bucket}/*`,
      Condition: { StringEquals: { [keyIdName]: defaultKeyId } },
    },
  ]
  await root.send(new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement }) }))
  const post = async (fields: Readonly<Record<string, string>>) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ key: 'form', ...fields })) form.set(name, value)
    form.set('file', new Blob(['1']))
    return (await fetch(`${server.endpoint}/${Bucket}`, { method: 'POST', body: form })).status
  }
  t.equal(await post({ 'x-amz-server-side-encryption': 'aws:kms' }), 204)
  t.equal(
    await post({
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'photos',
    }),
    403,
  )
  t.equal(await post({}), 403)
})

t.test('UpdateObjectEncryption is authorized by the key that its body names', async t => {
  const condition = { StringNotLike: { [keyIdName]: 'arn:aws:kms:us-east-1:111122223333:key/ph*' } }
  const Bucket = await bucketDenying([condition], 's3:UpdateObjectEncryption')
  await root.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '1', ServerSideEncryption: 'AES256' }))
  const update = (KMSKeyArn: string) =>
    outcome(
      ada.send(
        new UpdateObjectEncryptionCommand({ Bucket, Key: 'k', ObjectEncryption: { SSEKMS: { KMSKeyArn } } } as never),
      ),
    )
  t.equal(await update('arn:aws:kms:us-east-1:1:key/films'), denied)
  t.equal((await root.send(new HeadObjectCommand({ Bucket, Key: 'k' }))).ServerSideEncryption, 'AES256')
  t.equal(await update('arn:aws:kms:us-east-1:1:key/photos'), 'ok')
  t.equal(await update('films'), denied)
  t.equal(await update('photos'), 'ok')
  const action = services.policy.actions().find(one => one.action === 's3:UpdateObjectEncryption')
  t.ok(action?.conditionKeys.includes(keyIdName))
})

t.test('an invalid key id is not found, without asking the key management', async t => {
  const Bucket = 'ids'
  await root.send(new CreateBucketCommand({ Bucket }))
  const asked: unknown[] = []
  const { kms } = services
  const { generate, requireKey } = kms
  Object.assign(kms, {
    generate: (...given: Parameters<typeof generate>) => {
      asked.push(given[0])
      return generate.apply(kms, given)
    },
    requireKey: (...given: Parameters<typeof requireKey>) => {
      asked.push(given[0])
      return requireKey.apply(kms, given)
    },
  })
  t.teardown(() => Object.assign(kms, { generate, requireKey }))
  const known = { Bucket, Key: 'k', Body: '1', ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'photos' } as const
  await root.send(new PutObjectCommand(known))
  t.same(asked.splice(0), ['photos'], 'it is seen who is asked')
  for (const id of ['.', '..', 'a/b', 'a b', 'a'.repeat(129), 'arn:aws:kms:::key/..', '%2e']) {
    const put = { Bucket, Key: 'k', Body: '1', ServerSideEncryption: 'aws:kms', SSEKMSKeyId: id } as const
    t.equal(await outcome(root.send(new PutObjectCommand(put))), '400 KMS.NotFoundException', id)
    const byDefault = { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: id } as const
    const ServerSideEncryptionConfiguration = { Rules: [{ ApplyServerSideEncryptionByDefault: byDefault }] }
    const set = new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration })
    t.equal(await outcome(root.send(set)), '400 KMS.NotFoundException', id)
  }
  t.same(asked, [])
})

t.test('an encryption context whose texts are not well-formed is refused', async t => {
  const Bucket = 'contexts'
  await root.send(new CreateBucketCommand({ Bucket }))
  const put = (json: string) => {
    const SSEKMSEncryptionContext = Buffer.from(json).toString('base64')
    const more = { ServerSideEncryption: 'aws:kms', SSEKMSEncryptionContext } as const
    return outcome(root.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '1', ...more })))
  }
  for (const json of ['{"a":"\\ud800"}', '{"\\udc00":"a"}', '{"a":"\\udc00\\ud800"}']) {
    t.equal(await put(json), '400 InvalidArgument', json)
  }
  t.equal(await put('{"a":"\\ud83d\\ude00"}'), 'ok')
})

t.test('a key of a customer must be base64', async t => {
  const Bucket = 'customers'
  await root.send(new CreateBucketCommand({ Bucket }))
  const put = (SSECustomerKey: string, SSECustomerKeyMD5: string) =>
    server.signed({
      method: 'PUT',
      path: `/${Bucket}/k`,
      body: '1',
      headers: {
        'x-amz-server-side-encryption-customer-algorithm': 'AES256',
        'x-amz-server-side-encryption-customer-key': SSECustomerKey,
        'x-amz-server-side-encryption-customer-key-md5': SSECustomerKeyMD5,
      },
    })
  const { SSECustomerKey: text, SSECustomerKeyMD5: md5 } = customer
  t.equal((await put(text, md5)).status, 200)
  const spoilt = [`${text.slice(0, 43)}!!=`, text.slice(0, 43), `${text}=`, `${text.slice(0, 20)} ${text.slice(20)}`]
  for (const bad of spoilt) {
    const answer = await put(bad, md5)
    t.equal(answer.status, 400, bad.replace(text.slice(0, 20), '…'))
    t.match(await answer.text(), /<Code>InvalidArgument<\/Code>/)
  }
  t.equal((await put(text, `${md5.slice(0, 22)}!!==`)).status, 400)
})

t.test('encryption that was not requested fulfils no condition, in one piece and in parts', async t => {
  const algorithm = 's3:x-amz-server-side-encryption'
  const Bucket = await bucketDenying([{ Null: { [algorithm]: 'false' }, StringNotEquals: { [algorithm]: 'AES256' } }])
  const byDefault = { SSEAlgorithm: 'aws:kms' } as const
  const ServerSideEncryptionConfiguration = { Rules: [{ ApplyServerSideEncryptionByDefault: byDefault }] }
  await root.send(new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration }))
  const upload = async (more: object) => {
    const { UploadId } = await ada.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k', ...more }))
    const place = { Bucket, Key: 'k', UploadId }
    const { ETag } = await ada.send(new UploadPartCommand({ ...place, PartNumber: 1, Body: '1' }))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    return ada.send(new CompleteMultipartUploadCommand({ ...place, MultipartUpload }))
  }
  t.equal(await outcome(ada.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '1' }))), 'ok')
  t.match(await upload({}), { ServerSideEncryption: 'aws:kms' })
  t.match(await upload({ ServerSideEncryption: 'AES256' }), { ServerSideEncryption: 'AES256' })
  t.equal(await outcome(upload({ ServerSideEncryption: 'aws:kms' })), denied)
})
