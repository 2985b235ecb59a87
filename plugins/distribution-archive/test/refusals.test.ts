/** What is refused: which right is missing, which bucket, all problems at once, each place once. */
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

t.setTimeout(300_000)
const server = await startAdmin()
t.teardown(() => server.stop())
for (const Bucket of ['pages', 'logs']) await server.s3.send(new CreateBucketCommand({ Bucket }))

const api = (path: string) => `/api/v1${path}`
const send = (text: string, query = '', caller: typeof server.signed = server.signed) => {
  const headers = { 'content-type': 'application/yaml' }
  return caller({ method: 'POST', path: api(`/distributions/import${query}`), headers, body: text })
}
const document = (kind: string, name: string, spec: string) =>
  `apiVersion: svc/v1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec: ${spec}\n`
const site = (name: string, fields = '', bucket = 'pages') =>
  document('Distribution', name, `{ aliases: [${name}.example.test], origin: { bucket: ${bucket} }${fields} }`)

t.test('a right that is missing on the bucket of the log is named', async t => {
  const statement = { Effect: 'Allow', Action: ['admin:ManageDistributions'], Resource: ['arn:aws:s3:::*'] }
  for (const [method, path, body] of [
    ['PUT', '/policies/pipeline', { document: { Version: '2012-10-17', Statement: [statement] } }],
    ['POST', '/users', { accessKey: 'pipeline', secretKey: 'pipeline-secret-key-1' }],
    ['POST', '/policies/attach', { policyNames: ['pipeline'], user: 'pipeline' }],
  ] as const) {
    const answer = await server.signed({ method, path: api(path), body })
    t.ok(answer.status < 300, answer.text)
  }
  const caller = server.signedBy('pipeline', 'pipeline-secret-key-1')
  const { status, json } = await send(
    site('logged', ', logging: { accessLog: true, target: "bucket:logs/web/" }'),
    '',
    caller,
  )
  t.equal(status, 403)
  t.match(json.detail, /^Distribution\/logged: To write the log into logs you need s3:PutObject there\.$/)
  t.equal((await send(site('logged'), '', caller)).status, 200)
})

t.test('a bucket that is missing is named, with what to do', async t => {
  const cases: [string, string, string][] = [
    [site('moved', '', 'elsewhere'), 'origin/bucket', 'elsewhere'],
    [site('moved', ', logging: { accessLog: true, target: "bucket:nologs/web/" }'), 'logging/target', 'nologs'],
  ]
  for (const [text, element, bucket] of cases) {
    const { json } = await send(text)
    t.match(json.errors, [
      {
        element: `Distribution/moved/spec/${element}`,
        message: `There is no bucket ${bucket}: make it first (\`svcctl mb ALIAS/${bucket}\`)`,
      },
    ])
  }
})

t.test('problems of form and of names are told at once', async t => {
  const file = [
    document('CachePolicy', 'wrong', '{ ttl: 3 }'),
    document('KeyGroup', 'broken', '{ key: [] }'),
    site(
      'one',
      ', behaviors: [{ pathPattern: { type: prefix, pattern: /a/ }, access: signed, signing: { keyGroup: none } }]',
      'nowhere',
    ),
    site('two', ', enabled: 3'),
    document('DistributionCache', 'one', '{ cache: { policy: nothing } }'),
    document('DistributionCache', 'two', '{ cache: { policy: standard } }'),
    site('three', ', defaultBehavior: { access: signed, signing: { keyGroup: broken } }'),
  ].join('---\n')
  for (const mode of ['merge', 'replace']) {
    const { status, json } = await send(file, `?mode=${mode}`)
    t.equal(status, 400)
    const elements = json.errors.map(({ element }: { element: string }) => element).sort()
    t.match(elements, [
      'CachePolicy/wrong/spec/ttl',
      'Distribution/one/spec/behaviors/0/signing/keyGroup',
      'Distribution/one/spec/origin/bucket',
      'Distribution/two/spec/enabled',
      'DistributionCache/one/spec/cache/policy',
      'KeyGroup/broken/spec/key',
    ])
    t.equal(elements.length, 6, 'and none that a document with a problem may have caused')
    t.equal(new Set(elements).size, 6)
    for (const { line, column } of json.errors) t.ok(line > 0 && column > 0)
  }
})

t.test('the cache of a stored distribution is checked although the document of that one is wrong', async t => {
  t.equal((await send(site('kept'))).status, 200)
  const cache = (spec: string) => document('DistributionCache', 'kept', spec)
  const wrong = site('kept', ', enabled: 3')
  const elementsOf = async (spec: string) => {
    const { json } = await send(`${wrong}---\n${cache(spec)}`)
    return json.errors.map(({ element }: { element: string }) => element)
  }
  const enabled = 'Distribution/kept/spec/enabled'
  t.same(await elementsOf('{ cache: { policy: nothing } }'), [enabled, 'DistributionCache/kept/spec/cache/policy'])
  t.same(await elementsOf('{ domains: [{ host: new.example.test, cache: {} }] }'), [enabled], 'it may get that name')
})

t.test('a policy and a webhook that are wrong in one document are both told', async t => {
  t.equal((await send(site('hooked'))).status, 200)
  const { json } = await send(
    document('DistributionCache', 'hooked', '{ cache: { policy: nothing }, webhooks: [{ id: edge, type: cdn_9 }] }'),
  )
  t.match(json.errors, [
    { element: 'DistributionCache/hooked/spec/cache/policy', line: 4 },
    { element: 'DistributionCache/hooked/spec/webhooks/0/type', line: 4 },
  ])
})

t.test('the sentence has the place of the first problem as the list has it', async t => {
  const { json } = await send(site('placed', ', enabled: 3'))
  const [{ line, column, element, message }] = json.errors
  t.equal(json.detail, `line ${line}, column ${column}, ${element}: ${message}.`)
})
