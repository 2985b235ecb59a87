/**
 * What holds for every S3 operation, derived from its declaration: nobody gets in without a valid signature, a missing
 * bucket is said to be missing, a bad document is refused, another owner's bucket is not touched; and what is not implemented
 * answers 501 with the name of its plugin, whoever asks.
 */
import { createHash } from 'node:crypto'
import type { Signer } from 'svc/plugins/auth-sigv4/api'
import type { S3Operation, XmlShape } from 'svc/plugins/s3/api'
import t, { type Test } from 'tap'
import { readDeclarations } from '../../docs/declarations.ts'
import { accessKey, region, secretKey, startServer } from '../wire/server.ts'
import { type Answer, type Attempt, createSignedClient } from '../wire/signed-client.ts'

const { operations, notBuilt } = await readDeclarations()
const server = await startServer()
const client = createSignedClient(server.port)
const { send } = client
t.teardown(async () => {
  client.disconnect()
  await server.remove()
})

const stranger: Signer = { accessKey, secret: 'not-the-secret', region }

const values: Readonly<Record<string, string>> = { uploadId: '00000000000000aa', partNumber: '1' }

/** A request that the operation takes, as far as its declaration tells. */
function attemptOf({ match, body }: S3Operation, bucket: string): Attempt {
  const path = { service: '/', bucket: `/${bucket}`, object: `/${bucket}/key` }[match.level]
  const parameters = (match.query ?? []).map(one => (one.includes('=') ? one : `${one}=${values[one] ?? ''}`))
  const headers: Record<string, string> = {}
  if (match.header !== undefined) headers[match.header.toLowerCase()] = `/${bucket}/source`
  if (match.query?.includes('attributes')) headers['x-amz-object-attributes'] = 'ETag'
  if (match.query?.includes('renameObject')) headers['x-amz-rename-source'] = 'source'
  return {
    method: match.method,
    path,
    query: parameters.sort().join('&'),
    headers,
    body: body.kind === 'stream' ? 'data' : '',
  }
}

/** Documents with an element that is not declared: at the top, and in each element that is. */
function strayElements(root: string, shape: XmlShape): string[] {
  if (shape === 'anything') return []
  const documents = [`<${root}><Stray-Element/></${root}>`]
  if (shape === 'text') return documents
  const inner = Object.entries(shape).flatMap(([name, one]) => strayElements(name, one))
  return [...documents, ...inner.map(document => `<${root}>${document}</${root}>`)]
}

/** HEAD has no body to hold a code. */
function refused(t: Test, answer: Answer, status: number, code: string, method: string, what: string): void {
  t.same([answer.status, answer.code], [status, method === 'HEAD' ? undefined : code], what, {
    body: answer.body.toString(),
  })
}

const made = await send({ method: 'PUT', path: '/generated' })
const begun = await send({ method: 'POST', path: '/generated/key', query: 'uploads=' })
/** The list of parts is read only where there is an upload. */
const uploadId = /<UploadId>(\w+)</.exec(begun.body.toString())![1]!
t.equal(made.status, 200, 'a bucket to work in')

for (const { value: operation } of operations) {
  const { name, match, body } = operation
  // A preflight is for everyone: its own plugin tests it.
  if (operation.action === undefined) continue
  t.test(name, async t => {
    const attempt = attemptOf(operation, 'generated')
    refused(t, await send({ ...attempt, signer: null }), 403, 'AccessDenied', match.method, 'without credentials')
    const wrong = await send({ ...attempt, signer: stranger })
    refused(t, wrong, 403, 'SignatureDoesNotMatch', match.method, 'with a wrong secret')
    t.notMatch(wrong.body.toString(), secretKey, 'and the secret is not told')
    if (match.level === 'service') return

    const owner = { 'x-amz-expected-bucket-owner': '0123456789ab' }
    const foreign = await send({ ...attempt, headers: { ...attempt.headers, ...owner } })
    refused(t, foreign, 403, 'AccessDenied', match.method, 'when the bucket should be somebody else’s')
    if (name === 'CreateBucket') return
    if (body.kind !== 'xml') {
      const missing = await send({ ...attemptOf(operation, 'no-such-bucket-here') })
      refused(t, missing, 404, 'NoSuchBucket', match.method, 'in a bucket that is missing')
      return
    }
    const query = attempt.query!.replace(values.uploadId!, uploadId)
    const document = (content: string) => {
      const headers = { ...attempt.headers, 'content-md5': createHash('md5').update(content).digest('base64') }
      return send({ ...attempt, query, body: content, headers })
    }
    for (const content of [
      '<unclosed>',
      `<${body.root}><a></b></${body.root}>`,
      `<Other${body.root}/>`,
      `<!DOCTYPE x [<!ENTITY e "e">]><${body.root}>&e;</${body.root}>`,
      'no document at all',
      '\u0000\u0001\u0002',
    ]) {
      const answer = await document(content)
      t.equal(answer.status, 400, JSON.stringify(content))
      t.equal(answer.code, 'MalformedXML')
    }
    for (const content of strayElements(body.root, body.elements ?? {})) {
      const answer = await document(content)
      t.same([answer.status, answer.code], [400, 'MalformedXML'], content)
    }
    const deep = '<a>'.repeat(5000) + '</a>'.repeat(5000)
    t.equal((await document(`<${body.root}>${deep}</${body.root}>`)).status, 400, 'nested far too deep')
    const large = await document(`<${body.root}>${' '.repeat(body.maxBytes + 1)}</${body.root}>`)
    t.equal(large.status, 400, 'larger than declared')
  })
}

t.test('operations that are not implemented answer 501', async t => {
  await send({ method: 'PUT', path: '/generated/key', body: 'untouched' })
  t.ok(notBuilt.length > 25, `${notBuilt.length} operations`)
  for (const { name: operation, plugin, level, method, parameter } of notBuilt) {
    const tail = level === 'bucket' ? '' : '/key'
    const query = `${parameter}=`
    const attempt = { method, path: `/generated${tail}`, query, body: method === 'PUT' ? '<x/>' : '' }
    const answer = await send({ ...attempt })
    refused(t, answer, 501, 'NotImplemented', method, operation)
    t.match(answer.body.toString(), `<Plugin>${plugin}</Plugin>`, `${operation} names ${plugin}`)
    refused(
      t,
      await send({ ...attempt, signer: null }),
      403,
      'AccessDenied',
      method,
      `${operation} without credentials`,
    )
    const missing = await send({ ...attempt, path: `/no-such-bucket-here${tail}` })
    refused(t, missing, 404, 'NoSuchBucket', method, `${operation} in a bucket that is missing`)
  }
  t.equal((await send({ method: 'GET', path: '/generated/key' })).body.toString(), 'untouched')
})
