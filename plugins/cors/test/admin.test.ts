/** CORS rules over the Admin API: the document of S3, with ETags, and everything that is wrong at once. */
import { type CORSRule, GetBucketCorsCommand } from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(() => server.stop())
const { s3: client, signed } = server
const path = '/api/v1/buckets/pages/cors'
const put = (rules: readonly object[], headers: Record<string, string> = {}) =>
  signed({ method: 'PUT', path, body: { rules }, headers })
const rule = {
  allowedOrigins: ['https://*.example.org'],
  allowedMethods: ['GET', 'PUT'],
  allowedHeaders: ['*'],
  exposeHeaders: ['ETag'],
}

t.test('rules are those of S3, and change only where the ETag is right', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'pages' } })
  const none = await signed({ path })
  t.same(none.json, { rules: [] })
  const whileEmpty = { 'if-match': String(none.headers.etag) }
  t.match(whileEmpty['if-match'], /^"[0-9a-f]{32}"$/)
  const first = await put([{ id: 'first', ...rule, maxAgeSeconds: 60 }], whileEmpty)
  t.equal(first.status, 200)
  t.match(first.headers.etag, /^"[0-9a-f]{32}"$/)
  const overS3 = await client.send(new GetBucketCorsCommand({ Bucket: 'pages' }))
  const expected: CORSRule = {
    ID: 'first',
    AllowedOrigins: rule.allowedOrigins,
    AllowedMethods: rule.allowedMethods,
    AllowedHeaders: ['*'],
    ExposeHeaders: ['ETag'],
    MaxAgeSeconds: 60,
  }
  t.same(overS3.CORSRules, [expected])
  const read = await signed({ path })
  t.same([read.json, read.headers.etag], [first.json, first.headers.etag])

  const short = { allowedOrigins: ['*'], allowedMethods: ['GET'] }
  t.equal((await put([short], { 'if-match': '"0"' })).json.code, 'precondition_failed')
  t.equal((await put([], whileEmpty)).json.code, 'precondition_failed')
  const second = await put([short], { 'if-match': String(first.headers.etag) })
  t.same(second.json, { rules: [{ ...short, allowedHeaders: [], exposeHeaders: [] }] })
  t.not(second.headers.etag, first.headers.etag)
  const removed = await put([], { 'if-match': String(second.headers.etag) })
  t.same([removed.status, removed.json, removed.headers.etag], [200, { rules: [] }, none.headers.etag])
  const empty = await signed({ path })
  t.same([empty.json, empty.headers.etag], [{ rules: [] }, none.headers.etag])
  t.equal((await put([], whileEmpty)).status, 200)
  t.equal((await put([], { 'if-match': '*' })).status, 200)
})

t.test('all problems are reported, by rule', async t => {
  const answer = await put([rule, { id: 'bad', ...rule, allowedMethods: ['PATCH'], exposeHeaders: ['*'] }, {}])
  t.equal(`${answer.status} ${answer.json.code}`, '400 invalid_configuration')
  t.match(answer.json.ruleErrors, [
    { rule: 1, id: 'bad', field: 'allowedMethods[0]', code: 'InvalidRequest', message: /PATCH/ },
    { rule: 1, id: 'bad', message: /wildcard/ },
    { rule: 2, message: /AllowedOrigin/ },
    { rule: 2, message: /AllowedMethod/ },
  ])
  t.match((await put(Array.from({ length: 101 }, () => rule))).json.ruleErrors, [{ rule: -1 }])
  t.same((await signed({ path })).json, { rules: [] }, 'nothing was stored')
  t.equal((await signed({ path: '/api/v1/buckets/missing/cors' })).json.code, 'bucket_not_found')
})
