/** The rules of users, groups, policies and access keys, over a real drive. */
import { inspect } from 'node:util'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { codeOf, nowMs, startDirectory } from './start-users.ts'

const allow = (...Action: string[]) => ({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action, Resource: 'arn:aws:s3:::*' }],
})
const deny = (...Action: string[]) => ({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Deny', Action, Resource: 'arn:aws:s3:::*' }],
})

t.test('names, secrets and texts are checked, and no name can be taken twice', async t => {
  const { users, root } = await startDirectory(t)
  const create = (user: Parameters<typeof users.createUser>[0]) => codeOf(users.createUser(user))
  for (const accessKey of [
    'ab',
    'a b c',
    'a/b/c',
    'a,bc',
    'réseau',
    'x'.repeat(129),
    '',
    'ASIA0123456789ABCDEF',
    'a\nbc',
  ]) {
    t.equal(await create({ accessKey }), 'invalid_argument', JSON.stringify(accessKey))
  }
  for (const secretKey of ['1234567', 'x'.repeat(129), 'with space', 'pässword', 'tab\tbed!']) {
    t.equal(await create({ accessKey: 'ada', secretKey }), 'invalid_argument', JSON.stringify(secretKey))
  }
  t.equal(await create({ accessKey: 'ada', description: 'x'.repeat(257) }), 'invalid_argument')
  t.equal(await create({ accessKey: 'ada', groups: ['nobody'] }), 'group_not_found')
  t.equal(await create({ accessKey: 'ada', policyNames: ['nothing'] }), 'policy_not_found')
  t.equal(await create({ accessKey: 'admin' }), 'already_exists', 'root')
  t.equal(await create({ accessKey: 'A.z_0@+=-' }), 'ok')
  t.equal(await create({ accessKey: 'ada' }), 'ok')
  t.equal(await create({ accessKey: 'ada' }), 'already_exists')
  const createKey = (accessKey: string) => codeOf(users.createAccessKey(root, { accessKey }))
  t.equal(await createKey('ada'), 'already_exists')
  t.equal(await createKey('admin'), 'already_exists')
  t.equal(await createKey('KEY1'), 'ok')
  t.equal(await create({ accessKey: 'KEY1' }), 'already_exists')
  // Of two concurrent ones, one succeeds.
  const both = await Promise.all([create({ accessKey: 'twin' }), createKey('twin')])
  t.strictSame(both.sort(), ['already_exists', 'ok'])
})

t.test('users: reads, changes and lists; a secret is shown once and only if it was generated', async t => {
  const { users } = await startDirectory(t)
  await users.createGroup({ name: 'staff' })
  await users.attachPolicies({ group: 'staff' }, ['readonly'])
  const made = await users.createUser({
    accessKey: 'ada',
    groups: ['staff'],
    policyNames: ['writeonly'],
    description: 'A',
  })
  t.match(made.secretKey, /^[A-Za-z0-9]{40}$/)
  t.match(made.user, {
    accessKey: 'ada',
    status: 'enabled',
    description: 'A',
    groups: ['staff'],
    policyNames: ['writeonly'],
    effectivePolicyNames: ['readonly', 'writeonly'],
    accessKeyCount: 0,
    createdMs: nowMs,
  })
  const given = await users.createUser({ accessKey: 'eve', secretKey: 'secret-of-eve' })
  t.equal(given.secretKey, undefined)
  t.notMatch(inspect([made.user, given.user, await users.listUsers()], { depth: 9 }), /secret-of-eve/)
  t.match(await users.updateUser('ada', { status: 'disabled' }), { status: 'disabled', description: 'A' })
  t.match(await users.updateUser('ada', { description: null }), { status: 'disabled', description: '' })
  t.equal(await codeOf(users.updateUser('nobody', {})), 'user_not_found')
  t.strictSame(
    (await users.listUsers({ status: 'disabled' })).items.map(user => user.accessKey),
    ['ada'],
  )
  t.strictSame(
    (await users.listUsers({ group: 'staff' })).items.map(user => user.accessKey),
    ['ada'],
  )
  t.strictSame(
    (await users.listUsers({ policy: 'writeonly' })).items.map(user => user.accessKey),
    ['ada'],
  )
  t.strictSame(
    (await users.listUsers({ prefix: 'e' })).items.map(user => user.accessKey),
    ['eve'],
  )
  const first = await users.listUsers({ limit: 1 })
  t.equal(first.next, 'ada')
  const second = await users.listUsers({ limit: 1, startAfter: first.next })
  t.strictSame([second.items.map(user => user.accessKey), second.next], [['eve'], undefined])
  t.equal(await codeOf(users.listUsers({ limit: 0 })), 'invalid_argument')
})

t.test('groups: members, emptiness, and a disabled group neither allows nor denies', async t => {
  const { users, may } = await startDirectory(t)
  await users.putPolicy('no-get', deny('s3:GetObject'))
  await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
  await users.createUser({ accessKey: 'eve' })
  t.equal(await codeOf(users.createGroup({ name: 'dev', members: ['ada', 'nobody'] })), 'user_not_found')
  t.equal(await codeOf(users.getGroup('dev')), 'group_not_found', 'nothing of it was made')
  t.equal(await codeOf(users.createGroup({ name: 'a/b' })), 'invalid_argument')
  const dev = await users.createGroup({ name: 'dev', members: ['eve', 'ada'] })
  t.strictSame(dev.members, ['ada', 'eve'])
  t.equal(await codeOf(users.createGroup({ name: 'dev' })), 'already_exists')
  t.equal(await may('ada', 's3:GetObject'), true)
  t.equal(await may('eve', 's3:PutObject'), false)
  t.strictSame(await users.attachPolicies({ group: 'dev' }, ['no-get', 'writeonly', 'no-get']), ['no-get', 'writeonly'])
  t.equal(await may('ada', 's3:GetObject'), false, 'the group denies')
  t.equal(await may('eve', 's3:PutObject'), true, 'the group allows')
  await users.updateGroup('dev', { status: 'disabled' })
  t.equal(await may('ada', 's3:GetObject'), true)
  t.equal(await may('eve', 's3:PutObject'), false)
  t.strictSame((await users.getUser('eve')).effectivePolicyNames, [])
  t.equal(await codeOf(users.deleteGroup('dev')), 'group_not_empty')
  await users.removeGroupMember('dev', 'ada')
  await users.removeGroupMember('dev', 'nobody')
  t.strictSame((await users.getGroup('dev')).members, ['eve'])
  t.strictSame((await users.setUserGroups('eve', [])).groups, [])
  // A user joins a group that is deleted at the same time: one of the two operations is refused.
  const both = await Promise.all([codeOf(users.deleteGroup('dev')), codeOf(users.addGroupMembers('dev', ['ada']))])
  t.ok(['ok,group_not_found', 'group_not_empty,ok'].includes(both.join()), both.join())
})

t.test('policies: built-in ones, positions of problems, ETags, and attached ones cannot be deleted', async t => {
  const { users } = await startDirectory(t)
  t.equal(await codeOf(users.putPolicy('readonly', allow('s3:*'))), 'builtin_policy')
  t.equal(await codeOf(users.deletePolicy('consoleAdmin')), 'builtin_policy')
  t.equal(await codeOf(users.putPolicy('attach', allow('s3:*'))), 'invalid_argument')
  t.equal(await codeOf(users.putPolicy('p', '{"Version":"2012-10-17"}')), 'malformed_policy')
  const problem = await users.putPolicy('p', allow('s3:Nothing')).catch(error => error)
  t.match(problem.cause, [{ element: String, message: String }])
  const { policy, isNew } = await users.putPolicy('p', JSON.stringify(allow('s3:GetObject')))
  t.match(
    [policy, isNew],
    [{ name: 'p', builtIn: false, etag: /^[0-9a-f]{32}$/, document: allow('s3:GetObject') }, true],
  )
  t.equal((await users.putPolicy('p', allow('s3:GetObject'))).policy.etag, policy.etag, 'of the document alone')
  t.equal(await codeOf(users.putPolicy('p', allow('s3:PutObject'), { ifMatch: 'no' })), 'precondition_failed')
  t.equal(await codeOf(users.putPolicy('q', allow('s3:PutObject'), { ifMatch: '*' })), 'precondition_failed')
  t.equal(await codeOf(users.putPolicy('p', allow('s3:PutObject'), { ifNoneMatch: '*' })), 'precondition_failed')
  const changed = await users.putPolicy('p', allow('s3:PutObject'), { ifMatch: policy.etag })
  t.equal(changed.isNew, false)
  await users.createUser({ accessKey: 'ada' })
  await users.createGroup({ name: 'dev' })
  t.equal(await codeOf(users.attachPolicies({ user: 'ada', group: 'dev' }, ['p'])), 'invalid_argument')
  t.equal(await codeOf(users.attachPolicies({}, ['p'])), 'invalid_argument')
  t.equal(await codeOf(users.attachPolicies({ user: 'ada' }, ['p', 'nothing'])), 'policy_not_found')
  await users.attachPolicies({ user: 'ada' }, ['p'])
  await users.attachPolicies({ group: 'dev' }, ['p'])
  t.match((await users.getPolicy('p')).attachedTo, { users: ['ada'], groups: ['dev'] })
  t.equal(await codeOf(users.deletePolicy('p')), 'policy_in_use')
  await users.detachPolicies({ user: 'ada' }, ['p'])
  t.equal(await codeOf(users.deletePolicy('p')), 'policy_in_use')
  await users.detachPolicies({ group: 'dev' }, ['p'])
  t.equal(await codeOf(users.deletePolicy('p', { ifMatch: policy.etag })), 'precondition_failed')
  // Attached while it is being deleted: one of the two operations is refused.
  const both = await Promise.all([
    codeOf(users.deletePolicy('p')),
    codeOf(users.attachPolicies({ user: 'ada' }, ['p'])),
  ])
  t.ok(['ok,policy_not_found', 'policy_in_use,ok'].includes(both.join()), both.join())
  await users.putPolicy('alpha', allow('s3:*'))
  const names: string[] = []
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    const page: Awaited<ReturnType<typeof users.listPolicies>> = await users.listPolicies({ limit: 2, startAfter })
    names.push(...page.items.map(({ name }) => name))
    startAfter = page.next
  }
  t.strictSame(
    names,
    ['alpha', 'consoleAdmin', 'diagnostics', 'p', 'readonly', 'readwrite', 'writeonly'].filter(
      name => name !== 'p' || both[0] !== 'ok',
    ),
  )
})

t.test(
  'an access key has its owner’s rights and its policy’s, dies with either, and belongs to no later namesake',
  async t => {
    const clock = createFakeClock(nowMs)
    const { users, root, may, as, identity, iam } = await startDirectory(t, clock)
    await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
    const ada = await as('ada')
    const { key, secretKey } = await users.createAccessKey(ada, { name: 'laptop' })
    t.match(key, { accessKey: /^[A-Z0-9]{20}$/, user: 'ada', kind: 'access-key', state: 'active', createdBy: 'ada' })
    t.match(await identity(key.accessKey), {
      userName: 'ada',
      kind: 'access-key',
      isRoot: false,
      ownerId: iam.owner.ownerId,
    })
    t.equal((await iam.verifySecret(key.accessKey, secretKey))?.accessKey, key.accessKey)
    t.equal(await may(key.accessKey, 's3:PutObject'), true)
    await users.updateAccessKey(ada, key.accessKey, { policy: allow('s3:GetObject', 's3:DeleteBucket', 'admin:*') })
    t.equal(await may(key.accessKey, 's3:PutObject'), false)
    t.equal(await may(key.accessKey, 's3:GetObject'), true)
    t.equal(await may(key.accessKey, 'admin:CreateUser'), false, 'the owner may not')
    const { etag } = await users.getAccessKey(ada, key.accessKey)
    t.not(etag, key.etag)
    const stale = users.updateAccessKey(ada, key.accessKey, { policy: null, ifMatch: key.etag })
    t.equal(await codeOf(stale), 'precondition_failed', 'somebody else has changed it')
    await users.updateAccessKey(ada, key.accessKey, { policy: null, expiresMs: nowMs + 5000, ifMatch: etag })
    t.equal(await may(key.accessKey, 's3:PutObject'), true)
    await clock.advance(4999)
    t.ok(await identity(key.accessKey))
    await clock.advance(1)
    t.equal(await identity(key.accessKey), undefined, 'expired')
    t.match(await users.getAccessKey(ada, key.accessKey), { state: 'expired', status: 'enabled' })
    t.equal(await codeOf(users.updateAccessKey(ada, key.accessKey, { expiresMs: nowMs })), 'invalid_argument')
    await users.updateAccessKey(ada, key.accessKey, { expiresMs: null })
    t.ok(await identity(key.accessKey))
    await users.updateAccessKey(ada, key.accessKey, { status: 'disabled' })
    t.equal(await identity(key.accessKey), undefined, 'disabled')
    await users.updateAccessKey(ada, key.accessKey, { status: 'enabled' })
    const rotated = await users.rotateAccessKey(ada, key.accessKey)
    t.equal(await iam.verifySecret(key.accessKey, secretKey), undefined, 'the old secret')
    t.ok(await iam.verifySecret(key.accessKey, rotated.secretKey))
    await users.updateUser('ada', { status: 'disabled' })
    t.equal(await identity(key.accessKey), undefined, 'the owner is disabled')
    await users.updateUser('ada', { status: 'enabled' })
    t.equal((await users.getUser('ada')).accessKeyCount, 1)
    t.equal(await codeOf(users.deleteUser('ada', ada.identity)), 'conflict')
    t.equal(await codeOf(users.deleteUser('ada', (await as(key.accessKey)).identity)), 'conflict', 'with its own key')
    await users.deleteUser('ada', root.identity)
    t.equal(await codeOf(users.getAccessKey(root, key.accessKey)), 'access_key_not_found')
    await users.createUser({ accessKey: 'ada' })
    t.equal(await identity(key.accessKey), undefined)
  },
)

t.test('deleting a user with many access keys deletes all of them', async t => {
  const { users, root, as, identity } = await startDirectory(t)
  await users.createUser({ accessKey: 'ada' })
  const ada = await as('ada')
  const keys = await Promise.all(Array.from({ length: 950 }, () => users.createAccessKey(ada, {})))
  await users.deleteUser('ada', root.identity)
  await users.createUser({ accessKey: 'ada' })
  t.equal((await users.getUser('ada')).accessKeyCount, 0)
  for (const { key } of keys.slice(0, 3)) t.equal(await identity(key.accessKey), undefined)
  t.strictSame((await users.listAccessKeys(root, { user: 'ada' })).items, [])
  t.equal(
    await codeOf(users.createAccessKey(root, { accessKey: keys.at(-1)!.key.accessKey })),
    'ok',
    'its name is free',
  )
})

t.test('the operations on access keys that each caller is allowed', async t => {
  const { users, root, as, iam } = await startDirectory(t)
  await users.createUser({ accessKey: 'ada' })
  await users.createUser({ accessKey: 'boss', policyNames: ['consoleAdmin'] })
  const ada = await as('ada')
  const boss = await as('boss')
  const create = async (caller: typeof ada, key: Parameters<typeof users.createAccessKey>[1]) =>
    (await users.createAccessKey(caller, key)).key.accessKey
  const plain = await create(ada, {})
  const limited = await create(ada, { policy: allow('s3:*', 'admin:*') })
  const sibling = await create(ada, {})
  const ofRoot = await create(root, {})
  const limitedOfRoot = await create(root, { policy: allow('s3:*', 'admin:*') })
  const session = await users.createSession(ada.identity, { durationSeconds: 900, sessionName: 'test' })
  const found = await users.createSession(ada.identity, { durationSeconds: 900, sessionName: 'test' })
  const temporary = (await startedSession(session)).identity
  t.ok(found.sessionToken !== session.sessionToken)
  async function startedSession({ accessKey, sessionToken }: typeof session) {
    const credentials = await iam.sessionCredentials(accessKey, sessionToken)
    if (typeof credentials === 'string') throw new Error(credentials)
    return credentials
  }

  const may = async (caller: typeof ada, accessKey: string) => ({
    read: await codeOf(users.getAccessKey(caller, accessKey)),
    update: await codeOf(users.updateAccessKey(caller, accessKey, { name: 'x' })),
    rotate: await codeOf(users.rotateAccessKey(caller, accessKey)),
  })
  const yes = { read: 'ok', update: 'ok', rotate: 'ok' }
  const no = { read: 'access_denied', update: 'access_denied', rotate: 'access_denied' }
  t.strictSame(await may(ada, sibling), yes)
  t.strictSame(await may(await as(plain), sibling), yes, 'an access key without a policy acts as its owner')
  t.strictSame(await may(await as(plain), limited), yes)
  t.strictSame(await may(await as(limited), sibling), no)
  t.strictSame(await may(await as(limited), limited), { ...no, read: 'ok' })
  t.strictSame(await may({ ...ada, identity: temporary }, sibling), no)
  t.strictSame(await may(ada, ofRoot), no)
  t.strictSame(await may(ada, 'NOSUCHKEY'), no, 'it does not learn that there is none')
  t.strictSame(await may(boss, sibling), yes)
  t.strictSame(await may(boss, ofRoot), { ...no, read: 'ok' })
  t.strictSame(await may(await as(limitedOfRoot), ofRoot), no)
  t.strictSame(await may(await as(limitedOfRoot), sibling), yes, 'what its policy allows it')
  t.strictSame(await may(await as(ofRoot), limitedOfRoot), yes)

  t.equal(await codeOf(users.createAccessKey(ada, { user: 'boss' })), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(ada, { user: 'nobody' })), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(ada, { user: 'admin' })), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(boss, { user: 'admin' })), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(boss, { user: 'ada' })), 'ok')
  t.equal(await codeOf(users.createAccessKey(boss, { user: 'nobody' })), 'user_not_found')
  t.equal(await codeOf(users.createAccessKey(await as(limited), {})), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(await as(limited), { user: 'ada' })), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(await as(limitedOfRoot), {})), 'access_denied')
  t.equal(await codeOf(users.createAccessKey(await as(limitedOfRoot), { user: 'admin' })), 'access_denied')
  t.equal(await codeOf(users.createAccessKey({ ...ada, identity: temporary }, {})), 'access_denied')
  t.equal(await codeOf(users.createSession(temporary, { durationSeconds: 900, sessionName: 'x' })), 'access_denied')

  t.equal(await codeOf(users.listAccessKeys(ada)), 'ok')
  t.equal(await codeOf(users.listAccessKeys(ada, { user: 'boss' })), 'access_denied')
  t.equal(await codeOf(users.listAccessKeys(ada, { user: 'admin' })), 'access_denied')
  t.equal(await codeOf(users.listAccessKeys(await as(limited))), 'access_denied')
  t.strictSame(
    (await users.listAccessKeys(root)).items.map(key => key.accessKey).sort(),
    [limitedOfRoot, ofRoot].sort(),
  )
  t.equal(await codeOf(users.deleteAccessKey(await as(limited), sibling)), 'access_denied')
  t.equal(await codeOf(users.deleteAccessKey(await as(limited), limited)), 'ok')
  t.equal(await codeOf(users.deleteAccessKey(boss, ofRoot)), 'access_denied')
  t.equal(await codeOf(users.deleteAccessKey(boss, sibling)), 'ok')

  t.equal(await codeOf(users.changeOwnSecretKey(root.identity, 'x', 'new-secret-1')), 'conflict')
  t.equal(await codeOf(users.changeOwnSecretKey((await as(plain)).identity, 'x', 'new-secret-1')), 'access_denied')
  t.equal(await codeOf(users.changeOwnSecretKey(ada.identity, 'wrong', 'new-secret-1')), 'access_denied')
})
