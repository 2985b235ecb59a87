/** Rights of credentials: shares, sessions, unreadable documents, secrets at rest, and that no caller gains a right through a key. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { definePlugin, isCatalogError } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import { createFakeClock, type SeededRandom, seeded, until } from 'svc/testing'
import t from 'tap'
import type { Caller } from '../api.ts'
import { codeOf, nowMs, startDirectory } from './start-users.ts'

const policyOf = (
  Effect: 'Allow' | 'Deny',
  Action: string | string[],
  Resource: string | string[] = 'arn:aws:s3:::*',
) => ({
  Version: '2012-10-17',
  Statement: [{ Effect, Action, Resource }],
})

t.test(
  'a user has a limited number of active shares; ended ones are removed for new ones, and after a day',
  async t => {
    const clock = createFakeClock(nowMs)
    let jumpedMs = 0
    const { users, as } = await startDirectory(
      t,
      { ...clock, now: () => clock.now() + jumpedMs },
      { sharesPerUserMax: 500 },
    )
    for (const accessKey of ['ada', 'bob']) await users.createUser({ accessKey, policyNames: ['readwrite'] })
    const [ada, bob] = [await as('ada'), await as('bob')]
    const target = { bucket: 'bucket', key: 'key' }
    const make = (count: number, caller = ada, expiresMs = nowMs + 1000 + jumpedMs) =>
      Promise.all(Array.from({ length: count }, () => users.createAccessKey(caller, { share: target, expiresMs })))
    const own = await users.createAccessKey(ada, { name: 'mine' })
    const count = async (state?: 'active' | 'expired' | 'revoked') =>
      (await users.listShares(ada, { state })).items.length
    const [first] = await make(500)
    t.equal(await codeOf(make(1)), 'conflict')
    t.equal(await codeOf(make(1, bob)), 'ok', 'others have their own')
    await users.revokeShare(ada, first!.key.accessKey)
    t.equal(await codeOf(make(1)), 'ok')
    t.strictSame(
      (await users.listAccessKeys(ada)).items.map(key => key.accessKey),
      [own.key.accessKey],
    )
    jumpedMs += 2000
    await make(500)
    t.strictSame(
      [await count('active'), await count('expired'), await count('revoked')],
      [500, 500, 0],
      'the oldest went',
    )
    t.equal(await users.removeOldShares(), 0)
    jumpedMs += 86_400_000
    t.equal(await users.removeOldShares(), 1001 - 500, 'two commits')
    jumpedMs += 2000
    t.equal(await users.removeOldShares(), 500)
    t.equal(await count(), 0)
    t.equal(await codeOf(users.createAccessKey(ada, { accessKey: 'SVCSHAREX' })), 'invalid_argument')
  },
)

t.test('a share ends with the limited key that made it, and tells so', async t => {
  const { users, as } = await startDirectory(t)
  await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
  const policy = policyOf('Allow', 's3:GetObject', 'arn:aws:s3:::bucket/*')
  const maker = await users.createAccessKey(await as('ada'), { policy, expiresMs: nowMs + 60_000 })
  const share = { bucket: 'bucket', key: 'key' }
  const make = async (expiresMs: number) =>
    (await users.createAccessKey(await as(maker.key.accessKey), { share, expiresMs })).key.expiresMs
  t.equal(await make(nowMs + 3_600_000), nowMs + 60_000)
  t.equal(await make(nowMs + 1000), nowMs + 1000, 'its own, where that comes first')
})

t.test('a share gives access to one object of any name with the rights of its creator, and ends with them', async t => {
  const { users, as, identity, may, iam } = await startDirectory(t)
  await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
  const ada = await as('ada')
  const parent = await users.createAccessKey(ada, {
    policy: policyOf('Allow', 's3:GetObject', 'arn:aws:s3:::bucket/?'),
  })
  const maker = await as(parent.key.accessKey)
  const star = await users.createAccessKey(maker, { share: { bucket: 'bucket', key: '*' } })
  t.match(star.key, { kind: 'share', user: 'ada', share: { bucket: 'bucket', key: '*' } })
  t.equal(await may(star.key.accessKey, 's3:GetObject', 'bucket', '*'), true)
  for (const [action, bucket, key] of [
    ['s3:GetObject', 'bucket', 'other'],
    ['s3:GetObject', 'bucket', '*x'],
    ['s3:GetObject', 'bucke2', '*'],
    ['s3:PutObject', 'bucket', '*'],
    ['s3:GetObjectTagging', 'bucket', '*'],
    ['s3:ListBucket', 'bucket', ''],
    ['admin:ServerInfo', '', ''],
  ] as const) {
    t.equal(await may(star.key.accessKey, action, bucket, key), false, `${action} ${bucket}/${key}`)
  }
  const foreign = await users.createAccessKey(maker, { share: { bucket: 'bucket', key: 'not-of-the-maker' } })
  t.equal(await may(foreign.key.accessKey, 's3:GetObject', 'bucket', 'not-of-the-maker'), false)
  t.equal(await iam.verifySecret(star.key.accessKey, star.secretKey), undefined, 'nobody logs in with it')
  t.equal(await codeOf(users.createAccessKey(await as(star.key.accessKey), {})), 'access_denied')
  t.equal(await codeOf(users.getAccessKey(await as(star.key.accessKey), star.key.accessKey)), 'access_denied')
  t.strictSame(
    (await users.listAccessKeys(ada)).items.map(key => key.accessKey),
    [parent.key.accessKey],
  )
  await users.updateAccessKey(ada, parent.key.accessKey, { status: 'disabled' })
  t.equal(await identity(star.key.accessKey), undefined)
  await users.updateAccessKey(ada, parent.key.accessKey, { status: 'enabled', expiresMs: nowMs + 1 })
  t.ok(await identity(star.key.accessKey))
  await users.deleteAccessKey(ada, parent.key.accessKey)
  t.equal(await identity(star.key.accessKey), undefined)
})

t.test(
  'a session has at most the rights of its creator, and ends when it expires, with its creator, or with another secret',
  async t => {
    const clock = createFakeClock(nowMs)
    const { users, as, iam, policy, root } = await startDirectory(t, clock)
    await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
    const ada = await as('ada')
    const request = { durationSeconds: 900, sessionName: 'build-7' }
    const find = async ({ accessKey, sessionToken }: { accessKey: string; sessionToken: string }) =>
      iam.sessionCredentials(accessKey, sessionToken)
    const may = async (session: Parameters<typeof find>[0], action: string) => {
      const found = await find(session)
      return typeof found === 'string'
        ? found
        : policy.isAllowed({ identity: found.identity, action, bucket: 'b', key: 'k' })
    }
    const plain = await users.createSession(ada.identity, request)
    t.match(plain, { accessKey: /^ASIA[A-Z0-9]{16}$/, secretKey: /^[A-Za-z0-9]{40}$/, expiresMs: nowMs + 900_000 })
    t.notMatch(plain.sessionToken, new RegExp(plain.secretKey))
    t.match((await find(plain)) as object, {
      identity: { userName: 'ada', kind: 'session', isRestricted: true, isRoot: false },
    })
    t.equal(await find(plain), await find(plain), 'the same object as long as nothing changes')
    t.equal(await iam.credentials(plain.accessKey), undefined, 'not without its token')
    const document = JSON.stringify(policyOf('Allow', ['s3:GetObject', 'admin:*']))
    const limited = await users.createSession(ada.identity, { ...request, policy: document })
    t.strictSame([await may(plain, 's3:PutObject'), await may(limited, 's3:PutObject')], [true, false])
    t.strictSame([await may(limited, 's3:GetObject'), await may(limited, 'admin:ServerInfo')], [true, false])
    const ofRoot = await users.createSession(root.identity, { ...request, policy: document })
    t.strictSame([await may(ofRoot, 's3:PutObject'), await may(ofRoot, 'admin:ServerInfo')], [false, true])
    const allOfRoot = await users.createSession(root.identity, request)
    t.equal(await may(allOfRoot, 'admin:ServerInfo'), true)

    for (const bad of ['', 'token', plain.sessionToken.slice(1), `${plain.sessionToken}AA`, 'A'.repeat(9000)]) {
      t.equal(await iam.sessionCredentials(plain.accessKey, bad), 'invalid')
    }
    t.equal(await iam.sessionCredentials(limited.accessKey, plain.sessionToken), 'invalid', 'of another session')
    for (const wrong of [
      { durationSeconds: 899 },
      { durationSeconds: 43_201 },
      { durationSeconds: 900.5 },
      { sessionName: 'a b' },
    ]) {
      t.equal(await codeOf(users.createSession(ada.identity, { ...request, ...wrong })), 'invalid_argument')
    }
    t.equal(await codeOf(users.createSession(ada.identity, { ...request, policy: '{}' })), 'malformed_policy')
    t.equal(
      await codeOf(users.createSession(ada.identity, { ...request, policy: `${document}${' '.repeat(2048)}` })),
      'malformed_policy',
    )

    await users.detachPolicies({ user: 'ada' }, ['readwrite'])
    t.equal(await may(plain, 's3:PutObject'), false, 'it has the rights that its maker has now')
    await users.attachPolicies({ user: 'ada' }, ['readwrite'])
    await users.updateUser('ada', { status: 'disabled' })
    t.equal(await may(plain, 's3:PutObject'), 'invalid')
    await users.updateUser('ada', { status: 'enabled' })
    t.equal(await may(plain, 's3:PutObject'), true)
    await clock.advance(899_999)
    t.equal(await may(plain, 's3:PutObject'), true)
    await clock.advance(1)
    t.equal(await may(plain, 's3:PutObject'), 'expired')
    const later = await users.createSession((await as('ada')).identity, request)
    await users.setUserSecretKey('ada', 'another-secret')
    t.equal(await may(later, 's3:PutObject'), 'invalid', 'who changes a secret ends what was made with it')
  },
)

t.test(
  'what was made with a key or a user that is gone is nothing to the next one of that name and secret',
  async t => {
    const { users, as, identity, iam, root } = await startDirectory(t)
    const request = { durationSeconds: 900, sessionName: 'build-7' }
    const find = async ({ accessKey, sessionToken }: { accessKey: string; sessionToken: string }) => {
      const found = await iam.sessionCredentials(accessKey, sessionToken)
      return typeof found === 'string' ? found : 'good'
    }
    const again = { accessKey: 'again', secretKey: 'the-same-secret' }
    await users.createUser({ ...again, policyNames: ['readonly'] })
    const ofUser = await users.createSession((await as('again')).identity, request)
    t.equal(await find(ofUser), 'good')
    await users.deleteUser('again', root.identity)
    await users.createUser({ ...again, policyNames: ['readwrite'] })
    t.equal(await find(ofUser), 'invalid')
    await users.deleteUser('again', root.identity)

    await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
    const ada = await as('ada')
    const limited = { ...again, policy: policyOf('Allow', 's3:GetObject') }
    await users.createAccessKey(ada, limited)
    const ofKey = await users.createSession((await as('again')).identity, request)
    const maker = await as('again')
    // More than one commit can delete together with their parent.
    const shares = await Promise.all(
      Array.from({ length: 905 }, () => users.createAccessKey(maker, { share: { bucket: 'bucket', key: 'key' } })),
    )
    const alive = async () => {
      const found = await Promise.all(shares.map(({ key }) => identity(key.accessKey)))
      return found.filter(share => share !== undefined).length
    }
    await users.updateAccessKey(ada, 'again', { description: 'the same key' })
    t.strictSame([await find(ofKey), await alive()], ['good', 905])
    await users.deleteAccessKey(ada, 'again')
    t.strictSame([await find(ofKey), await alive()], ['invalid', 0])
    await users.createAccessKey(ada, { ...limited, policy: policyOf('Allow', 's3:*') })
    t.strictSame([await find(ofKey), await alive()], ['invalid', 0])
  },
)

t.test('an attached policy that cannot be read allows nothing, not even requests that the bucket allows', async t => {
  const flight = definePlugin({
    name: 'flight',
    setup({ contribute }) {
      contribute('policy.action', 'admin:Fly', { level: 'none', description: 'fly' })
    },
  })
  const before = await startDirectory(t, undefined, { plugins: [flight] })
  await before.users.putPolicy('no-delete', policyOf('Deny', ['s3:DeleteObject', 'admin:Fly']))
  await before.users.createUser({ accessKey: 'ada', policyNames: ['readwrite', 'no-delete'] })
  const { key } = await before.users.createAccessKey(await before.as('ada'), {
    policy: policyOf('Allow', ['s3:*', 'admin:Fly']),
  })
  t.equal(await before.may('ada', 's3:GetObject'), true)
  t.equal(await before.may('ada', 's3:DeleteObject'), false)
  await before.kernel.stop()
  // Without the plugin the meaning of its action is unknown, and so is what a policy with it denied.
  const { users, kernel, may, identity, policy, root } = await startDirectory(t, undefined, { folder: before.folder })
  t.equal(await may('ada', 's3:GetObject'), false)
  const everybody = policy.compile(
    {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: '*', Action: 's3:*', Resource: 'arn:aws:s3:::b/*' }],
    },
    { kind: 'bucket', bucket: 'b' },
  ).policy!
  const bucketPolicies = { policies: policy.combine([{ policy: everybody, source: 'bucket-policy' }]) }
  const ask = async (identity: Identity | undefined) =>
    policy.isAllowed({ identity, action: 's3:DeleteObject', bucket: 'b', key: 'k', bucketPolicies })
  t.equal(await ask(undefined), true)
  t.equal(await ask(await identity('ada')), false)
  t.match(
    kernel.logs.find(line => /cannot be read/.test(String(line.msg))),
    { level: 'error', accessKey: 'ada' },
  )
  await users.putPolicy('no-delete', policyOf('Deny', 's3:PutObject'))
  t.equal(await may('ada', 's3:GetObject'), true, 'replacing it helps')
  t.equal(await may(key.accessKey, 's3:GetObject'), false, 'the embedded policy is as unreadable')
  await users.updateAccessKey(root, key.accessKey, { policy: null })
  t.equal(await may(key.accessKey, 's3:GetObject'), true)
})

t.test('watchers of an access key are notified when it becomes invalid', async t => {
  const { users, root, iam } = await startDirectory(t)
  await users.createUser({ accessKey: 'ada' })
  const { key } = await users.createAccessKey(root, { user: 'ada' })
  const heard: (string | undefined)[] = []
  const stop = iam.watchSecrets(accessKey => heard.push(accessKey))
  const hears = async (...expected: (string | undefined)[]) => {
    await until(() => heard.length >= expected.length)
    t.strictSame(heard.splice(0), expected)
  }
  await users.updateUser('ada', { description: 'x' })
  await users.attachPolicies({ user: 'ada' }, ['readonly'])
  await users.setUserSecretKey('ada', 'another-secret')
  await hears('ada')
  await users.rotateAccessKey(root, key.accessKey)
  await hears(key.accessKey)
  await users.updateUser('ada', { status: 'disabled' })
  await hears('ada', undefined)
  await users.deleteAccessKey(root, key.accessKey)
  await hears(key.accessKey)
  stop()
  await users.deleteUser('ada', root.identity)
  await new Promise(setImmediate)
  await hears()
})

t.test('no secret is on the drive, in the log or in an error', async t => {
  const { users, root, as, kernel, folder } = await startDirectory(t)
  const secrets = ['planted-user-secret', 'planted-key-secret', 'planted-rotated-secret', 'planted-second-secret']
  await users.createUser({ accessKey: 'ada', secretKey: secrets[0] })
  const ada = await as('ada')
  const { key } = await users.createAccessKey(ada, { secretKey: secrets[1] })
  await users.rotateAccessKey(ada, key.accessKey, secrets[2])
  const session = await users.createSession(ada.identity, { durationSeconds: 900, sessionName: 'test' })
  const errors = await Promise.all(
    [
      users.createUser({ accessKey: 'ada', secretKey: secrets[3] }),
      users.createUser({ accessKey: 'eve', secretKey: `${secrets[3]} with a space` }),
      users.changeOwnSecretKey(ada.identity, 'planted-guess', secrets[3]!),
      users.createAccessKey(root, { accessKey: 'ada', secretKey: secrets[3] }),
    ].map(sent =>
      sent.then(
        () => 'ok',
        error => `${error.message} ${error.stack} ${JSON.stringify(error)}`,
      ),
    ),
  )
  t.notOk(errors.includes('ok'))
  t.notMatch(errors.join(), /planted/)
  t.notMatch(JSON.stringify(kernel.logs), /planted/)
  const files = globSync('**', { cwd: folder, withFileTypes: true }).filter(file => file.isFile())
  t.ok(
    files.some(file => readFileSync(join(file.parentPath, file.name)).includes(key.accessKey)),
    'it is stored',
  )
  for (const file of files) {
    const bytes = readFileSync(join(file.parentPath, file.name))
    t.notOk(bytes.includes('planted-') || bytes.includes(session.secretKey), file.name)
  }
})

const actions = ['s3:GetObject', 's3:PutObject', 's3:DeleteObject', 's3:ListBucket', 'admin:ServerInfo']
const resources = ['a/x', 'a/y', 'b/x']

t.test(
  'no caller gains a right through a key: created credentials have at most the rights of their creator',
  async t => {
    await seeded(t, async random => {
      const { users, identity, policy, iam, root } = await startDirectory(t)
      const rightsOf = (who: Identity | undefined): Set<string> => {
        const rights = new Set<string>()
        for (const action of actions) {
          for (const place of resources) {
            const [bucket, key] = place.split('/')
            if (policy.isAllowed({ identity: who, action, bucket, key })) rights.add(`${action} ${place}`)
          }
        }
        return rights
      }
      const callerOf = (identity: Identity): Caller => ({
        identity,
        isAllowed: action => policy.isAllowed({ identity, action }),
      })
      for (let i = 0; i < 6; i++) await users.putPolicy(`p${i}`, randomPolicy(random))
      for (const name of ['g0', 'g1']) {
        await users.createGroup({ name })
        await users.attachPolicies({ group: name }, some(random, ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']))
      }
      const names = ['user0', 'user1', 'user2']
      for (const accessKey of names) {
        await users.createUser({
          accessKey,
          groups: some(random, ['g0', 'g1']),
          policyNames: some(random, ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'readonly']),
        })
      }
      const limitedRoot = await users.createAccessKey(root, { policy: randomPolicy(random) })
      const actors = [...names, limitedRoot.key.accessKey].map(name => ({ find: () => identity(name) }))
      const madeMin = 60
      let made = 0
      // The number of refused steps depends on the policies of this seed.
      for (let step = 0; step < 2500 && made < madeMin; step++) {
        const actor = actors[random.integer(actors.length)]!
        const who = await actor.find()
        if (who === undefined) continue
        const caller = callerOf(who)
        const before = rightsOf(who)
        const user = random.integer(2) === 0 ? undefined : ['user0', 'user1', 'user2', 'admin'][random.integer(4)]
        const embedded = random.integer(2) === 0 ? undefined : randomPolicy(random)
        try {
          let find: () => Promise<Identity | undefined>
          switch (random.integer(5)) {
            case 0:
            case 1: {
              const isShare = random.integer(3) === 0
              const share = isShare ? { bucket: 'a', key: 'x' } : undefined
              const { key } = await users.createAccessKey(caller, { user, policy: embedded, share })
              find = () => identity(key.accessKey)
              break
            }
            case 2: {
              const request = { durationSeconds: 900, sessionName: 'xy' }
              const session = await users.createSession(who, {
                ...request,
                policy: embedded === undefined ? undefined : JSON.stringify(embedded),
              })
              find = async () => {
                const found = await iam.sessionCredentials(session.accessKey, session.sessionToken)
                return typeof found === 'string' ? undefined : found.identity
              }
              break
            }
            case 3: {
              // A caller that gets the new secret of another key can use that key.
              const other = await actors[random.integer(actors.length)]!.find()
              const { accessKey } = await users.rotateAccessKey(caller, other?.accessKey ?? 'nobody')
              find = () => identity(accessKey)
              break
            }
            default: {
              const own = await users.updateAccessKey(caller, who.accessKey, { policy: embedded ?? null })
              find = () => identity(own.accessKey)
            }
          }
          made++
          const gained = [...rightsOf(await find())].filter(right => !before.has(right))
          t.strictSame(gained, [], `step ${step}: ${who.kind} ${who.accessKey} of ${who.userName}`)
          actors.push({ find })
        } catch (error) {
          if (!isCatalogError(error) || !['access_denied', 'access_key_not_found'].includes(error.code)) throw error
        }
      }
      t.equal(made, madeMin, 'credentials were made')
    })
  },
)

function randomPolicy(random: SeededRandom): object {
  const count = 1 + random.integer(3)
  return {
    Version: '2012-10-17',
    Statement: Array.from({ length: count }, () => ({
      Effect: random.integer(4) === 0 ? 'Deny' : 'Allow',
      Action: [actions[random.integer(4)], random.integer(3) === 0 ? 'admin:ServerInfo' : 's3:GetObject'],
      Resource: [['arn:aws:s3:::*'], ['arn:aws:s3:::a', 'arn:aws:s3:::a/*'], ['arn:aws:s3:::*/x']][random.integer(3)],
    })),
  }
}

function some(random: SeededRandom, names: readonly string[]): string[] {
  return names.filter(() => random.integer(2) === 0)
}
