/** Users, groups, policies and access keys over the Admin API, and their effect on S3. */
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { type AdminAnswer, type AdminCall, responseProblems, rootUser, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
const clients: S3Client[] = []
t.teardown(async () => {
  for (const client of clients) client.destroy()
  await server.stop()
})
const { signed, kernel, operations } = server

interface Keys {
  readonly accessKey: string
  readonly secretKey: string
}
const secretKey = 'a-secret-of-somebody'
const as = (keys: Keys) => server.signedBy(keys.accessKey, keys.secretKey)
function s3(keys: Keys) {
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${server.s3Port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: keys.accessKey, secretAccessKey: keys.secretKey },
    maxAttempts: 1,
  })
  clients.push(client)
  return client
}
const outcome = ({ status, json }: AdminAnswer) => (json?.code === undefined ? `${status}` : `${status} ${json.code}`)
const codeOf = (done: Promise<unknown>) =>
  done.then(
    () => 'ok',
    (error: { name: string }) => error.name,
  )

/** Calls an operation; its answer must match its schema. */
async function call(id: string, path: string, body?: unknown, send = signed, more: Partial<AdminCall> = {}) {
  const operation = operations.find(other => other.id === id)
  if (operation === undefined) throw new Error(`${id} is not served`)
  const answer = await send({ method: operation.method, path: `/api/v1${path}`, body, ...more })
  if (answer.status < 300) t.same(responseProblems(operation, answer.json), [], id)
  return answer
}
const outcomeOf = async (...given: Parameters<typeof call>) => outcome(await call(...given))

const allow = (Action: string | string[], Resource?: string | string[]) => ({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action, ...(Resource === undefined ? {} : { Resource }) }],
})
const { users } = kernel.services

/** Creates a user who may do these actions of the Admin API. */
async function makeAdmin(accessKey: string, actions: string[]) {
  await users.putPolicy(`of-${accessKey}`, allow(actions))
  await users.createUser({ accessKey, secretKey, policyNames: [`of-${accessKey}`] })
  return as({ accessKey, secretKey })
}

t.test('users: created, listed, read, changed, deleted', async t => {
  const made = await call('createUser', '/users', { accessKey: 'ada@example.com', description: 'Ada' })
  t.equal(made.status, 201)
  t.equal(made.headers.location, '/api/v1/users/ada%40example.com')
  t.match(made.json, { accessKey: 'ada@example.com', status: 'enabled', description: 'Ada', secretKey: /^\w{40}$/ })
  const read = await call('getUser', '/users/ada%40example.com')
  t.equal(read.json.secretKey, undefined)
  const { secretKey: _shown, ...rest } = made.json
  t.same(read.json, rest)
  t.equal(outcome(await as(made.json)({ path: '/api/v1/me/nothing' })), '404 not_found', 'the secret is the right one')

  // A document that was read can be sent back unchanged.
  t.same((await call('updateUser', '/users/ada%40example.com', read.json)).json.groups, [])
  t.match((await call('updateUser', '/users/ada%40example.com', { description: null })).json, { description: '' })
  t.equal(await outcomeOf('createUser', '/users', { accessKey: 'ada@example.com' }), '409 already_exists')
  t.equal(await outcomeOf('createUser', '/users', { accessKey: rootUser }), '409 already_exists')
  const allWrong = { accessKey: 'ada@example.com', description: 'x\u0007', groups: ['none'], policyNames: ['no'] }
  const { json } = await signed({ method: 'POST', path: '/api/v1/users', body: allWrong })
  t.same(
    json.errors.map(({ element }: { element: string }) => element),
    ['/description', '/accessKey', '/groups', '/policyNames'],
    'all that is wrong is told at once',
  )
  t.equal(await outcomeOf('createUser', '/users', { accessKey: 'bob', groups: ['none'] }), '404 group_not_found')
  t.equal(await outcomeOf('createUser', '/users', { accessKey: 'bob', policyNames: ['no'] }), '404 policy_not_found')
  const wrong: [object, string][] = [
    [{}, '/accessKey'],
    [{ accessKey: 'no' }, '/accessKey'],
    [{ accessKey: 'a b c' }, '/accessKey'],
    [{ accessKey: 'bob', secretKey: 'short' }, '/secretKey'],
    [{ accessKey: 'bob', secretKey: 'with a space in it' }, '/secretKey'],
    [{ accessKey: 'bob', status: 'gone' }, '/status'],
    [{ accessKey: 'bob', description: 'x'.repeat(257) }, '/description'],
  ]
  for (const [body, element] of wrong) {
    const answer = await call('createUser', '/users', body)
    t.equal(outcome(answer), '400 invalid_argument', JSON.stringify(body))
    t.match(answer.json.errors, [{ element }])
    t.notMatch(answer.text, /with a space in it|"short"/, 'a problem does not repeat a secret')
  }

  await call('createUser', '/users', { accessKey: 'bob', secretKey, status: 'disabled' })
  const first = await call('listUsers', '/users?limit=1')
  t.equal(first.json.items[0].accessKey, 'ada@example.com')
  t.equal(
    (await call('listUsers', `/users?limit=1&cursor=${first.json.nextCursor}`)).json.items[0].accessKey,
    'bob',
    'root is not listed',
  )
  const names = async (query: string) =>
    (await call('listUsers', `/users?${query}`)).json.items.map(({ accessKey }: Keys) => accessKey)
  t.same(await names('status=disabled'), ['bob'])
  t.same(await names('prefix=ad'), ['ada@example.com'])
  t.same(await names('group=none'), [])
  t.equal(await outcomeOf('getUser', '/users/nobody'), '404 user_not_found')
  t.equal(await outcomeOf('getUser', `/users/${rootUser}`), '404 user_not_found')
  t.equal(await outcomeOf('deleteUser', '/users/ada%40example.com'), '204')
  t.equal(await outcomeOf('deleteUser', '/users/ada%40example.com'), '404 user_not_found')
  await users.deleteUser('bob', kernel.services.iam.owner)
})

t.test('each change of a user needs its own action', async t => {
  await users.createUser({ accessKey: 'target', secretKey })
  await users.createGroup({ name: 'crew' })
  const creator = await makeAdmin('creator', ['admin:CreateUser'])
  t.equal(await outcomeOf('createUser', '/users', { accessKey: 'plain' }, creator), '201')
  t.equal(await outcomeOf('createUser', '/users', { accessKey: 'u-1', groups: ['crew'] }, creator), '403 access_denied')
  const attached = { accessKey: 'u-2', policyNames: ['consoleAdmin'] }
  t.equal(await outcomeOf('createUser', '/users', attached, creator), '403 access_denied')
  t.equal(await outcomeOf('updateUser', '/users/target', { status: 'disabled' }, creator), '403 access_denied')
  t.equal(await outcomeOf('updateUser', '/users/target', { description: 'x' }, creator), '200')
  t.equal(await outcomeOf('setUserGroups', '/users/target/groups', { groups: [] }, creator), '403 access_denied')
  t.equal(await outcomeOf('getUser', '/users/target', undefined, creator), '403 access_denied')
  t.equal(await outcomeOf('getUser', '/users/creator', undefined, creator), '200', 'oneself')
  t.equal(await outcomeOf('listUsers', '/users', undefined, creator), '403 access_denied')

  const guard = await makeAdmin('guard', ['admin:DisableUser', 'admin:DeleteUser'])
  t.equal(await outcomeOf('updateUser', '/users/target', { status: 'disabled' }, guard), '200')
  t.equal(await outcomeOf('updateUser', '/users/target', { status: 'enabled' }, guard), '403 access_denied')
  const both = { status: 'disabled', description: 'y' }
  t.equal(await outcomeOf('updateUser', '/users/target', both, guard), '403 access_denied')
  t.equal(await outcomeOf('updateUser', '/users/target', {}, guard), '403 access_denied', 'it would show the user')
  t.equal(await outcomeOf('deleteUser', '/users/guard', undefined, guard), '409 conflict')
  t.equal(await outcomeOf('deleteUser', '/users/target', undefined, guard), '204')

  const mover = await makeAdmin('mover', ['admin:AddUserToGroup'])
  t.equal(await outcomeOf('setUserGroups', '/users/plain/groups', { groups: [] }, mover), '403 access_denied')
  t.same((await call('setUserGroups', '/users/plain/groups', { groups: ['crew'] })).json.groups, ['crew'])
  t.equal(await outcomeOf('setUserGroups', '/users/plain/groups', { groups: ['x'] }), '404 group_not_found')
  t.same((await call('setUserGroups', '/users/plain/groups', { groups: [] })).json.groups, [])
})

t.test('a new secret key ends the old one and the sessions', async t => {
  await users.createUser({ accessKey: 'carl', secretKey })
  const session = await login({ accessKey: 'carl', secretKey })
  t.equal(await outcomeOf('getUser', '/users/carl', undefined, session), '200')
  const chosen = await call('setUserSecretKey', '/users/carl/secret-key', { secretKey: 'another-secret' })
  t.same(chosen.json, { accessKey: 'carl' })
  t.equal(await outcomeOf('getUser', '/users/carl', undefined, session), '401 unauthenticated')
  const old = as({ accessKey: 'carl', secretKey })
  t.equal(await outcomeOf('getUser', '/users/carl', undefined, old), '401 invalid_credentials')
  const made = await call('setUserSecretKey', '/users/carl/secret-key')
  t.match(made.json, { accessKey: 'carl', secretKey: /^\w{40}$/ })
  t.equal(await outcomeOf('getUser', '/users/carl', undefined, as(made.json)), '200')
  t.equal(await outcomeOf('setUserSecretKey', `/users/${rootUser}/secret-key`), '404 user_not_found')
})

t.test('access keys: those of the caller, those of others, and those with a policy', async t => {
  await users.createUser({ accessKey: 'dora', secretKey })
  const dora = as({ accessKey: 'dora', secretKey })
  const made = await call('createAccessKey', '/access-keys', { name: 'laptop' }, dora)
  t.equal(made.status, 201)
  const { accessKey } = made.json
  const path = `/access-keys/${accessKey}`
  t.equal(made.headers.location, `/api/v1${path}`)
  t.match(made.json, {
    user: 'dora',
    name: 'laptop',
    state: 'active',
    expiresAt: null,
    policy: null,
    createdBy: 'dora',
  })
  const { secretKey: _shown, ...rest } = made.json
  t.same((await call('getAccessKey', path, undefined, dora)).json, rest)
  t.same((await call('listAccessKeys', '/access-keys', undefined, dora)).json, { items: [rest], nextCursor: '' })
  t.same((await call('listAccessKeys', '/access-keys?user=dora')).json.items, [rest])
  t.same((await call('listAccessKeys', '/access-keys?user=dora&status=disabled')).json.items, [])
  t.equal(await outcomeOf('getUser', '/users/dora', undefined, as(made.json)), '200', 'it is its user')

  const expiresAt = new Date(Date.now() + 3600_000).toISOString()
  const policy = allow('s3:GetObject', 'arn:aws:s3:::docs/*')
  t.same((await call('updateAccessKey', path, { ...rest, expiresAt, policy }, dora)).json.policy, policy)
  t.equal((await call('getAccessKey', path, undefined, dora)).json.expiresAt, expiresAt)
  const limited = as(made.json)
  t.equal(await outcomeOf('getAccessKey', path, undefined, limited), '200')
  t.equal(await outcomeOf('updateAccessKey', path, { policy: null }, limited), '403 access_denied')
  t.equal(await outcomeOf('createAccessKey', '/access-keys', {}, limited), '403 access_denied')
  t.equal(await outcomeOf('rotateAccessKey', `${path}/rotate`, undefined, limited), '403 access_denied')
  t.equal(await outcomeOf('getUser', '/users/dora', undefined, limited), '403 access_denied')
  t.match((await call('updateAccessKey', path, { policy: null, expiresAt: null, name: null }, dora)).json, {
    policy: null,
    expiresAt: null,
    name: '',
  })
  const wrong = await call('updateAccessKey', path, { policy: allow('s3:Nonsense', '*') }, dora)
  t.equal(outcome(wrong), '400 malformed_policy')
  t.match(wrong.json.errors, [{ statement: 0, line: Number, column: Number, message: String }])
  const past = { expiresAt: '2020-01-01T00:00:00.000Z' }
  t.equal(await outcomeOf('updateAccessKey', path, past, dora), '400 invalid_argument')
  t.equal(await outcomeOf('updateAccessKey', path, { expiresAt: 'soon' }, dora), '400 invalid_argument')

  await users.createUser({ accessKey: 'evan', secretKey })
  const evan = as({ accessKey: 'evan', secretKey })
  const others: [string, string, object?][] = [
    ['getAccessKey', path],
    ['getAccessKey', '/access-keys/none'],
    ['updateAccessKey', path, { status: 'disabled' }],
    ['rotateAccessKey', `${path}/rotate`],
    ['deleteAccessKey', path],
    ['listAccessKeys', '/access-keys?user=dora'],
    ['createAccessKey', '/access-keys', { user: 'dora' }],
    ['createAccessKey', '/access-keys', { user: rootUser }],
  ]
  for (const [id, path, body] of others) t.equal(await outcomeOf(id, path, body, evan), '403 access_denied', id)
  const helper = await makeAdmin('helper', ['admin:CreateServiceAccount'])
  t.match(
    (await call('createAccessKey', '/access-keys', { user: 'dora', accessKey: 'dora-2', secretKey }, helper)).json,
    {
      user: 'dora',
      accessKey: 'dora-2',
      secretKey,
      createdBy: 'helper',
    },
  )
  t.equal(await outcomeOf('createAccessKey', '/access-keys', { user: rootUser }, helper), '403 access_denied')
  t.equal(await outcomeOf('createAccessKey', '/access-keys', { accessKey: 'evan' }, dora), '409 already_exists')

  const session = await login(made.json)
  const rotated = await call('rotateAccessKey', `${path}/rotate`, undefined, dora)
  t.match(rotated.json, { accessKey, secretKey: /^\w{40}$/ })
  t.equal(await outcomeOf('getAccessKey', path, undefined, session), '401 unauthenticated')
  t.equal(await outcomeOf('getAccessKey', path, undefined, as(made.json)), '401 invalid_credentials')
  t.equal(await outcomeOf('getAccessKey', path, undefined, as(rotated.json)), '200')
  t.equal(await outcomeOf('deleteAccessKey', path, undefined, dora), '204')
  t.equal(await outcomeOf('getAccessKey', path, undefined, as(rotated.json)), '401 invalid_credentials')
  t.equal(await outcomeOf('deleteAccessKey', path), '404 access_key_not_found')

  const share = await users.createAccessKey(
    { identity: (await kernel.services.iam.credentials('dora'))!.identity, isAllowed: () => false },
    { share: { bucket: 'docs', key: 'a' } },
  )
  t.equal(
    await outcomeOf('getAccessKey', `/access-keys/${share.key.accessKey}`, undefined, dora),
    '404 access_key_not_found',
  )
  t.same((await call('listAccessKeys', '/access-keys?limit=1', undefined, dora)).json.items.length, 1)
})

t.test('policies: built-in ones and others, ETags, and attachments', async t => {
  const listed = (await call('listPolicies', '/policies?prefix=read')).json
  t.match(listed, { items: [{ name: 'readonly', builtIn: true, updatedAt: null }, { name: 'readwrite' }] })
  t.equal(
    listed.items.some((item: object) => 'attachedTo' in item),
    false,
  )
  const document = allow('s3:GetObject', 'arn:aws:s3:::docs/*')
  const made = await call('putPolicy', '/policies/readers', { document })
  t.equal(made.status, 201)
  t.match(made.json, { name: 'readers', builtIn: false, document })
  t.equal(made.headers.etag, `"${made.json.etag}"`)
  const page = (await call('listPolicies', '/policies?prefix=read&limit=2')).json
  t.same(
    page.items.map(({ name }: { name: string }) => name),
    ['readers', 'readonly'],
  )
  const next = (await call('listPolicies', `/policies?prefix=read&limit=2&cursor=${page.nextCursor}`)).json
  t.match(next, { items: [{ name: 'readwrite' }], nextCursor: '' })

  const path = '/policies/readers'
  const read = await call('getPolicy', path)
  t.same(read.json, { ...made.json, attachedTo: { users: [], groups: [] } })
  t.equal(read.headers.etag, made.headers.etag)
  const text = JSON.stringify(allow('s3:PutObject', 'arn:aws:s3:::docs/*'))
  const ifMatch = (etag: string) => ({ headers: { 'if-match': etag } })
  const replaced = await call('putPolicy', path, { document: text }, signed, ifMatch(made.json.etag))
  t.equal(replaced.status, 200)
  t.not(replaced.json.etag, made.json.etag)
  const stale = ifMatch(`"${made.json.etag}"`)
  t.equal(await outcomeOf('putPolicy', path, { document }, signed, stale), '412 precondition_failed')
  t.equal(await outcomeOf('deletePolicy', path, undefined, signed, stale), '412 precondition_failed')
  t.equal(await outcomeOf('putPolicy', path, read.json), '200', 'what was read can be sent back')
  t.equal(await outcomeOf('putPolicy', '/policies/readonly', { document }), '409 builtin_policy')
  t.equal(await outcomeOf('deletePolicy', '/policies/readonly'), '409 builtin_policy')
  for (const name of ['attach', 'validate', 'with%20space', 'a%2Fb']) {
    t.equal(await outcomeOf('putPolicy', `/policies/${name}`, { document }), '400 invalid_argument', name)
  }
  const wrong = await call('putPolicy', path, { document: { ...document, Version: '1' } })
  t.equal(outcome(wrong), '400 malformed_policy')
  t.match(wrong.json.errors, [{ element: 'Version', line: Number }])
  t.equal(await outcomeOf('putPolicy', path, { document: `"${'x'.repeat(21_000)}"` }), '400 malformed_policy')
  t.equal(await outcomeOf('getPolicy', '/policies/none'), '404 policy_not_found')

  await users.createGroup({ name: 'team' })
  await users.createUser({ accessKey: 'gina', secretKey, groups: ['team'] })
  const attach = (body: object, send = signed) => call('attachPolicies', '/policies/attach', body, send)
  const detach = (body: object) => call('detachPolicies', '/policies/detach', body)
  t.same((await attach({ group: 'team', policyNames: ['readers', 'readonly'] })).json, {
    group: 'team',
    policyNames: ['readers', 'readonly'],
  })
  t.same((await attach({ user: 'gina', policyNames: ['readers'] })).json, { user: 'gina', policyNames: ['readers'] })
  t.equal(outcome(await attach({ user: 'gina', policyNames: ['readers'] })), '200')
  t.equal(outcome(await attach({ policyNames: ['readers'] })), '400 invalid_argument')
  t.equal(outcome(await attach({ user: 'gina', group: 'team', policyNames: ['readers'] })), '400 invalid_argument')
  t.equal(outcome(await attach({ user: 'gina', policyNames: [] })), '400 invalid_argument')
  t.equal(outcome(await attach({ user: 'gina', policyNames: ['none'] })), '404 policy_not_found')
  t.equal(outcome(await attach({ user: 'none', policyNames: ['readers'] })), '404 user_not_found')
  t.equal(outcome(await attach({ group: 'none', policyNames: ['readers'] })), '404 group_not_found')
  const attachedTo = { users: ['gina'], groups: ['team'] }
  t.same((await call('getPolicy', path)).json.attachedTo, attachedTo)
  const all = (await call('listPolicies', '/policies?attachedTo=true&prefix=read')).json.items
  t.match(all, [
    { name: 'readers', attachedTo },
    { name: 'readonly', attachedTo: { users: [], groups: ['team'] } },
  ])
  t.equal(await outcomeOf('deletePolicy', path), '409 policy_in_use')

  const gina = as({ accessKey: 'gina', secretKey })
  t.equal(outcome(await attach({ user: 'gina', policyNames: ['consoleAdmin'] }, gina)), '403 access_denied')
  const own = await call('getPolicy', '/policies/readonly', undefined, gina)
  t.equal(own.status, 200, 'by the group')
  t.equal('attachedTo' in own.json, false, 'who else has it is not told')
  t.equal(await outcomeOf('getPolicy', '/policies/readwrite', undefined, gina), '403 access_denied')
  t.equal(await outcomeOf('getPolicy', '/policies/none', undefined, gina), '403 access_denied')
  t.equal(await outcomeOf('listPolicies', '/policies', undefined, gina), '403 access_denied')

  t.same((await detach({ user: 'gina', policyNames: ['readers', 'readonly'] })).json.policyNames, [])
  t.same((await detach({ group: 'team', policyNames: ['readers'] })).json.policyNames, ['readonly'])
  t.equal(await outcomeOf('deletePolicy', path), '204')
  t.equal(await outcomeOf('deletePolicy', path), '404 policy_not_found')
})

t.test('groups: members, status, and permissions to read them', async t => {
  await users.createUser({ accessKey: 'hans', secretKey })
  await users.createUser({ accessKey: 'ines', secretKey, groups: ['team'] })
  const made = await call('createGroup', '/groups', { name: 'a@b', description: 'first', members: ['hans'] })
  t.equal(made.status, 201)
  const path = '/groups/a%40b'
  t.equal(made.headers.location, `/api/v1${path}`)
  t.match(made.json, { name: 'a@b', description: 'first', members: ['hans'], memberCount: 1, status: 'enabled' })
  t.same((await call('getGroup', path)).json, made.json)
  t.equal(await outcomeOf('createGroup', '/groups', { name: 'a@b' }), '409 already_exists')
  t.equal(await outcomeOf('createGroup', '/groups', { name: 'no', members: ['nobody'] }), '404 user_not_found')
  t.match((await call('createGroup', '/groups', { name: 'a b' })).json.errors, [{ element: '/name' }])
  const listed = (await call('listGroups', '/groups?prefix=a')).json
  t.match(listed, { items: [{ name: 'a@b', memberCount: 1 }], nextCursor: '' })
  t.equal('members' in listed.items[0], false)
  t.same(
    (await call('listGroups', '/groups?policy=readonly')).json.items.map(({ name }: { name: string }) => name),
    ['team'],
  )

  const members = (names: string[], send = signed) =>
    call('addGroupMembers', `${path}/members`, { members: names }, send)
  t.equal(outcome(await members(['ines', 'nobody'])), '404 user_not_found')
  t.same((await call('getGroup', path)).json.members, ['hans'], 'all or nothing')
  t.same((await members(['ines', 'hans'])).json.members, ['hans', 'ines'])
  t.equal(outcome(await members([])), '400 invalid_argument')
  t.equal(await outcomeOf('addGroupMembers', '/groups/none/members', { members: ['hans'] }), '404 group_not_found')

  const hans = as({ accessKey: 'hans', secretKey })
  t.equal(await outcomeOf('getGroup', path, undefined, hans), '200', 'its own')
  t.equal(await outcomeOf('getGroup', '/groups/team', undefined, hans), '403 access_denied')
  t.equal(await outcomeOf('getGroup', '/groups/none', undefined, hans), '403 access_denied')
  t.equal(outcome(await members(['hans'], hans)), '403 access_denied')
  await users.attachPolicies({ group: 'a@b' }, ['consoleAdmin'])
  t.equal(outcome(await members(['hans'], hans)), '200', 'by the policy of the group')
  t.match((await call('updateGroup', path, { status: 'disabled' })).json, { status: 'disabled', description: 'first' })
  t.equal(outcome(await members(['hans'], hans)), '403 access_denied')
  t.equal(await outcomeOf('updateGroup', path, { status: 'enabled' }, hans), '403 access_denied')
  t.equal(await outcomeOf('getGroup', path, undefined, hans), '200', 'still a member')
  t.match((await call('updateGroup', path, { ...made.json, description: null })).json, {
    status: 'enabled',
    description: '',
  })
  await users.detachPolicies({ group: 'a@b' }, ['consoleAdmin'])

  const founder = await makeAdmin('founder', ['admin:CreateGroup', 'admin:DisableGroup'])
  t.equal(await outcomeOf('createGroup', '/groups', { name: 'c', members: ['hans'] }, founder), '403 access_denied')
  t.equal(await outcomeOf('createGroup', '/groups', { name: 'c' }, founder), '201')
  t.equal(await outcomeOf('updateGroup', '/groups/c', { status: 'disabled' }, founder), '200')
  t.equal(await outcomeOf('updateGroup', '/groups/c', { status: 'enabled' }, founder), '403 access_denied')
  t.equal(await outcomeOf('updateGroup', path, {}, hans), '403 access_denied')

  t.equal(await outcomeOf('deleteGroup', path), '409 group_not_empty')
  for (const user of ['hans', 'ines', 'ines', 'nobody']) {
    t.equal(await outcomeOf('removeGroupMember', `${path}/members/${user}`), '204')
  }
  t.equal(await outcomeOf('deleteGroup', path), '204')
  t.equal(await outcomeOf('deleteGroup', path), '404 group_not_found')
})

t.test('a user gets a policy and a key, uses S3 with it, and is refused as soon as it is disabled', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'docs' } })
  const user = (await call('createUser', '/users', { accessKey: 'fred' })).json
  const key = (await call('createAccessKey', '/access-keys', {}, as(user))).json
  const client = s3(key)
  const put = () => codeOf(client.send(new PutObjectCommand({ Bucket: 'docs', Key: 'a', Body: 'x' })))
  const get = () => codeOf(client.send(new GetObjectCommand({ Bucket: 'docs', Key: 'a' })))
  t.equal(await put(), 'AccessDenied')
  await call('putPolicy', '/policies/docs', { document: allow('s3:*Object', 'arn:aws:s3:::docs/*') })
  await call('attachPolicies', '/policies/attach', { user: 'fred', policyNames: ['docs'] })
  t.equal(await put(), 'ok')
  t.equal(await get(), 'ok')
  t.equal((await call('getUser', '/users/fred')).json.accessKeyCount, 1)
  await call('updateUser', '/users/fred', { status: 'disabled' })
  t.equal(await get(), 'InvalidAccessKeyId')
  t.equal(await outcomeOf('getUser', '/users/fred', undefined, as(key)), '401 invalid_credentials')
  await call('updateUser', '/users/fred', { status: 'enabled' })
  t.equal(await get(), 'ok')
  await call('updateAccessKey', `/access-keys/${key.accessKey}`, { status: 'disabled' })
  t.equal(await get(), 'InvalidAccessKeyId', 'the key alone')
  await call('updateAccessKey', `/access-keys/${key.accessKey}`, { status: 'enabled' })
  await call('deleteUser', '/users/fred')
  t.equal(await get(), 'InvalidAccessKeyId')
})

t.test('permissions: of the caller, of another user, of restricted credentials', async t => {
  const view = (query: string, send = signed) => call('getPermissions', `/me/permissions${query}`, undefined, send)
  const root = (await view('')).json
  t.match(root.s3, { endpoint: /^http:\/\/127\.0\.0\.1:\d+$/, region: 'us-east-1' })
  t.match(root, { user: rootUser, isRoot: true, bucket: '', prefix: '', denied: [] })
  t.ok(root.allowed.includes('admin:CreateUser') && !root.allowed.includes('s3:GetObject'))
  await users.putPolicy('half', allow('s3:GetObject', 'arn:aws:s3:::docs/a/*'))
  await users.createUser({ accessKey: 'jana', secretKey, policyNames: ['half'] })
  const jana = as({ accessKey: 'jana', secretKey })
  t.match((await view('', jana)).json, { user: 'jana', isRoot: false, allowed: [] })
  t.same((await view('?bucket=docs&prefix=a/', jana)).json.allowed, ['s3:GetObject'])
  t.same((await view('?bucket=docs', jana)).json.allowed, [], 'not all of the bucket')
  const part = (await view('?bucket=docs&prefix=a/&user=jana')).json
  t.match(part, { user: 'jana', bucket: 'docs', prefix: 'a/', allowed: ['s3:GetObject'] })
  t.equal(outcome(await view('?user=jana', jana)), '200')
  t.equal(outcome(await view(`?user=${rootUser}`, jana)), '403 access_denied')
  t.equal(outcome(await view('?user=none', jana)), '403 access_denied')
  t.equal(outcome(await view('?user=none')), '404 user_not_found')
  t.equal(outcome(await view('?prefix=a/')), '400 invalid_argument')

  const policy = allow('s3:GetObject', 'arn:aws:s3:::docs/a/b/*')
  const limited = as((await call('createAccessKey', '/access-keys', { policy }, jana)).json)
  t.match((await view('?bucket=docs&prefix=a/', limited)).json, { user: 'jana', allowed: [] })
  t.same((await view('?bucket=docs&prefix=a/b/', limited)).json.allowed, ['s3:GetObject'])
  t.equal(outcome(await view('?bucket=docs&user=jana', limited)), '403 access_denied', 'the whole of its user')
})

t.test('a user changes its own secret key, with the current one', async t => {
  await users.createUser({ accessKey: 'kim', secretKey })
  const kim = as({ accessKey: 'kim', secretKey })
  const change = (currentSecretKey: string, newSecretKey: string, send: typeof signed) =>
    call('changeOwnSecretKey', '/me/secret-key', { currentSecretKey, newSecretKey }, send)
  const [one, other] = [await login({ accessKey: 'kim', secretKey }), await login({ accessKey: 'kim', secretKey })]
  t.equal(outcome(await change('wrong-secret', 'second-secret', one)), '403 access_denied')
  const short = await change(secretKey, 'short', one)
  t.match(short.json, {
    code: 'invalid_argument',
    errors: [{ element: '/newSecretKey', message: 'must have at least 8 characters' }],
  })
  t.equal(await outcomeOf('getUser', '/users/kim', undefined, other), '200')
  const spaced = await change(secretKey, 'has spaces in it', one)
  t.match(spaced.json.errors, [
    { element: '/newSecretKey', message: 'must be letters, digits and signs of ASCII, without spaces' },
  ])
  t.equal(outcome(await change(secretKey, 'second-secret', one)), '204')
  t.equal(await outcomeOf('getUser', '/users/kim', undefined, one), '200', 'who changed it stays')
  t.equal(await outcomeOf('getUser', '/users/kim', undefined, other), '401 unauthenticated')
  t.equal(await outcomeOf('getUser', '/users/kim', undefined, kim), '401 invalid_credentials')
  const second = as({ accessKey: 'kim', secretKey: 'second-secret' })
  t.equal(await outcomeOf('getUser', '/users/kim', undefined, second), '200')

  t.equal(outcome(await change('change-me-please', 'another-of-root', signed)), '409 conflict')
  const key = (await call('createAccessKey', '/access-keys', {}, second)).json
  t.equal(outcome(await change('second-secret', 'third-secret', as(key))), '403 access_denied')

  // The last test, because the throttle of logins refuses this client for a while.
  const outcomes: string[] = []
  for (let i = 0; i < 7; i++) outcomes.push(outcome(await change('guess', 'third-secret', second)))
  t.equal(outcomes[0], '403 access_denied')
  t.equal(outcomes.at(-1), '429 too_many_requests')
  t.equal(outcome(await change('second-secret', 'third-secret', second)), '429 too_many_requests', 'the right one, too')
})

/** The headers of a request from a page of the console. */
async function login(keys: Keys) {
  const answer = await server.anonymous({
    method: 'POST',
    path: '/api/v1/auth/login',
    body: { accessKey: keys.accessKey, secretKey: keys.secretKey },
  })
  if (answer.status !== 200) throw new Error(`login: ${answer.text}`)
  const headers = {
    cookie: String(answer.headers['set-cookie']).split(';')[0]!,
    origin: `http://127.0.0.1:${server.port}`,
    'x-csrf-token': answer.json.csrfToken,
  }
  return (given: AdminCall) => server.anonymous({ ...given, headers: { ...headers, ...given.headers } })
}
