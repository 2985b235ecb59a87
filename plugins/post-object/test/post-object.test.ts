/** Forms as the SDK, boto3 and browsers send them, and forms that nobody should. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import {
  CreateBucketCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutBucketVersioningCommand,
} from '@aws-sdk/client-s3'
import { createPresignedPost, type PresignedPostOptions } from '@aws-sdk/s3-presigned-post'
import { definePlugin } from 'svc/kernel'
import { signPolicy } from 'svc/plugins/auth-sigv4/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import t from 'tap'

/** Everybody may put below `open/` in the bucket `forms`, and below `referred/` from one page and with one ACL. */
const openDoor = definePlugin({
  name: 'open-door',
  requires: ['policy'],
  setup({ services, contribute }) {
    let policies: ReturnType<PolicyService['combine']> | undefined
    const compile = () => {
      const document = {
        Version: '2012-10-17',
        Statement: [
          { Effect: 'Allow', Principal: '*', Action: 's3:PutObject', Resource: 'arn:aws:s3:::forms/open/*' },
          {
            Effect: 'Allow',
            Principal: '*',
            Action: 's3:PutObject',
            Resource: 'arn:aws:s3:::forms/referred/*',
            Condition: {
              StringLike: { 'aws:Referer': 'https://forms.example/*' },
              StringEquals: { 's3:x-amz-acl': 'private' },
            },
          },
        ],
      }
      const { policy } = services.policy.compile(document, { kind: 'bucket', bucket: 'forms' })
      return services.policy.combine([{ policy: policy!, source: 'bucket-policy' }])
    }
    contribute('policy.source', 'open-door', {
      bucketPolicies(bucket) {
        policies ??= compile()
        return bucket === 'forms' ? { policies } : undefined
      },
    })
  },
})

const server = await startServer({ plugins: [...standard, openDoor] })
t.teardown(() => server.stop())
const { client, endpoint } = server
const Bucket = 'forms'
const fileName = '$' + '{filename}'
await client.send(new CreateBucketCommand({ Bucket }))

type Fields = readonly (readonly [name: string, value: string | Blob, fileName?: string])[]

async function post(fields: Fields, init: RequestInit = {}, bucket = Bucket) {
  const form = new FormData()
  for (const [name, value, fileName] of fields) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value, fileName)
  }
  const answer = await fetch(`${endpoint}/${bucket}`, { method: 'POST', body: form, redirect: 'manual', ...init })
  const text = await answer.text()
  const code = /<Code>(.*?)<\/Code>/.exec(text)?.[1]
  return { answer, text, outcome: answer.status < 400 ? String(answer.status) : `${answer.status} ${code}` }
}

interface SignedForm {
  readonly fields?: Readonly<Record<string, string>>
  /** Instead of one `eq` for each field and the bucket. */
  readonly conditions?: readonly unknown[]
  readonly expiration?: string
  readonly document?: string
  readonly file?: Blob
  readonly fileName?: string
  readonly secret?: string
  readonly last?: Fields
  readonly tamper?: Readonly<Record<string, string>>
}

const soon = () => new Date(Date.now() + 60_000).toISOString()

/** A form as a program would write it that knows the rules. */
function signed(form: SignedForm): Fields {
  const { fields = { key: 'signed' }, expiration = soon(), secret = 'change-me-please' } = form
  const given = Object.entries(fields)
  const conditions = form.conditions ?? [{ bucket: Bucket }, ...given.map(([name, value]) => ({ [name]: value }))]
  const nowMs = Date.now()
  const signer = { accessKey: 'admin', secret, region: 'us-east-1' }
  const { policy: _, 'x-amz-signature': __, ...own } = signPolicy(signer, '', nowMs)
  const all = [...conditions, ...Object.entries(own).map(([name, value]) => ({ [name]: value }))]
  const document = form.document ?? JSON.stringify({ expiration, conditions: all })
  const sent = { ...fields, ...signPolicy(signer, document, nowMs), ...form.tamper }
  const file = form.file ?? new Blob(['the file'])
  return [...Object.entries(sent), ['file', file, form.fileName ?? 'name.txt'], ...(form.last ?? [])]
}

const keys = async () =>
  ((await client.send(new ListObjectsV2Command({ Bucket }))).Contents ?? []).map(({ Key }) => Key!)
const textOf = async (Key: string) =>
  (await client.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToString()

t.test('a form signed by the SDK stores its file', async t => {
  const options: PresignedPostOptions = {
    Bucket,
    Key: `sdk/${fileName}`,
    Conditions: [
      ['starts-with', '$Content-Type', 'text/'],
      ['content-length-range', 1, 100],
    ],
    Fields: { 'x-amz-meta-from': 'sdk', success_action_status: '201' },
    Expires: 60,
  }
  const { fields } = await createPresignedPost(client as never, options)
  const file = new Blob(['hello'])
  const { answer, text } = await post([
    ...Object.entries(fields),
    ['Content-Type', 'text/plain'],
    ['file', file, 'C:\\folder\\a b+ü.txt'],
    ['submit', 'Upload to S3'],
  ])
  t.equal(answer.status, 201, text)
  const Key = 'sdk/a b+ü.txt'
  const etag = '"5d41402abc4b2a76b9719d911017c592"'
  t.match(text, `<Bucket>${Bucket}</Bucket><Key>${Key}</Key><ETag>${etag.replaceAll('"', '&quot;')}</ETag>`)
  t.match(text, `<Location>${endpoint}/${Bucket}/sdk/a%20b%2B%C3%BC.txt</Location>`)
  t.equal(answer.headers.get('etag'), etag)
  const head = await client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))
  t.match(head, { ContentType: 'text/plain', Metadata: { from: 'sdk' }, ContentLength: 5 })
  t.ok(head.ChecksumCRC64NVME, 'a checksum as of every upload')
  const wrong = await post([...Object.entries(fields), ['Content-Type', 'image/png'], ['file', file]])
  t.equal(wrong.outcome, '403 AccessDenied')
  t.match(
    wrong.text,
    'Policy Condition failed: [&quot;starts-with&quot;, &quot;$Content-Type&quot;, &quot;text/&quot;]',
  )
  const large = new Blob(['x'.repeat(101)])
  const range = await post([...Object.entries(fields), ['Content-Type', 'text/plain'], ['file', large, 'large']])
  t.equal(range.outcome, '400 EntityTooLarge')
  const empty = await post([...Object.entries(fields), ['Content-Type', 'text/plain'], ['file', new Blob([]), 'empty']])
  t.equal(empty.outcome, '400 EntityTooSmall')
  t.same(await keys(), [Key], 'nothing of what was refused is there')
})

t.test('a form that its policy does not allow is refused', async t => {
  const before = await keys()
  const key = 'signed'
  for (const [what, form, expected, message] of [
    ['expired', { expiration: '2020-01-01T00:00:00Z' }, '403 AccessDenied', 'Policy expired'],
    ['no date', { expiration: 'tomorrow' }, '400 InvalidPolicyDocument', 'expiration'],
    ['another bucket', { conditions: [{ bucket: 'other' }, { key }] }, '403 AccessDenied', 'Policy Condition failed'],
    ['no bucket', { conditions: [{ key }] }, '403 AccessDenied', 'Extra input fields: bucket'],
    ['no key', { conditions: [{ bucket: Bucket }] }, '403 AccessDenied', 'Extra input fields: key'],
    [
      'another key',
      { conditions: [{ bucket: Bucket }, ['starts-with', '$key', 'mine/']] },
      '403 AccessDenied',
      'mine/',
    ],
    [
      'a prefix that ends where another letter begins',
      { conditions: [{ bucket: Bucket }, ['starts-with', '$key', 'e']], tamper: { key: 'e\u0301' } },
      '403 AccessDenied',
      'Policy Condition failed',
    ],
    ['more fields', { tamper: { 'x-amz-meta-more': 'x' } }, '403 AccessDenied', 'Extra input fields: x-amz-meta-more'],
    ['no JSON', { document: '{' }, '400 InvalidPolicyDocument', 'Invalid JSON'],
    ['a list', { document: '[]' }, '400 InvalidPolicyDocument', 'Invalid JSON'],
    ['no conditions', { document: `{"expiration":"${soon()}"}` }, '400 InvalidPolicyDocument', 'conditions'],
    ['unknown part', { document: `{"a":1,"expiration":"${soon()}","conditions":[]}` }, '400 InvalidPolicyDocument', ''],
    ['two properties', { conditions: [{ bucket: Bucket, key }] }, '400 InvalidPolicyDocument', 'exactly one'],
    ['a number', { conditions: [{ bucket: 1 }] }, '400 InvalidPolicyDocument', 'must be a string'],
    ['an operator', { conditions: [['ends-with', '$key', 'x']] }, '400 InvalidPolicyDocument', 'ends-with'],
    ['no dollar', { conditions: [['eq', 'key', 'x']] }, '400 InvalidPolicyDocument', ''],
    ['no range', { conditions: [['content-length-range', 5, 1]] }, '400 InvalidPolicyDocument', 'range'],
    ['wrong secret', { secret: 'nonsense-nonsense' }, '403 SignatureDoesNotMatch', ''],
    ['changed policy', { tamper: { policy: 'e30=' } }, '403 SignatureDoesNotMatch', ''],
    [
      'unknown user',
      { tamper: { 'x-amz-credential': 'nobody/20260101/us-east-1/s3/aws4_request' } },
      '400 InvalidArgument',
      '',
    ],
  ] as [string, SignedForm, string, string][]) {
    const { outcome: seen, text } = await post(signed(form))
    t.equal(seen, expected, what)
    t.ok(text.includes(message), what, { text })
    t.notMatch(text, 'change-me-please')
  }
  t.same(await keys(), before, 'nothing was stored')
  const bucket = [{ bucket: Bucket }, ['starts-with', '$key', ''], ['eq', '$x-amz-meta-not-there', 'x']]
  t.equal(
    (await post(signed({ conditions: bucket }))).outcome,
    '403 AccessDenied',
    'a field that is asked for is missing',
  )
  const later: Fields = [['anything', 'after the file is ignored']]
  const ignored = { fields: { key, 'x-ignore-this': 'x' }, conditions: [{ bucket: Bucket }, { key }], last: later }
  t.equal((await post(signed(ignored))).outcome, '204')
  t.equal(await textOf('signed'), 'the file')
})

t.test('a form must be one', async t => {
  const file = new Blob(['x'])
  t.equal((await post([['file', file]])).outcome, '400 InvalidArgument', 'no key')
  t.equal((await post([['key', 'open/a']])).outcome, '400 IncorrectNumberOfFilesInPostRequest')
  t.equal(
    (
      await post([
        ['file', file],
        ['key', 'open/a'],
      ])
    ).outcome,
    '400 InvalidArgument',
    'the key behind the file',
  )
  t.equal(
    (
      await post([
        ['key', ''],
        ['file', file],
      ])
    ).outcome,
    '400 InvalidArgument',
  )
  t.equal(
    (
      await post([
        ['key', 'open/a'],
        ['KEY', 'open/b'],
        ['file', file],
      ])
    ).outcome,
    '400 MalformedPOSTRequest',
  )
  t.equal(
    (
      await post([
        ['key', `open/${'x'.repeat(1100)}`],
        ['file', file],
      ])
    ).outcome,
    '400 KeyTooLongError',
  )
  const large = 'x'.repeat(21 * 1024)
  t.equal(
    (
      await post([
        ['key', 'open/a'],
        ['note', large],
        ['file', file],
      ])
    ).outcome,
    '400 MaxPostPreDataLengthExceededError',
  )
  const many = Array.from({ length: 300 }, (_, n): Fields[number] => [`f${n}`, ''])
  t.equal((await post([['key', 'open/a'], ...many, ['file', file]])).outcome, '400 MaxPostPreDataLengthExceededError')
  t.equal(
    (
      await post([
        ['key', 'open/a'],
        ['policy', 'e30='],
        ['file', file],
      ])
    ).outcome,
    '400 InvalidArgument',
    'unsigned policy',
  )
  t.equal(
    (
      await post(
        [
          ['key', 'open/a'],
          ['file', file],
        ],
        {},
        'not-there',
      )
    ).outcome,
    '403 AccessDenied',
  )
  const missing = signed({ fields: { key: 'a' }, conditions: [{ bucket: 'not-there' }, { key: 'a' }] })
  t.equal((await post(missing, {}, 'not-there')).outcome, '404 NoSuchBucket')

  const send = (body: string, type: string) => post([], { body, headers: { 'content-type': type } })
  t.equal((await send('key=open/a', 'application/x-www-form-urlencoded')).outcome, '403 AccessDenied')
  const known = await server.signed({
    method: 'POST',
    path: `/${Bucket}`,
    body: 'x',
    headers: { 'content-type': 'text/plain' },
  })
  t.same([known.status, /<Code>(.*)<\/Code>/.exec(await known.text())![1]], [412, 'PreconditionFailed'])
  t.equal((await send('--b\r\n', 'multipart/form-data')).outcome, '400 MalformedPOSTRequest', 'no boundary')
  const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`
  const keyPart = part('Content-Disposition: form-data; name="key"', 'open/broken')
  const filePart = part('Content-Disposition: form-data; name="file"; filename="a"', 'data')
  const type = 'multipart/form-data; boundary=b'
  for (const body of [
    '',
    'nonsense',
    keyPart,
    keyPart + filePart,
    `${keyPart}--b\r\nContent-Disp`,
    `${keyPart}${filePart}--b\r\nX`,
  ]) {
    t.match(
      (await send(body, type)).outcome,
      /^400 (MalformedPOSTRequest|IncorrectNumberOfFiles)/,
      JSON.stringify(body),
    )
  }
  t.notOk((await keys()).includes('open/broken'), 'what breaks off is not stored')
  t.equal((await send(`preamble\r\n${keyPart}${filePart}--b--\r\nepilogue`, type)).outcome, '204')
  t.equal(await textOf('open/broken'), 'data')
})

t.test('a text that is not UTF-8 is refused: it does not become the key of another file', async t => {
  const send = (parts: readonly string[]) => {
    const body = Buffer.from(
      `${parts.map(part => `--b\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--b--\r\n`,
      'latin1',
    )
    return post([], { body, headers: { 'content-type': 'multipart/form-data; boundary=b' } })
  }
  const utf8 = (text: string) => Buffer.from(text).toString('latin1')
  const keyed = `name="key"\r\n\r\nopen/utf8/${fileName}`
  const file = (fileName: string) => `name="file"; ${fileName}\r\n\r\ndata`
  const before = await keys()
  for (const [what, parts, field, message] of [
    ['file name', [keyed, file('filename="\xe4.png"')], 'file', 'The name of the file is not valid UTF-8.'],
    ['key', ['name="key"\r\n\r\nopen/utf8/\xe4', file('filename="a"')], 'key', 'The field key is not valid UTF-8.'],
    [
      'another field',
      [keyed, 'name="x-amz-meta-a"\r\n\r\n\xff', file('filename="a"')],
      'x-amz-meta-a',
      'The field x-amz-meta-a',
    ],
    [
      'name of a field',
      [keyed, 'name="x-\xe4"\r\n\r\nx', file('filename="a"')],
      undefined,
      'The name of a field is not',
    ],
    ['the set of the form', ['name="_charset_"\r\n\r\nwindows-1252', keyed, file('filename="a"')], '_charset_', 'form'],
    [
      'unknown set',
      ['name="key"\r\nContent-Type: text/plain; charset=x-none\r\n\r\nopen/utf8/a', file('filename="a"')],
      'key',
      'x-none',
    ],
    ['escaped name', [keyed, file("filename*=UTF-8''%e4.png")], 'file', 'The name of the file'],
    ['escaped name of another set', [keyed, file("filename*=iso-8859-1''%e4.png")], 'file', 'The name of the file'],
  ] as [string, string[], string | undefined, string][]) {
    const refused = await send(parts)
    t.equal(refused.outcome, '400 InvalidArgument', what)
    t.equal(/<ArgumentName>(.*)<\/ArgumentName>/.exec(refused.text)?.[1], field, what)
    t.ok(refused.text.includes(message), what, refused)
  }
  t.same(await keys(), before, 'nothing was stored')

  for (const parts of [
    ['name="_charset_"\r\n\r\nUTF-8', keyed, file(`filename="${utf8('ä.png')}"`)],
    // What the name says itself is the same as a sign for bytes that were lost, and is kept.
    [keyed, file(`filename="${utf8('\ufffd.png')}"`)],
    [keyed, file(`filename="_.png"; filename*=UTF-8''dir/${encodeURIComponent('ö.png')}`)],
    [keyed, file(`filename="filename*=x; filename*=y"`)],
    ['name="key"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\n\r\nopen/utf8/\xfc', file('filename="a"')],
  ]) {
    const { outcome: seen, text } = await send(parts)
    t.equal(seen, '204', text)
  }
  const names = ['filename*=x; filename*=y', 'ä.png', 'ö.png', 'ü', '\ufffd.png']
  t.same(
    (await keys()).filter(key => key.startsWith('open/utf8/')),
    names.map(name => `open/utf8/${name}`),
  )
})

t.test('anonymous forms have the rights of anonymous callers', async t => {
  const file = new Blob(['free'])
  t.equal(
    (
      await post([
        ['key', `open/${fileName}`],
        ['file', file, 'x.txt'],
      ])
    ).outcome,
    '204',
  )
  t.equal(await textOf('open/x.txt'), 'free')
  t.equal(
    (
      await post([
        ['key', 'closed/x'],
        ['file', file],
      ])
    ).outcome,
    '403 AccessDenied',
  )
  t.equal(
    (
      await post([
        ['key', `closed/${fileName}`],
        ['file', file, 'open/x'],
      ])
    ).outcome,
    '403 AccessDenied',
  )
  t.equal(
    (
      await post([
        ['key', `open/$&${fileName}`],
        ['file', file, '$&'],
      ])
    ).outcome,
    '204',
    'no pattern but the one',
  )
  t.ok((await keys()).includes('open/$&$&'))
  const referred = (Referer: string, acl: string) =>
    post(
      [
        ['key', 'referred/x'],
        ['acl', acl],
        ['file', file],
      ],
      { headers: { Referer, 'x-amz-acl': 'private' } },
    )
  t.equal((await referred('https://other.example/', 'private')).outcome, '403 AccessDenied')
  t.equal((await referred('https://forms.example/a', 'bucket-owner-full-control')).outcome, '403 AccessDenied')
  t.equal((await referred('https://forms.example/a', 'private')).outcome, '204', 'conditions see page and fields')
})

t.test('fields have the meaning of the headers with their names', async t => {
  const md5 = createHash('md5').update('the file').digest('base64')
  const sha256 = createHash('sha256').update('the file').digest('base64')
  const fields = {
    key: 'with/fields',
    acl: 'private',
    'Cache-Control': 'max-age=1',
    'Content-Disposition': 'attachment; filename="ü"',
    'Content-MD5': md5,
    'Content-Type': 'text/x-own',
    'x-amz-meta-name': 'wért',
    'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    'x-amz-checksum-algorithm': 'SHA256',
    'x-amz-checksum-sha256': sha256,
    tagging: '<Tagging><TagSet><Tag><Key>a b</Key><Value>1 + 2=ü</Value></Tag></TagSet></Tagging>',
  }
  const { answer, text } = await post(signed({ fields }))
  t.equal(answer.status, 204, text)
  t.equal(answer.headers.get('x-amz-checksum-sha256'), sha256)
  const Key = 'with/fields'
  const head = await client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))
  t.match(head, {
    CacheControl: 'max-age=1',
    ContentType: 'text/x-own',
    StorageClass: 'REDUCED_REDUNDANCY',
    ChecksumSHA256: sha256,
  })
  t.equal(Buffer.from(head.Metadata!.name!, 'latin1').toString(), 'wért')
  const { TagSet } = await client.send(new GetObjectTaggingCommand({ Bucket, Key }))
  t.same(TagSet, [{ Key: 'a b', Value: '1 + 2=ü' }])

  for (const [more, expected] of [
    [{ 'Content-MD5': createHash('md5').update('other').digest('base64') }, '400 BadDigest'],
    [{ 'Content-MD5': 'nonsense' }, '400 InvalidDigest'],
    [{ 'x-amz-checksum-sha256': createHash('sha256').update('other').digest('base64') }, '400 BadDigest'],
    [{ 'x-amz-checksum-sha256': sha256, 'x-amz-checksum-algorithm': 'CRC32' }, '400 InvalidRequest'],
    [{ 'x-amz-checksum-algorithm': 'ADLER' }, '400 InvalidRequest'],
    [{ 'x-amz-storage-class': 'GLACIER' }, '400 InvalidStorageClass'],
    [{ 'x-amz-server-side-encryption-customer-key': 'x' }, '400 InvalidRequest'],
    [{ 'x-amz-write-offset-bytes': '0' }, '501 NotImplemented'],
    [{ 'x-amz-meta-a': 'line\r\nbreak' }, '400 InvalidArgument'],
    [{ 'x-amz-meta-a': 'x'.repeat(2100) }, '400 MetadataTooLarge'],
    [{ acl: 'public-read' }, '400 AccessControlListNotSupported'],
    [{ tagging: '<Tagging><Tag/></Tagging>' }, '400 MalformedXML'],
    [{ tagging: '<Tagging><TagSet><Tag><Key></Key><Value>1</Value></Tag></TagSet></Tagging>' }, '400 InvalidTag'],
  ] as [Record<string, string>, string][]) {
    t.equal((await post(signed({ fields: { key: 'refused', ...more } }))).outcome, expected, JSON.stringify(more))
  }
  t.notOk((await keys()).includes('refused'))
  t.equal(
    (
      await post(
        signed({
          fields: { key: 'image', 'Content-Type': 'image/png, text/html' },
          conditions: [{ bucket: Bucket }, { key: 'image' }, ['starts-with', '$Content-Type', 'image/']],
        }),
      )
    ).outcome,
    '403 AccessDenied',
    'each of several types must fit',
  )
})

t.test('a browser gets a status, a redirect or a document after the upload', async t => {
  const after = (fields: Record<string, string>) => post(signed({ fields: { key: 'after it/ü', ...fields } }))
  for (const [asked, status] of [
    ['200', 200],
    ['201', 201],
    ['204', 204],
    ['302', 204],
    ['nonsense', 204],
  ] as const) {
    const { answer } = await after({ success_action_status: asked })
    t.equal(answer.status, status, asked)
    t.equal(answer.headers.get('location'), `${endpoint}/${Bucket}/after%20it/%C3%BC`)
  }
  const etag = encodeURIComponent(`"${createHash('md5').update('the file').digest('hex')}"`)
  const query = `bucket=forms&key=after%20it%2F%C3%BC&etag=${etag}`
  const one = await after({ success_action_redirect: 'https://example.org/done', success_action_status: '201' })
  t.same([one.answer.status, one.answer.headers.get('location')], [303, `https://example.org/done?${query}`])
  const two = await after({ success_action_redirect: 'http://example.org/?a=1#there' })
  t.equal(two.answer.headers.get('location'), `http://example.org/?a=1&${query}#there`)
  const three = await after({ redirect: 'http://example.org/' })
  t.equal(three.answer.status, 303)
  for (const unusable of ['javascript:alert(1)', '//example.org', 'data:text/html,x', '']) {
    t.equal((await after({ success_action_redirect: unusable })).answer.status, 204, unusable)
  }
  const VersioningConfiguration = { Status: 'Enabled' } as const
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
  t.ok((await after({})).answer.headers.get('x-amz-version-id'))
  const Origin = 'https://example.org'
  const slash = await fetch(`${endpoint}/${Bucket}/`, { method: 'POST', body: new FormData(), headers: { Origin } })
  t.equal(slash.status, 400, 'a trailing slash changes nothing')
})

t.test('large files stream, and a client that goes away leaves nothing', async t => {
  const bytes = Buffer.alloc(12_000_000)
  for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32LE(i, i)
  bytes.write('\r\n--almost a boundary', 5_000_000)
  const sent = await post(signed({ fields: { key: 'large' }, file: new Blob([bytes]) }))
  t.equal(sent.outcome, '204')
  const got = await client.send(new GetObjectCommand({ Bucket, Key: 'large' }))
  t.ok(bytes.equals(Buffer.from(await got.Body!.transformToByteArray())), 'byte for byte')

  const bounded = { key: 'too-large' }
  const conditions = [{ bucket: Bucket }, bounded, ['content-length-range', 0, 1_000_000]]
  const over = await post(signed({ fields: bounded, conditions, file: new Blob([bytes.subarray(0, 3_000_000)]) }))
  t.equal(over.outcome, '400 EntityTooLarge')
  const denied = await post([
    ['key', 'closed/large'],
    ['file', new Blob([bytes.subarray(0, 3_000_000)])],
  ])
  t.equal(denied.outcome, '403 AccessDenied', 'before the file has come')

  const { port } = new URL(endpoint)
  const head = 'Content-Disposition: form-data; name='
  const begin = `--b\r\n${head}"key"\r\n\r\nopen/half\r\n--b\r\n${head}"file"; filename="a"\r\n\r\n`
  const type = 'multipart/form-data; boundary=b'
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `POST /${Bucket} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 9000000\r\n\r\n${begin}`,
  )
  socket.write(bytes.subarray(0, 2_000_000), () => socket.destroy())
  await new Promise(done => socket.on('close', done))
  await new Promise(done => setTimeout(done, 100))
  t.same(
    (await keys()).filter(key => key === 'open/half' || key === 'too-large' || key === 'closed/large'),
    [],
  )
  t.equal(await outcome(client.send(new HeadObjectCommand({ Bucket, Key: 'large' }))), 'ok', 'the server goes on')
})

const python = '/usr/bin/python3'
t.test('boto3', { skip: !existsSync(python) && 'no Python is installed' }, async t => {
  const script = join(import.meta.dirname, 'fixtures/post.py')
  const printed = await new Promise<string>((done, fail) => {
    execFile(python, [script, endpoint, Bucket], { encoding: 'utf8', timeout: 240_000 }, (error, stdout, stderr) => {
      if (error === null) done(stdout)
      else fail(new Error(`${error.message}\n${stderr}`))
    })
  })
  t.equal(printed.trim(), '204 403 400')
  t.equal(await textOf('boto/from boto.txt'), 'from boto3')
})
