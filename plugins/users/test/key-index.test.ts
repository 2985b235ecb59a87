/** The number of access keys of a user: its limit, and that nothing grows with the keys of the directory. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin, type Random } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import standard from 'svc/plugins/standard'
import { openPoints, startKernel } from 'svc/testing'
import t from 'tap'
import { createAccessKeyDirectory } from '../access-key-directory.ts'
import { createChanges } from '../changes.ts'
import type { Context } from '../context.ts'
import { type Documents, declareDocuments } from '../documents.ts'
import { createKeyIndex } from '../key-index.ts'
import { createLastUses } from '../last-uses.ts'
import { createShareRoom } from '../share-room.ts'
import { rootPassword, rootUser } from '../testing.ts'
import { createUserDirectory } from '../user-directory.ts'
import { codeOf, startDirectory } from './start-users.ts'

t.test('a user has a limited number of access keys, also of those that are made at once', async t => {
  const { users, as, root, iam } = await startDirectory(t, undefined, { keysPerUserMax: 3 })
  for (const accessKey of ['ada', 'bob']) await users.createUser({ accessKey, policyNames: ['readwrite'] })
  const ada = await as('ada')
  const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(users.createAccessKey(ada, {}))))
  t.equal(codes.filter(code => code === 'ok').length, 3)
  t.equal(codes.filter(code => code === 'too_many_access_keys').length, 7)
  t.equal((await users.getUser('ada')).accessKeyCount, 3)
  await t.rejects(users.createAccessKey(ada, {}), { status: 409, message: /at most 3 access keys/ })
  t.equal(await codeOf(users.createAccessKey(root, { user: 'ada' })), 'too_many_access_keys', 'nor by others')

  const share = { bucket: 'bucket', key: 'key' }
  t.equal(await codeOf(users.createAccessKey(ada, { share, expiresMs: iam.owner ? Date.UTC(2027, 0, 1) : 0 })), 'ok')
  t.equal(await codeOf(users.createAccessKey(await as('bob'), {})), 'ok', 'each user has its own')

  const { items } = await users.listAccessKeys(ada)
  t.equal(items.length, 3)
  await users.deleteAccessKey(ada, items[0].accessKey)
  t.equal((await users.getUser('ada')).accessKeyCount, 2)
  t.equal(await codeOf(users.createAccessKey(ada, {})), 'ok')
  t.equal(await codeOf(users.createAccessKey(ada, {})), 'too_many_access_keys')
  const rootCodes = await Promise.all(Array.from({ length: 4 }, () => codeOf(users.createAccessKey(root, {}))))
  t.same(rootCodes, ['ok', 'ok', 'ok', 'too_many_access_keys'])

  await users.deleteUser('ada', root.identity)
  await users.createUser({ accessKey: 'ada' })
  t.equal((await users.getUser('ada')).accessKeyCount, 0)
  t.equal(await codeOf(users.createAccessKey(await as('ada'), {})), 'ok')
})

t.test('pages of access keys are those of the user, in order', async t => {
  const { users, as } = await startDirectory(t)
  for (const accessKey of ['ada', 'bob']) await users.createUser({ accessKey, policyNames: ['readwrite'] })
  const [ada, bob] = [await as('ada'), await as('bob')]
  for (const name of ['k3', 'k1', 'k5']) await users.createAccessKey(ada, { accessKey: `key-${name}` })
  for (const name of ['k2', 'k4']) await users.createAccessKey(bob, { accessKey: `key-${name}` })
  await users.updateAccessKey(ada, 'key-k3', { status: 'disabled' })
  const idsOf = async (request: object) => {
    const { items, next } = await users.listAccessKeys(ada, request)
    return [...items.map(({ accessKey }) => accessKey), next]
  }
  t.same(await idsOf({}), ['key-k1', 'key-k3', 'key-k5', undefined])
  t.same(await idsOf({ limit: 2 }), ['key-k1', 'key-k3', 'key-k3'])
  t.same(await idsOf({ limit: 2, startAfter: 'key-k3' }), ['key-k5', undefined])
  t.same(await idsOf({ limit: 3 }), ['key-k1', 'key-k3', 'key-k5', undefined])
  t.same(await idsOf({ status: 'enabled', limit: 1 }), ['key-k1', 'key-k1'])
  t.same(await idsOf({ prefix: 'key-k3' }), ['key-k3', undefined])
})

t.test('a page of access keys with long policies ends before it is too long', async t => {
  const { users, as } = await startDirectory(t)
  await users.createUser({ accessKey: 'ada', policyNames: ['readwrite'] })
  const ada = await as('ada')
  const Resource = Array.from({ length: 150 }, (_, index) => `arn:aws:s3:::bucket/${`${index}`.padEnd(100, 'x')}`)
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource }] }
  const count = 80
  for (let index = 0; index < count; index++) await users.createAccessKey(ada, { policy })
  const found: string[] = []
  let pages = 0
  for (let startAfter: string | undefined = ''; startAfter !== undefined; pages++) {
    const { items, next }: Awaited<ReturnType<typeof users.listAccessKeys>> = await users.listAccessKeys(ada, {
      startAfter,
    })
    t.ok(JSON.stringify(items).length < 2 * 1024 * 1024)
    found.push(...items.map(({ accessKey }) => accessKey))
    startAfter = next
  }
  t.equal(pages, 2)
  t.equal(new Set(found).size, count)
})

/** The directory of users over documents whose reads are counted, with the rest of the directory. */
async function startCounted(folder: string, keysPerUserMax: number) {
  let context: Context | undefined
  let random: Random | undefined
  let pages = 0
  const probe = definePlugin({
    name: 'counted-directory',
    points: openPoints('admin.operation', 'http.observer', 's3.observer'),
    requires: ['iam', 'policy', 'store'],
    setup({ services: { iam, policy, store }, ports, log }) {
      const declared = declareDocuments(store, policy)
      const accessKeys = new Proxy(declared.accessKeys, {
        get(target, name) {
          if (name === 'list') pages++
          const member = Reflect.get(target, name, target)
          return typeof member === 'function' ? member.bind(target) : member
        },
      })
      const documents: Documents = { ...declared, accessKeys }
      random = ports.random
      context = {
        documents,
        changes: createChanges(documents, store.transaction, createKeyIndex(documents)),
        policy,
        clock: ports.clock,
        lastUses: createLastUses(documents, ports.clock, log),
        shareRoom: createShareRoom(documents, ports.clock, 1000),
        keysPerUserMax,
        owner: iam.owner,
      }
    },
  })
  const needed = ['storage', 'drive', 'checksums', 'objects', 'store', 'policy', 'iam', 'settings', 'auth-session']
  const kernel = await startKernel({
    plugins: [...standard.filter(({ name }) => needed.includes(name)), probe],
    config: { iam: { rootUser, rootPassword }, storage: { endpoints: [folder] } },
  })
  return {
    kernel,
    context: context!,
    users: createUserDirectory(context!, random!),
    keys: createAccessKeyDirectory(context!, random!),
    pagesOf: async (work: () => Promise<unknown>) => {
      const before = pages
      await work()
      return pages - before
    },
  }
}

t.test(
  'counting and deleting keys reads no other keys, and a directory with more keys than the limit works',
  async t => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-key-index-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const callerOf = (identity: Identity) => ({ identity, isAllowed: () => true })
    const first = await startCounted(folder, 10_000)
    const root = callerOf(first.context.owner)
    for (const accessKey of ['ada', 'bob']) await first.users.createUser({ accessKey })
    const make = (count: number, user: string) =>
      Promise.all(Array.from({ length: count }, () => codeOf(first.keys.createAccessKey(root, { user }))))
    for (let round = 0; round < 6; round++) await make(500, 'ada')
    await make(2, 'bob')
    t.same(await first.kernel.stop(), [])

    const { users, keys, context, pagesOf, kernel } = await startCounted(folder, 1000)
    t.teardown(() => kernel.stop())
    t.ok((await pagesOf(() => users.getUser('bob'))) >= 3, 'the first question reads all keys')
    t.equal((await users.getUser('ada')).accessKeyCount, 3000)
    t.equal(await codeOf(keys.createAccessKey(root, { user: 'ada' })), 'too_many_access_keys')
    const { items } = await keys.listAccessKeys(root, { user: 'ada' })
    t.equal(items.length, 1000)
    const reads = await pagesOf(async () => {
      await users.getUser('ada')
      await users.listUsers()
      await users.createUser({ accessKey: 'eve' })
      await keys.createAccessKey(root, { user: 'bob', accessKey: 'bobs-key' })
      t.equal((await users.getUser('bob')).accessKeyCount, 3)
      t.equal((await keys.listAccessKeys(root, { user: 'bob' })).items.length, 3)
      await keys.deleteAccessKey(root, 'bobs-key')
      await keys.deleteAccessKey(root, items[0].accessKey)
      t.equal((await users.getUser('ada')).accessKeyCount, 2999)
      await users.deleteUser('bob', context.owner)
    })
    t.equal(reads, 0)

    // As if another thread had committed: the index is that of an earlier revision.
    const { revisions, accessKeys } = context.documents
    const revision = (await revisions.get('current'))!.value.count
    await accessKeys.delete(items[1].accessKey)
    await revisions.put('current', { count: revision + 1 })
    t.equal((await users.getUser('ada')).accessKeyCount, 2998)
    await users.deleteUser('ada', context.owner)
    t.same(await accessKeys.list({}), { documents: [], next: undefined })
  },
)
