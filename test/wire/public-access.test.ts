/** Buckets that everybody may use, by curl without credentials. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { requireProgram, run } from './clients.ts'
import { startServer } from './server.ts'
import { createSignedClient } from './signed-client.ts'

const { path: program, skip } = requireProgram('curl')

interface Statement {
  readonly [element: string]: unknown
}

t.test('anonymous callers have the rights of the bucket policy', async t => {
  const server = await startServer()
  const client = createSignedClient(server.port)
  t.teardown(async () => {
    client.disconnect()
    await server.remove()
  })
  const signed = async (method: string, path: string, query = '', body = '') => {
    const { status } = await client.send({ method, path, query, body })
    if (status >= 300) throw new Error(`${method} ${path}?${query}: ${status}`)
  }
  const statement = (given: Statement) => ({
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:GetObject',
    Resource: 'arn:aws:s3:::site/*',
    ...given,
  })
  const put = (...statements: Statement[]) => {
    const policy = { Version: '2012-10-17', Statement: statements.map(statement) }
    return signed('PUT', '/site', 'policy=', JSON.stringify(policy))
  }
  const block = (flags: string) => {
    const root = 'PublicAccessBlockConfiguration'
    return signed('PUT', '/site', 'publicAccessBlock=', `<${root}>${flags}</${root}>`)
  }
  await signed('PUT', '/site')
  for (const key of ['index.html', 'secret/plan', 'a b+c/ü']) {
    await signed('PUT', `/site/${encodeURI(key).replaceAll('+', '%2B')}`, '', `content of ${key}`)
  }

  t.test('curl', { skip }, async t => {
    /** `200 body`, or the status and the code of the error. */
    const curl = async (path: string, ...args: string[]) => {
      const format = ['-sS', '-w', '\\n%{http_code}', ...args, `${server.endpoint}${path}`]
      const { stdout } = await run(program, format, server)
      const end = stdout.lastIndexOf('\n')
      const text = stdout.slice(0, end)
      return `${stdout.slice(end + 1)} ${/<Error><Code>(\w+)</.exec(text)?.[1] ?? text}`.trim()
    }
    t.equal(await curl('/site/index.html'), '403 AccessDenied')
    await put({}, { Effect: 'Deny', Resource: 'arn:aws:s3:::site/secret/*' })
    t.equal(await curl('/site/index.html'), '200 content of index.html')
    t.equal(await curl('/site/index.html', '-r', '0-6'), '206 content')
    t.match(await curl('/site/index.html', '-I'), /^200 HTTP\/1.1 200 OK\r/)
    t.equal(await curl('/site/a%20b%2Bc/%C3%BC'), '200 content of a b+c/ü')
    t.equal(await curl('/site/secret/plan'), '403 AccessDenied')
    t.equal(await curl('/site/secret%2Fplan'), '403 AccessDenied', 'however it is spelled')
    t.equal(await curl('/site/x/../secret/plan', '--path-as-is'), '403 AccessDenied', 'and dots are only dots')
    for (const path of ['/site', '/site?list-type=2', '/site?policy', '/site?versioning', '/site?uploads', '/'])
      t.equal(await curl(path), '403 AccessDenied', path)
    t.equal(await curl('/site/index.html', '-X', 'DELETE'), '403 AccessDenied')

    const list = { Action: 's3:ListBucket', Resource: 'arn:aws:s3:::site' }
    await put({ ...list, Condition: { StringLike: { 's3:prefix': ['public/*', 'index*'] } } })
    t.match(await curl('/site?list-type=2&prefix=index'), /^200 .*<Key>index.html<\/Key>/s)
    t.match(await curl('/site?prefix=public/'), /^200 .*<KeyCount>0<|^200 .*<ListBucketResult/s)
    t.equal(await curl('/site?list-type=2&prefix=s'), '403 AccessDenied')
    t.equal(await curl('/site'), '403 AccessDenied')
    t.equal(await curl('/site/index.html'), '403 AccessDenied', 'to list is not to read')

    writeFileSync(join(server.folder, 'dropped'), 'from a stranger')
    await put({ Action: 's3:PutObject', Resource: 'arn:aws:s3:::site/inbox/*' })
    t.match(await curl('/site/inbox/one', '-T', 'dropped'), /^200/)
    t.equal(await curl('/site/one', '-T', 'dropped'), '403 AccessDenied')
    t.equal(await curl('/site/inbox/one'), '403 AccessDenied', 'to write is not to read')
    const [stored] = [await client.send({ method: 'GET', path: '/site/inbox/one' })]
    t.equal(stored.body.toString(), 'from a stranger')

    const conditions: [Statement, string[], boolean][] = [
      [{ IpAddress: { 'aws:SourceIp': '127.0.0.1/32' } }, [], true],
      [{ IpAddress: { 'aws:SourceIp': '198.51.100.0/24' } }, [], false],
      [{ IpAddress: { 'aws:SourceIp': '198.51.100.0/24' } }, ['-H', 'X-Forwarded-For: 198.51.100.7'], false],
      [{ StringLike: { 'aws:Referer': 'https://example.org/*' } }, ['-e', 'https://example.org/a'], true],
      [{ StringLike: { 'aws:Referer': 'https://example.org/*' } }, ['-e', 'https://example.com/a'], false],
      [{ Bool: { 'aws:SecureTransport': 'true' } }, [], false],
    ]
    for (const [Condition, args, isAllowed] of conditions) {
      await put({ Condition })
      const expected = isAllowed ? '200 content of index.html' : '403 AccessDenied'
      t.equal(await curl('/site/index.html', ...args), expected, `${JSON.stringify(Condition)} ${args}`)
    }
    await signed('DELETE', '/site', 'policy=')
  })

  const askAll = async () => {
    // Connections of their own, which the workers share out among them.
    client.disconnect()
    const asked = Array.from({ length: 6 }, () =>
      client.send({ method: 'GET', path: '/site/index.html', signer: null }),
    )
    return new Set((await Promise.all(asked)).map(({ status }) => status))
  }
  const isAnsweredBy = async (t: Test, status: number, what: string) => {
    const seen = await askAll()
    if (seen.size !== 1 || !seen.has(status)) t.fail(`${what}: ${[...seen]} instead of ${status}`)
  }

  t.test('a change is in force for the next request, in every worker', async t => {
    for (let round = 0; round < 25; round++) {
      await put({})
      await isAnsweredBy(t, 200, `round ${round}, public`)
      await block('<RestrictPublicBuckets>true</RestrictPublicBuckets>')
      await isAnsweredBy(t, 403, `round ${round}, blocked`)
      await signed('DELETE', '/site', 'publicAccessBlock=')
      await isAnsweredBy(t, 200, `round ${round}, not blocked any more`)
      await put({ Effect: 'Deny' })
      await isAnsweredBy(t, 403, `round ${round}, denied`)
      await signed('DELETE', '/site', 'policy=')
      await isAnsweredBy(t, 403, `round ${round}, without a policy`)
    }
    t.pass('125 changes, 750 requests')
  })

  t.test('so do access control lists', async t => {
    const enforce = (ownership: string) => {
      const rule = `<Rule><ObjectOwnership>${ownership}</ObjectOwnership></Rule>`
      return signed('PUT', '/site', 'ownershipControls=', `<OwnershipControls>${rule}</OwnershipControls>`)
    }
    const setAcl = async (acl: string) => {
      const headers = { 'x-amz-acl': acl }
      const { status } = await client.send({ method: 'PUT', path: '/site/index.html', query: 'acl=', headers })
      t.equal(status, 200)
    }
    await enforce('ObjectWriter')
    for (let round = 0; round < 10; round++) {
      await setAcl('public-read')
      await isAnsweredBy(t, 200, `round ${round}, public`)
      await block('<IgnorePublicAcls>true</IgnorePublicAcls>')
      await isAnsweredBy(t, 403, `round ${round}, blocked`)
      await signed('DELETE', '/site', 'publicAccessBlock=')
      await isAnsweredBy(t, 200, `round ${round}, not blocked any more`)
      await enforce('BucketOwnerEnforced')
      await isAnsweredBy(t, 403, `round ${round}, off`)
      await enforce('ObjectWriter')
      await isAnsweredBy(t, 200, `round ${round}, on`)
      await setAcl('private')
      await isAnsweredBy(t, 403, `round ${round}, private`)
    }
    await enforce('BucketOwnerEnforced')
  })

  t.test('a restart forgets nothing', async t => {
    await put({})
    t.equal(await server.stop(), 0)
    await server.start()
    client.disconnect()
    const answers = []
    for (const path of ['/site/index.html', '/site']) {
      answers.push((await client.send({ method: 'GET', path, signer: null })).status)
    }
    t.same(answers, [200, 403])
  })
})
