/** Ways past access rules that a stranger tries over S3: other spellings, other operations, forged circumstances. */
import { GetObjectCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3'
import { createPresignedPost } from '@aws-sdk/s3-presigned-post'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t from 'tap'
import { adaSigner, allow, deletion, denied, deny, fileName, md5Of, prefix, worldOf } from './access-rules-world.ts'
import type { Attempt } from './signed-client.ts'

for (const workers of ['0', '2']) {
  t.test(`access rules, with SVC_WORKERS=${workers}`, async t => {
    const { server, admin, client, said, anonymous, rules, ada } = await worldOf(t, workers)

    t.test('a key in another spelling is the same key, or no key', async t => {
      await rules(allow(), deny(prefix('secret/')))
      t.equal(await anonymous('/photos/public/a'), '200')
      for (const path of [
        '/photos/secret/b',
        '/photos/secret%2Fb',
        '/photos/%73ecret/b',
        '/photos/%73%65%63%72%65%74%2f%62',
        '/photos//secret/b',
        '/photos/./secret/b',
        '/photos/x/../secret/b',
        '/photos/secret%252Fb',
        '/photos/secret/b/',
        '/photos/Secret/b',
        '/photos/secret%00/b',
        '/photos/secret/b%00',
        '/photos/secret/b?',
        '/photos/secret/b?versionId=null',
        '/photos/secret/b?versionId=null&versionId=x',
        '/photos/secret/b?x-id=GetObject',
        '/photos/secret/b?partNumber=1',
        '/photos/secret/b?attributes',
        '/photos/secret/b?response-content-type=text/plain',
        `http://127.0.0.1:${server.port}/photos/secret/b`,
      ]) {
        const [plain, query] = path.split('?')
        const headers: Record<string, string> = path.includes('attributes') ? { 'x-amz-object-attributes': 'ETag' } : {}
        t.match(await anonymous(plain!, { query, headers }), /^(403 AccessDenied|404 NoSuchKey|400 \w+)$/, path)
      }
      t.equal(await anonymous('/photos/secret%c0%afb'), '400 InvalidURI', 'overlong UTF-8')
      t.equal((await client.send({ method: 'HEAD', path: '/photos/secret/b', signer: null })).status, 403)
      t.equal(await anonymous('/photos/secret/b', { headers: { range: 'bytes=0-1' } }), denied)
      t.equal(await anonymous('/photos/secret/b', { headers: { 'if-none-match': '*' } }), denied, 'no 304 either')
    })

    t.test('keys and patterns are matched in one form of Unicode', async t => {
      await rules(allow(), deny(prefix('public/e\u0301')))
      t.equal(await anonymous('/photos/public/%C3%A9'), denied, 'composed')
      t.equal(await anonymous('/photos/public/e%CC%81'), denied, 'decomposed')
      await rules(allow(), deny({ match: { type: 'regex', pattern: '^PUBLIC/É$', caseInsensitive: true } }))
      t.equal(await anonymous('/photos/public/%C3%A9'), denied, 'folded')
      await rules(allow(), deny({ match: { type: 'glob', pattern: '*/?' } }))
      t.equal(await anonymous('/photos/public/e%CC%81'), denied, 'one character')
    })

    t.test('the listing that is allowed is the listing that is made', async t => {
      await rules(allow({ actions: ['list'], match: { type: 'glob', pattern: 'public/**' } }))
      const list = async (query: string) => {
        const { status, body } = await client.send({ method: 'GET', path: '/photos', query, signer: null })
        return `${status} ${/secret|home|inbox/.test(body.toString()) ? 'everything' : ''}`.trim()
      }
      t.equal(await list('list-type=2&prefix=public/'), '200')
      for (const query of [
        'list-type=2',
        'list-type=2&prefix=',
        'list-type=2&prefix=&prefix=public/',
        'list-type=2&prefix=publi',
        'list-type=2&Prefix=public/',
        'list-type=2&start-after=public/',
        'list-type=2&delimiter=/',
        'prefix=pub&marker=public/',
        'versions&prefix=secret/',
        'uploads',
      ])
        t.equal(await list(query), '403', query)
      // Of equal names the first counts, for the rule and for the listing.
      t.equal(await list('list-type=2&prefix=public/&prefix=secret/'), '200')
      t.equal(await list('versions&prefix=public/'), '200')
      t.equal(await list('list-type=2&%70refix=public/'), '200')
      t.equal(await anonymous('/photos/public/a'), denied, 'to list is not to read')
    })

    t.test('copies, parts of copies and bulk deletions ask for each key', async t => {
      await rules(
        allow({ actions: ['read', 'write', 'delete'], principals: ['ada'] }),
        deny({ actions: ['read', 'delete'], ...prefix('secret/') }),
      )
      const put = (copy: string, more: Partial<Attempt> = {}) =>
        said({
          method: 'PUT',
          path: '/photos/inbox/copy',
          headers: { 'x-amz-copy-source': copy },
          signer: adaSigner,
          ...more,
        })
      t.equal(await put('/photos/public/a'), '200')
      for (const copy of [
        '/photos/secret/b',
        'photos/secret/b',
        'photos/secret%2Fb',
        'photos/%73ecret/b',
        'photos/secret/b?versionId=null',
        'photos//secret/b',
      ])
        t.match(await put(copy), /^(403 AccessDenied|404 NoSuchKey|400 \w+)$/, copy)
      const start = { method: 'POST', path: '/photos/inbox/parts', query: 'uploads=', signer: adaSigner }
      const upload = /<UploadId>(.*)<\/UploadId>/.exec((await client.send(start)).body.toString())![1]!
      const part = { Bucket: 'photos', Key: 'inbox/parts', UploadId: upload, PartNumber: 1 }
      await t.rejects(ada.send(new UploadPartCopyCommand({ ...part, CopySource: 'photos/secret/b' })), {
        name: 'AccessDenied',
      })
      t.ok(await ada.send(new UploadPartCopyCommand({ ...part, CopySource: 'photos/public/a' })))
      const remove = (...keys: string[]) =>
        client.send({
          method: 'POST',
          path: '/photos',
          query: 'delete=',
          headers: { 'x-amz-checksum-algorithm': 'CRC32', ...md5Of(deletion(keys)) },
          body: deletion(keys),
          signer: adaSigner,
        })
      const removed = (await remove('inbox/copy', 'secret/b', 'secret/missing')).body.toString()
      t.match(removed, '<Deleted><Key>inbox/copy</Key></Deleted>')
      t.match(removed, /<Error><Key>secret\/b<\/Key><Code>AccessDenied<\/Code>/)
      t.match(removed, /<Error><Key>secret\/missing<\/Key><Code>AccessDenied<\/Code>/, 'nor is told what is missing')
      t.equal(await said({ method: 'HEAD', path: '/photos/secret/b' }), '200')
      // What is denied in the middle of an upload ends it.
      await rules(allow({ actions: ['read', 'write'], principals: ['ada'] }), deny({ actions: ['write'] }))
      const complete = { method: 'POST', path: '/photos/inbox/parts', query: `uploadId=${upload}`, signer: adaSigner }
      const body =
        '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>'
      t.equal(await said({ ...complete, body }), denied)
      t.equal(await said({ ...complete, method: 'PUT', query: `partNumber=2&uploadId=${upload}`, body: 'x' }), denied)
    })

    t.test('presigned URLs and forms are held to the rules of their time', async t => {
      await rules(
        allow({ actions: ['read', 'write'], principals: ['ada'], match: { type: 'glob', pattern: 'public/**' } }),
      )
      const url = new URL(await getSignedUrl(ada, new GetObjectCommand({ Bucket: 'photos', Key: 'public/a' })))
      const open = (more: Partial<Attempt> = {}) => anonymous(url.pathname, { query: url.search.slice(1), ...more })
      t.equal(await open(), '200')
      const form = await createPresignedPost(ada, {
        Bucket: 'photos',
        Key: `public/${fileName}`,
        Conditions: [['starts-with', '$key', '']],
      })
      const send = async (fields: Readonly<Record<string, string>>, filename: string) => {
        const data = new FormData()
        for (const [name, value] of Object.entries({ ...form.fields, ...fields })) data.append(name, value)
        data.append('file', new Blob(['x']), filename)
        const answer = await fetch(`${server.endpoint}/photos`, { method: 'POST', body: data })
        const text = await answer.text()
        return `${answer.status} ${/<Code>(\w+)/.exec(text)?.[1] ?? ''}`.trim()
      }
      t.equal(await send({}, 'new'), '204')
      t.equal(await send({ key: `secret/${fileName}` }, 'new'), denied)
      t.equal(await send({ key: fileName }, 'secret'), denied)
      t.equal(await send({ key: 'public/../secret/b' }, 'new'), '204', 'dots are only dots')
      await rules(allow({ principals: ['ada'], actions: ['read', 'write'] }), deny({ actions: ['read', 'write'] }))
      t.equal(await open(), denied)
      t.equal(await send({}, 'new'), denied)
      await rules(allow({ principals: ['ada'], conditions: { methods: ['GET'] } }))
      t.equal(await open(), '200')
      t.equal(await open({ method: 'HEAD' }), '403')
    })

    t.test('circumstances cannot be forged', async t => {
      const forged = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9' }
      const secure = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'inside.example' }
      await rules(allow({ conditions: { sourceIp: ['203.0.113.0/24'] } }))
      t.equal(await anonymous('/photos/public/a', { headers: forged }), denied)
      await rules(allow({ conditions: { secureTransport: true } }))
      t.equal(await anonymous('/photos/public/a', { headers: secure }), denied)
      await rules(allow({ conditions: { host: ['inside.example'] } }))
      t.equal(await anonymous('/photos/public/a', { headers: secure }), denied)
      for (const block of [
        '127.0.0.1',
        '::ffff:127.0.0.1',
        '::ffff:7f00:1/128',
        '::ffff:127.0.0.0/104',
        '127.0.0.0/8',
      ]) {
        await rules(allow({ conditions: { sourceIp: [block] } }))
        t.equal(await anonymous('/photos/public/a'), '200', block)
        await rules(allow(), deny({ conditions: { sourceIp: [block] } }))
        t.equal(await anonymous('/photos/public/a', { headers: forged }), denied, block)
      }
      await rules(allow({ conditions: { headers: { 'X-TeAm': 'red' } } }))
      t.equal(await anonymous('/photos/public/a', { headers: { 'x-team': 'red' } }), '200')
      t.equal(await anonymous('/photos/public/a', { headers: { 'X-TEAM': 'blue' } }), denied)
      t.equal(await anonymous('/photos/public/a', { headers: { 'x-team': 'redder' } }), denied)
      for (const name of ['constructor', 'toString', 'hasownproperty', 'length']) {
        await rules(allow({ conditions: { headers: { [name]: '*' } } }))
        t.equal(await anonymous('/photos/public/a'), denied, `a header named ${name}`)
        await rules(allow(), deny({ conditions: { headers: { [name]: '*' } } }))
        t.equal(await anonymous('/photos/public/a'), '200', `a header named ${name} that nobody sends`)
      }
    })

    t.test('a denied answer tells nothing but that it is denied, and the audit record names the rule', async t => {
      await rules(allow(), deny({ id: 'the-name-of-the-rule', description: 'why', ...prefix('secret/') }))
      const answers = []
      for (const path of ['/photos/secret/b', '/photos/secret/missing']) {
        const { status, headers, body } = await client.send({ method: 'GET', path, signer: null })
        const text = body.toString().replace(/<(RequestId|HostId|Resource)>.*?<\/\1>/g, '')
        t.notMatch(text + JSON.stringify(headers), /the-name|why|rule|prefix|priority/i)
        const { 'x-amz-request-id': _id, 'x-amz-id-2': _id2, date: _date, 'content-length': _length, ...rest } = headers
        answers.push({ status, text, rest })
      }
      t.same(answers[0], answers[1], 'there or not')
      const named = async () =>
        (await admin.call('GET', '/audit?bucket=photos&limit=100')).items.filter(
          (one: { tags: { accessRule?: string } }) => one.tags.accessRule === 'the-name-of-the-rule',
        ).length
      let count = await named()
      for (let tries = 0; tries < 300 && count < 2; tries++) {
        await new Promise(done => setTimeout(done, 100))
        count = await named()
      }
      t.equal(count, 2)
    })
  })
}
