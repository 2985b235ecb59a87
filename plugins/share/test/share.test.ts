/** Share links, presigned URLs and forms, made over the Admin API and used on the S3 API as strangers use them. */
import { type AdminCaller, responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import { createFakeClock } from 'svc/testing'
import t from 'tap'

const timers = createFakeClock(Date.now())
let jumpedMs = 0
/** Jumps over days without all the timers in between. */
const clock = { ...timers, now: () => timers.now() + jumpedMs }
const jump = (milliseconds: number) => {
  jumpedMs += milliseconds
}
const server = await startAdmin({ ports: { clock } })
t.teardown(server.stop)
const { signed } = server
const { users } = server.kernel.services
const secretKey = 'a-secret-of-a-user'
const allow = (Action: string[], ...resources: string[]) => ({
  Effect: 'Allow',
  Action,
  Resource: resources.map(resource => `arn:aws:s3:::${resource}`),
})
const as = async (accessKey: string, ...Statement: object[]): Promise<AdminCaller> => {
  await users.putPolicy(accessKey, { Version: '2012-10-17', Statement })
  await users.createUser({ accessKey, secretKey, policyNames: [accessKey] })
  return server.signedBy(accessKey, secretKey)
}
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`
const fits = (id: string, json: unknown) =>
  t.same(responseProblems(server.operations.find(operation => operation.id === id)!, json), [], id)
const objects = '/api/v1/buckets/photos/objects'
const put = (key: string, body = key, call = signed) =>
  call({
    method: 'POST',
    path: `${objects}/upload?key=${encodeURIComponent(key)}`,
    headers: { 'content-type': 'text/plain' },
    body,
  })
const share = (body: object, call = signed) => call({ method: 'POST', path: `${objects}/share`, body })
const revoke = (id: string, call = signed) => call({ method: 'DELETE', path: `/api/v1/shares/${id}` })
const list = async (query = '', call = signed) => {
  const answer = await call({ path: `/api/v1/shares?${query}` })
  if (answer.status === 200) fits('listShares', answer.json)
  return answer
}
const idsOf = (answer: { json: { items: { id: string }[] } }) => answer.json.items.map(({ id }) => id)
const use = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init)
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}
const code = ({ status, text }: { status: number; text: string }) => `${status} ${/<Code>(\w+)/.exec(text)?.[1] ?? ''}`

await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos', versioning: true } })
const alice = await as('alice', allow(['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging'], 'photos/a/*'))
const bob = await as('bob', allow(['s3:GetObject', 's3:GetObjectVersion'], 'photos/*'))
const warden = await as('warden', {
  Effect: 'Allow',
  Action: ['admin:ListServiceAccounts', 'admin:RemoveServiceAccount'],
})
const [key, other] = ["a/ä b+(1)'.txt", 'a/other']
const { versionId } = (await put(key, 'first')).json
await put(key, 'second')
for (const name of [other, 'b/1']) await put(name)

t.test('a link opens one object, as long as it is not revoked and its maker may read it', async t => {
  const made = await share({ key, description: 'for you', filename: 'ü "x".txt' }, alice)
  t.equal(outcome(made), '201')
  fits('createShare', made.json)
  const { url, id, expiresAt } = made.json
  t.match(made.json, { bucket: 'photos', key, owner: 'alice', state: 'active', description: 'for you' })
  t.equal(Date.parse(expiresAt), Math.floor(clock.now() / 1000) * 1000 + 86_400_000)
  const got = await use(url)
  t.equal(`${got.status} ${got.text}`, '200 second')
  t.match(
    got.headers.get('content-disposition'),
    /^attachment; filename="_ _x_.txt"; filename\*=UTF-8''%C3%BC%20%22x%22.txt$/,
  )
  t.equal(got.headers.get('cache-control'), 'private, no-cache', 'a browser that has it asks again')
  const copy = { headers: { 'if-none-match': got.headers.get('etag')! } }
  t.equal((await use(url, copy)).status, 304)
  t.equal((await use(url, { method: 'HEAD' })).status, 200, 'signed for GET, and told by HEAD')
  t.equal(code(await use(url, { method: 'PUT', body: 'x' })), '403 SignatureDoesNotMatch')
  t.equal(code(await use(url.replace(/%27\.txt/, '.txt'))), '403 SignatureDoesNotMatch')
  const shown = (await list('', alice)).json.items
  t.match(shown, [
    { id, state: 'active', lastUsedAt: new Date(Math.floor(clock.now() / 3600_000) * 3600_000).toISOString() },
  ])
  t.equal(shown[0].url, undefined)

  await users.putPolicy('alice', { Version: '2012-10-17', Statement: [allow(['s3:GetObject'], 'photos/a/other')] })
  t.equal(code(await use(url)), '403 AccessDenied', 'not more than its maker may now')
  await users.putPolicy('alice', {
    Version: '2012-10-17',
    Statement: [allow(['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging'], 'photos/a/*')],
  })
  t.equal((await use(url)).status, 200)
  await users.updateUser('alice', { status: 'disabled' })
  t.equal((await use(url)).status, 403)
  await users.updateUser('alice', { status: 'enabled' })

  t.equal(outcome(await revoke(id, bob)), '404 share_not_found', 'as if there were none')
  t.equal((await use(url)).status, 200)
  t.equal(outcome(await revoke(id, alice)), '204')
  t.equal((await use(url)).status, 403, 'at once')
  t.equal((await use(url, copy)).status, 403, 'also to who has a copy')
  t.equal(outcome(await revoke(id, alice)), '204', 'once more')
  t.equal(outcome(await revoke('none', alice)), '404 share_not_found')
  t.same(idsOf(await list('', alice)), [])
  const [revoked] = (await list('state=revoked', alice)).json.items
  t.match(revoked, { id, state: 'revoked', revokedAt: new Date(clock.now()).toISOString() })
  const patch = { method: 'PATCH', path: `/api/v1/access-keys/${id}`, body: { status: 'enabled' } }
  t.equal(outcome(await alice(patch)), '404 access_key_not_found', 'and does not come back')
  t.equal(
    outcome(await alice({ method: 'POST', path: `/api/v1/access-keys/${id}/rotate` })),
    '404 access_key_not_found',
  )
})

t.test('links of versions, of others, and those that were never made', async t => {
  const old = await share({ key, versionId }, bob)
  t.equal((await use(old.json.url)).text, 'first')
  t.equal(code(await use(old.json.url.replace(versionId, 'null'))), '403 SignatureDoesNotMatch')
  t.equal(outcome(await share({ key, versionId }, alice)), '403 access_denied')
  t.equal(outcome(await share({ key: 'b/1' }, alice)), '403 access_denied')
  t.equal(outcome(await share({ key: 'b/none' }, bob)), '404 object_not_found')
  t.equal(outcome(await share({ key: 'b/none' }, alice)), '403 access_denied')
  for (const bad of [
    {},
    { key, expiresInSeconds: 0 },
    { key, expiresInSeconds: 604_801 },
    { key, filename: 'a\nb' },
    { key, filename: 'a/b' },
  ]) {
    t.equal(outcome(await share(bad, bob)), '400 invalid_argument')
  }
  t.same(idsOf(await list('', alice)), [])
  t.equal(outcome(await list('all=true', alice)), '403 access_denied')
  t.equal(outcome(await list('user=bob', alice)), '403 access_denied')
  t.same(idsOf(await list('user=bob', warden)), [old.json.id])
  const own = await share({ key: other })
  t.same(idsOf(await list('all=true', warden)).sort(), [old.json.id, own.json.id].sort())
  t.same(idsOf(await list('all=true&bucket=elsewhere', warden)), [])
  t.equal(outcome(await revoke(own.json.id, warden)), '403 access_denied', "root's are root's")
  t.equal(outcome(await revoke(old.json.id, warden)), '204')
  t.equal((await use(old.json.url)).status, 403)
  t.equal(outcome(await revoke(own.json.id)), '204')
  const session = await server.login()
  const page = await share({ key: other }, session.call)
  t.equal(outcome(page), '201', 'from a page of the console')
  t.equal(
    outcome(await share({ key: other }, call => session.call({ ...call, headers: { 'x-csrf-token': 'x' } }))),
    '403 invalid_csrf_token',
  )
  t.equal(outcome(await revoke(page.json.id, session.call)), '204')
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const { json } = await list(`all=true&state=all&limit=1&cursor=${cursor}`)
    ids.push(...json.items.map(({ id }: { id: string }) => id))
    cursor = json.nextCursor
    if (cursor === '') break
  }
  t.equal(new Set(ids).size, 4)
})

t.test('an access key with fewer rights shares only objects that it may read, and lists its own links', async t => {
  const caller = { identity: (await users.describeIdentity('bob'))!, isAllowed: () => false }
  const policy = { Version: '2012-10-17', Statement: [allow(['s3:GetObject'], 'photos/a/other')] }
  const made = await users.createAccessKey(caller, { policy })
  const part = server.signedBy(made.key.accessKey, made.secretKey)
  const link = await share({ key: other }, part)
  t.equal((await use(link.json.url)).text, other)
  t.equal(outcome(await share({ key: 'b/1' }, part)), '403 access_denied')
  const whole = await share({ key: 'b/1' }, bob)
  t.same(idsOf(await list('', part)), [link.json.id])
  t.equal(outcome(await revoke(whole.json.id, part)), '403 access_denied')
  const shown = (await bob({ path: `/api/v1/access-keys/${made.key.accessKey}` })).json
  t.equal(shown.lastUsedAt, new Date(Math.floor(clock.now() / 3600_000) * 3600_000).toISOString())
  await users.deleteAccessKey(caller, made.key.accessKey)
  t.equal((await use(link.json.url)).status, 403, 'it goes with what made it')
  await revoke(whole.json.id, bob)
})

t.test('links end by themselves, are listed for a day, and go', async t => {
  const { json } = await share({ key: other, expiresInSeconds: 60 }, bob)
  t.equal((await use(json.url)).status, 200)
  jump(61_000)
  t.equal((await use(json.url)).status, 403)
  t.same(idsOf(await list('', bob)), [])
  t.ok(idsOf(await list('state=expired', bob)).includes(json.id))
  jump(23 * 3600_000)
  await users.removeOldShares()
  t.ok(idsOf(await list('state=expired', bob)).includes(json.id))
  jump(2 * 3600_000)
  await clock.advance(3600_000)
  for (let attempt = 0; attempt < 4500 && idsOf(await list('state=all', bob)).length > 0; attempt++) {
    await new Promise(done => setTimeout(done, 20))
  }
  t.same(idsOf(await list('state=all&all=true')), [], 'the hourly round has removed them')
})

t.test('presigned URLs have the rights of their signer, for the signed request only', async t => {
  const presign = (body: object, call = bob) =>
    call({ method: 'POST', path: '/api/v1/presign', body: { bucket: 'photos', key, ...body } })
  const get = await presign({ method: 'GET', responseHeaders: { contentType: 'x/y' } })
  fits('presignUrl', get.json)
  const got = await use(get.json.url)
  t.equal(`${got.text} ${got.headers.get('content-type')}`, 'second x/y')
  t.equal((await use((await presign({ method: 'GET', versionId })).json.url)).text, 'first')
  t.equal((await use((await presign({ method: 'HEAD' })).json.url, { method: 'HEAD' })).status, 200)
  t.equal(outcome(await presign({ method: 'PUT' })), '403 access_denied')
  t.equal(outcome(await presign({ method: 'DELETE' })), '403 access_denied')
  const write = await presign(
    { method: 'PUT', key: 'a/new', headers: { 'Content-Type': 'image/png', 'x-amz-meta-a': 'b' } },
    alice,
  )
  t.same(write.json.headers, { 'content-type': 'image/png', 'x-amz-meta-a': 'b' })
  t.equal(code(await use(write.json.url, { method: 'PUT', body: 'x' })).slice(0, 3), '403')
  t.equal((await use(write.json.url, { method: 'PUT', body: 'x', headers: write.json.headers })).status, 200)
  t.match((await signed({ path: `${objects}/stat?key=a/new` })).json, {
    contentType: 'image/png',
    userMetadata: { a: 'b' },
  })
  const gone = await presign({ method: 'DELETE', key: 'a/new' }, signed)
  t.equal((await use(gone.json.url, { method: 'DELETE' })).status, 204)
  const page = await server.login()
  t.equal((await use((await presign({ method: 'GET' }, page.call)).json.url)).status, 200, 'for a page of the console')
  const session = await users.createSession((await users.describeIdentity('bob'))!, {
    durationSeconds: 900,
    sessionName: 'test',
  })
  const temporary: AdminCaller = call =>
    server.signedBy(
      session.accessKey,
      session.secretKey,
    )({ ...call, headers: { ...call.headers, 'x-amz-security-token': session.sessionToken } })
  const signedBySession = await presign({ method: 'GET' }, temporary)
  t.equal((await use(signedBySession.json.url)).text, 'second')
  const endOf = async (body: object) => Date.parse((await presign(body, temporary)).json.expiresAt)
  t.equal(await endOf({ method: 'GET', expiresInSeconds: 604_800 }), session.expiresMs, 'not longer than the session')
  t.ok((await endOf({ method: 'GET', expiresInSeconds: 60 })) < session.expiresMs)
  for (const bad of [
    { method: 'PATCH' },
    { method: 'GET', expiresInSeconds: 604_801 },
    { method: 'GET', uploadId: 'x' },
    { method: 'GET', uploadId: 'x', partNumber: 1 },
    { method: 'PUT', versionId: 'x' },
    { method: 'PUT', responseHeaders: { contentType: 'x' } },
    { method: 'GET', headers: { Host: 'x' } },
    { method: 'GET', headers: { 'x-a': 'a\nb' } },
  ]) {
    t.equal(outcome(await presign(bad, signed)), '400 invalid_argument', JSON.stringify(bad))
  }
  await users.setUserSecretKey('bob', 'another-secret-of-bob')
  t.equal(code(await use(get.json.url)), '403 SignatureDoesNotMatch', 'not longer than its secret')
})

t.test('a form ends no later than the credentials that sign it', async t => {
  const days = { bucket: 'photos', keyPrefix: 'a/', expiresInSeconds: 604_800, contentLengthRange: { min: 0, max: 9 } }
  const session = await users.createSession((await users.describeIdentity('alice'))!, {
    durationSeconds: 900,
    sessionName: 'form',
  })
  const bySession = server.signedBy(session.accessKey, session.secretKey)
  const headers = { 'x-amz-security-token': session.sessionToken }
  const made = await bySession({ method: 'POST', path: '/api/v1/post-policy', body: days, headers })
  t.equal(Date.parse(made.json.expiresAt), session.expiresMs)
})

t.test('a form uploads only objects that its policy allows', async t => {
  const make = (body: object, call = alice) =>
    call({ method: 'POST', path: '/api/v1/post-policy', body: { bucket: 'photos', ...body } })
  const post = (
    form: { url: string; fields: Record<string, string> },
    file: string,
    more: Record<string, string> = {},
    name = 'fi le.txt',
  ) => {
    const data = new FormData()
    for (const [field, value] of Object.entries({ ...form.fields, ...more })) data.append(field, value)
    data.append('file', new Blob([file]), name)
    return use(form.url, { method: 'POST', body: data, redirect: 'manual' })
  }
  const { json, status } = await make({
    keyPrefix: 'a/in/',
    contentLengthRange: { min: 2, max: 10 },
    contentTypePrefix: 'image/',
    metadata: { From: 'fo<rm' },
    tags: { 'a b': 'c+d' },
    successActionStatus: 201,
  })
  t.equal(status, 200)
  fits('createPostPolicy', json)
  const type = { 'Content-Type': 'image/png' }
  t.equal((await post(json, 'bytes', type)).status, 201)
  t.match((await signed({ path: `${objects}/stat?key=a/in/fi%20le.txt` })).json, {
    size: 5,
    contentType: 'image/png',
    userMetadata: { from: 'fo<rm' },
    tags: { 'a b': 'c+d' },
  })
  t.equal(code(await post(json, 'bytes', { 'Content-Type': 'text/html' })), '403 AccessDenied')
  t.equal(code(await post(json, 'bytes', { ...type, key: 'a/out' })), '403 AccessDenied')
  t.equal(code(await post(json, 'bytes', { ...type, 'x-amz-meta-more': '1' })), '403 AccessDenied')
  t.equal(code(await post(json, 'x', type)), '400 EntityTooSmall')
  t.equal(code(await post(json, 'far too long', type)), '400 EntityTooLarge')
  const fixed = (await make({ key: 'a/fixed', contentType: 'text/plain', storageClass: 'REDUCED_REDUNDANCY' })).json
  t.equal((await post(fixed, 'x')).status, 204)
  t.match((await signed({ path: `${objects}/stat?key=a/fixed` })).json, {
    contentType: 'text/plain',
    storageClass: 'REDUCED_REDUNDANCY',
  })
  const redirected = (await make({ key: 'a/there', successActionRedirect: 'https://example.org/done?x=1' })).json
  const there = await post(redirected, 'x')
  t.match(there.headers.get('location'), /^https:\/\/example.org\/done\?x=1&bucket=photos&key=a%2Fthere/)
  t.equal(outcome(await make({ keyPrefix: 'b/' })), '403 access_denied')
  t.equal(outcome(await make({ keyPrefix: '' })), '403 access_denied')
  await users.putPolicy('alice', { Version: '2012-10-17', Statement: [allow(['s3:GetObject'], 'photos/a/*')] })
  t.equal(code(await post(fixed, 'x')), '403 AccessDenied', 'his rights count when it is sent')
  for (const bad of [
    {},
    { key: 'a', keyPrefix: 'b' },
    { key: 'a', contentType: 'a', contentTypePrefix: 'b' },
    { key: 'a', contentLengthRange: { min: 2, max: 1 } },
    { key: 'a', successActionRedirect: 'javascript:1' },
    { key: 'a', successActionStatus: 500 },
  ]) {
    t.equal(outcome(await make(bad, signed)), '400 invalid_argument')
  }
  jump(3601_000)
  t.equal(code(await post(fixed, 'x')), '403 AccessDenied', 'expired')
})

t.test('whoever opens a link that does not work reads words, and programs read the document of S3', async t => {
  const { id, url } = (await share({ key })).json
  const browser = { headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' } }
  t.equal((await use(url, browser)).text, 'second')
  const cut = await use(url.slice(0, -9), browser)
  t.match(cut.text, /<h1>This link is not complete<\/h1>/)
  t.equal(outcome(await revoke(id)), '204')
  const page = await use(url, browser)
  t.equal(page.status, 403)
  t.match(page.text, /<h1>This link does not work any more<\/h1>[\s\S]*403 \w+, request \w+/)
  t.notMatch(page.text, 'photos', 'nothing is told of what it was')
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(page.headers.get('content-security-policy'), "default-src 'none'")
  t.match(page.headers.get('cache-control'), 'no-store')
  const java = { headers: { accept: 'text/html, image/gif, image/jpeg, */*; q=0.2' } }
  for (const program of [java, undefined])
    t.match(await use(url, program), { status: 403, text: /^<\?xml [\s\S]*<Error>/ })
  const stranger = url.replace(/Credential=[^%]+/, 'Credential=AKIAIOSFODNN7EXAMPLE')
  t.match((await use(stranger, browser)).text, /^<\?xml /, 'what is not a share link is S3 to browsers too')
})
