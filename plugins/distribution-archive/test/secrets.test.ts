/** Secrets of documents: which stored one a reference names, and which references are told because nothing has them. */
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import { referenceTo, variableOf } from 'svc/plugins/secret-references/api'
import t, { type Test } from 'tap'

t.setTimeout(300_000)
const server = await startAdmin()
t.teardown(() => server.stop())
await server.s3.send(new CreateBucketCommand({ Bucket: 'pages' }))

const api = (path: string) => `/api/v1${path}`
const send = async (t: Test, text: string, query = '') => {
  const headers = { 'content-type': 'application/yaml' }
  const answer = await server.signed({
    method: 'POST',
    path: api(`/distributions/import${query}`),
    headers,
    body: text,
  })
  t.equal(answer.status, 200, answer.text)
  return answer.json
}
const exported = async (id: string) => (await server.signed({ path: api(`/distributions/export?id=${id}`) })).text
const put = async (t: Test, path: string, body: object) => {
  const answer = await server.signed({ method: 'PUT', path: api(path), body })
  t.ok(answer.status < 300, answer.text)
}
const putSite = (t: Test, id: string, values: readonly string[]) =>
  put(t, `/distributions/${id}`, {
    id,
    aliases: [`${id}.example.test`],
    origin: { bucket: 'pages' },
    restrictions: { originSecretHeader: { name: 'x-origin', values } },
  })
const rotate = async (id: string): Promise<string> =>
  (await server.signed({ method: 'POST', path: api(`/distributions/${id}/origin-secret/rotate`), body: {} })).json.value
const opens = async (id: string, value: string): Promise<boolean> => {
  const body = { url: '/', headers: { 'X-Origin': value } }
  const { json } = await server.signed({ method: 'POST', path: api(`/distributions/${id}/test`), body })
  return json.restriction.allowed
}
const referencesIn = (text: string) => [...text.matchAll(/- (\$\{secret:.*\})$/gm)].map(([, reference]) => reference!)
const setVariable = (t: Test, name: string, value: string) => {
  process.env[variableOf(name)] = value
  t.teardown(() => delete process.env[variableOf(name)])
}
const nothing = { created: [], replaced: [], removed: [], changes: [], warnings: [] }

t.test('a value in a file replaces what is stored, also beside the exported references', async t => {
  const [old, next] = ['the-old-secret-of-a-file', 'the-next-secret-of-a-file']
  await putSite(t, 'valued', [old])
  const text = await exported('valued')
  const withValue = text.replace('      values:', `      value: ${next}\n      values:`)
  t.not(withValue, text)
  const opened = async () => [await opens('valued', old), await opens('valued', next)]
  const several = withValue.replace('      values:', '      values:\n        - another-secret-of-a-file')
  const call = { method: 'POST', path: api('/distributions/import'), headers: { 'content-type': 'application/yaml' } }
  const refused = await server.signed({ ...call, body: several })
  t.equal(refused.status, 400)
  t.match(refused.text, /beside values that are not masked/, 'it may be meant to stay')
  t.same(await opened(), [true, false])
  for (const attempt of ['first', 'again']) {
    await send(t, withValue)
    t.same(await opened(), [false, true], attempt)
  }
})

t.test('after the rotation of a variable the export has two names, and changes nothing', async t => {
  setVariable(t, 'turned-origin-secret', 'the-old-secret-of-the-variable')
  await putSite(t, 'turned', [referenceTo('turned-origin-secret')])
  const secret = await rotate('turned')
  const text = await exported('turned')
  const references = referencesIn(text)
  t.equal(new Set(references).size, 2, text)
  t.equal(references[1], referenceTo('turned-origin-secret'))
  t.match(await send(t, text), nothing)
  for (const value of [secret, 'the-old-secret-of-the-variable']) t.equal(await opens('turned', value), true)
})

t.test('a variable that this node has is the name of no stored secret', async t => {
  await putSite(t, 'clear', ['a-stored-secret-in-clear'])
  setVariable(t, 'clear-origin-secret', 'another-secret-of-the-node')
  const text = await exported('clear')
  t.match(await send(t, text), nothing)
  t.equal(await opens('clear', 'a-stored-secret-in-clear'), true)
})

t.test('a line that is removed takes its own secret away, and no other', async t => {
  const secrets = ['first-origin-secret-1', 'second-origin-secret-2', 'third-origin-secret-3']
  const state = async () => (await Promise.all(secrets.map(secret => opens('three', secret)))).map(Number).join('')
  for (const [line, left] of [
    [0, '011'],
    [1, '101'],
    [2, '110'],
  ] as const) {
    await putSite(t, 'three', secrets)
    const text = await exported('three')
    const references = referencesIn(text)
    t.equal(references[0], referenceTo('three-origin-secret'))
    const fewer = text.replace(new RegExp(`\\n *- \\${references[line]!}`), '')
    const planned = await send(t, fewer, '?dryRun=true')
    const values = references.filter((_, index) => index !== line)
    t.match(planned.changes, [
      { element: '/spec/restrictions/originSecretHeader/values', before: references, after: values },
    ])
    t.match((await send(t, fewer)).warnings, [])
    t.equal(await state(), left)
    t.match(await send(t, fewer), nothing, 'again')
    t.match(await send(t, await exported('three')), nothing)
  }
  await putSite(t, 'three', secrets)
  const text = await exported('three')
  const [one, two, three] = referencesIn(text)
  const turned = text.replace(one!, 'X').replace(three!, one!).replace('X', three!)
  t.match(turned, new RegExp(`${three!.slice(2, -1)}[\\s\\S]*${two!.slice(2, -1)}`))
  await send(t, turned)
  t.equal(await state(), '111', 'in another order')
})

t.test('a stored secret that is gone is told, and the others stay', async t => {
  await putSite(t, 'gone', ['one-origin-secret-111', 'two-origin-secret-222'])
  const text = await exported('gone')
  const [, second] = referencesIn(text)
  await putSite(t, 'gone', ['one-origin-secret-111'])
  const outcome = await send(t, text)
  t.match(outcome, { replaced: [], warnings: [/^Distribution\/gone: \$\{secret:gone-origin-secret-[0-9a-f]{8}\}: /] })
  t.match(outcome.warnings[0], second)
  t.match(outcome.warnings[0], /has expired, or was removed/)
  t.equal(await opens('gone', 'one-origin-secret-111'), true)
})

t.test('an expired secret makes no difference', async t => {
  await putSite(t, 'late', ['one-origin-secret-111'])
  const answer = await server.signed({
    method: 'POST',
    path: api('/distributions/late/origin-secret/rotate'),
    body: { keepPreviousFor: '1s' },
  })
  t.equal(answer.status, 200, answer.text)
  const deadlineMs = Date.now() + 30_000
  while (await opens('late', 'one-origin-secret-111')) {
    if (Date.now() > deadlineMs) throw new Error('it does not expire')
    await new Promise(done => setTimeout(done, 100))
  }
  t.match(await send(t, await exported('late')), nothing)
  await putSite(t, 'late', ['one-origin-secret-111'])
  t.equal(await opens('late', 'one-origin-secret-111'), true, 'set again, it counts again')
})

t.test('webhooks and the debug header: names that references have are given to nothing else', async t => {
  await putSite(t, 'hooked', ['some-origin-secret-1'])
  const webhook = (id: string, token: string) => ({ id, type: 'cdn_1', zone: '0a1b', token })
  await put(t, '/distributions/hooked/cache/settings', {
    webhooks: [webhook('edge', 'a-token-in-clear'), webhook('other', referenceTo('hooked-edge-token'))],
  })
  const text = await exported('hooked')
  t.equal(new Set([...text.matchAll(/^ +token: (.*)$/gm)].map(([, one]) => one)).size, 2, text)
  const outcome = await send(t, text)
  t.match(outcome, {
    replaced: [],
    changes: [],
    warnings: [/\$\{secret:hooked-edge-token\}: SVC_SECRET_HOOKED_EDGE_TOKEN/],
  })
  t.equal(outcome.warnings.length, 1)
  setVariable(t, 'hooked-edge-token', 'a-token-of-the-node')
  t.match(await send(t, await exported('hooked')), nothing)
})

t.test('every reference that nothing stands for is told, in a dry run, too', async t => {
  const header = (values: string) => `  restrictions: { originSecretHeader: { name: x-origin, values: [${values}] } }\n`
  const quoted = (name: string) => `"${referenceTo(name)}"`
  const text = `apiVersion: svc/v1
kind: Distribution
metadata: { name: unset }
spec:
  aliases: [unset.example.test]
  origin: { bucket: pages }
${header(`${quoted('unset-a')}, ${quoted('unset-b')}`)}---
apiVersion: svc/v1
kind: DistributionCache
metadata: { name: unset }
spec:
  webhooks: [{ id: edge, type: cdn_1, zone: 0a1b, token: ${quoted('unset-c')} }]
---
apiVersion: svc/v1
kind: CacheSettings
metadata: { name: cluster }
spec: { debug: { secret: ${quoted('unset-d')} } }
`
  const warningOf = (document: string, name: string) =>
    `${document}: ${referenceTo(name)}: ${variableOf(name)} is not set on this node; what needs it refuses requests until then.`
  const warnings = [
    warningOf('CacheSettings/cluster', 'unset-d'),
    warningOf('Distribution/unset', 'unset-a'),
    warningOf('Distribution/unset', 'unset-b'),
    warningOf('DistributionCache/unset', 'unset-c'),
  ]
  for (const query of ['?dryRun=true', '', '?dryRun=true']) {
    t.same([...(await send(t, text, query)).warnings].sort(), warnings, query)
  }
  setVariable(t, 'unset-b', 'a-secret-that-is-long-enough')
  t.same([...(await send(t, text)).warnings].sort(), warnings.toSpliced(2, 1))
})
