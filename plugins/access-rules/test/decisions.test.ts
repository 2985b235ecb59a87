/** S3 requests: rules beside the policies of users and buckets, in one engine; what is told, and what the audit record says. */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DeleteObjectsCommand,
  GetBucketPolicyStatusCommand,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
} from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import { startServer } from 'svc/plugins/s3/testing'
import 'svc/plugins/audit/api'
import standard from 'svc/plugins/standard'
import t from 'tap'
import { Type } from 'typebox'
import { rule } from './rules.ts'

const server = await startServer()
t.teardown(server.stop)
const { accessRules, bucketPolicy, objects, iam, users, policy, audit } = server.kernel.services
await objects.createBucket('photos', { region: 'us-east-1', owner: iam.owner })
await server.client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'a' }))
await users.createUser({ accessKey: 'ada', secretKey: 'a-secret-of-ada' })
const root = { identity: iam.owner, isAllowed: () => true }

const statement = (Effect: string, Principal: unknown = '*') => ({
  Effect,
  Principal,
  Action: 's3:GetObject',
  Resource: 'arn:aws:s3:::photos/*',
})
const put = (...rules: readonly object[]) => accessRules.replace('photos', rules, 'admin')

/** The table in the README: IAM, bucket policy, rules, and whether ada may read. */
const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
const [, , ...rows] = readme.slice(readme.indexOf('| User and groups |')).split('\n\n')[0]!.split('\n')

function outcomeOf(said: readonly string[]): boolean {
  const found = rows.flatMap(row => {
    const [, ...cells] = row.split('|').map(cell => cell.trim())
    const fits = said.every((one, index) => cells[index] === 'any' || cells[index]!.split(' or ').includes(one))
    return fits ? [cells[3] === 'allowed'] : []
  })
  t.equal(new Set(found).size, 1, `the rows that are about ${said.join(', ')} agree`)
  return found[0]!
}

t.test('a matching deny of any source wins, root excepted; an allow of any source is enough', async t => {
  const adaIs = { AWS: 'arn:aws:iam:::user/ada' }
  const words = { allow: 'Allow', deny: 'Deny' } as const
  const outcomes = ['none', 'allow', 'deny'] as const
  for (const iamSays of outcomes) {
    for (const bucketSays of outcomes) {
      for (const rulesSay of outcomes) {
        const { Principal: _, ...plain } = statement(iamSays === 'none' ? '' : words[iamSays])
        if (iamSays === 'none') await users.detachPolicies({ user: 'ada' }, await attached())
        else {
          await users.putPolicy('test', { Version: '2012-10-17', Statement: [plain] })
          await users.attachPolicies({ user: 'ada' }, ['test'])
        }
        const text =
          bucketSays === 'none'
            ? undefined
            : JSON.stringify({ Version: '2012-10-17', Statement: [statement(words[bucketSays], adaIs)] })
        await bucketPolicy.replace('photos', text)
        await put(...(rulesSay === 'none' ? [] : [rule({ effect: rulesSay, principals: ['ada'] })]))
        const all = [iamSays, bucketSays, rulesSay]
        const expected = outcomeOf(all)
        await policy.prepare('photos')
        const identity = (await iam.credentials('ada'))!.identity
        const asked = { identity, action: 's3:GetObject', bucket: 'photos', key: 'a' }
        t.equal(policy.isAllowed(asked), expected, all.join(' '))
        t.equal(policy.simulate(asked).allowed, expected)
        t.equal(policy.isAllowed({ ...asked, identity: iam.owner }), true, 'root')
      }
    }
  }
  await bucketPolicy.replace('photos', undefined)
  await users.detachPolicies({ user: 'ada' }, await attached())
})

async function attached(): Promise<readonly string[]> {
  return (await users.getUser('ada')).policyNames
}

t.test(
  'an allow of everybody is for anonymous requests; a deny tells nobody its rule, but the audit record',
  async t => {
    await put(
      rule({ id: 'open' }),
      rule({ id: 'closed-secret', effect: 'deny', priority: 1, match: { type: 'prefix', pattern: 'secret' } }),
    )
    t.same(await server.anonymous('GET', '/photos/a'), { status: 200, text: 'a' })
    const denied = await server.anonymous('GET', '/photos/secret/a')
    t.equal(denied.status, 403)
    t.match(denied.text, '<Code>AccessDenied</Code>')
    t.notMatch(denied.text, 'closed-secret')
    const record = (await audit.recent(20)).find(one => one.object === 'secret/a')
    t.match(record, {
      status: 403,
      errorCode: 'AccessDenied',
      tags: { deniedBy: 'access-rule', accessRule: 'closed-secret' },
    })
    t.equal((await server.anonymous('PUT', '/photos/b')).status, 403)
    const other = (await audit.recent(20)).find(one => one.object === 'b')
    t.same(other?.tags, {}, 'nothing allowed it, and no rule denied it')
  },
)

t.test('items that are denied one by one: the audit record names the rule, too', async t => {
  await put(
    rule({ id: 'may', actions: ['delete'], principals: ['ada'] }),
    rule({
      id: 'keeps',
      effect: 'deny',
      actions: ['delete'],
      priority: 1,
      match: { type: 'prefix', pattern: 'kept/' },
    }),
  )
  const credentials = { accessKeyId: 'ada', secretAccessKey: 'a-secret-of-ada' }
  const client = new S3Client({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  t.teardown(() => client.destroy())
  const Objects = [{ Key: 'kept/a' }, { Key: 'b' }]
  const answer = await client.send(new DeleteObjectsCommand({ Bucket: 'photos', Delete: { Objects } }))
  t.match(answer, { Deleted: [{ Key: 'b' }], Errors: [{ Key: 'kept/a', Code: 'AccessDenied' }] })
  const record = (await audit.recent(5)).find(one => one.api === 'DeleteObjects')
  t.match(record, { status: 200, tags: { deniedBy: 'access-rule', accessRule: 'keeps' } })
})

t.test('rules make a bucket public, also for GetBucketPolicyStatus', async t => {
  const status = async () => {
    try {
      return (await server.client.send(new GetBucketPolicyStatusCommand({ Bucket: 'photos' }))).PolicyStatus?.IsPublic
    } catch (error) {
      return (error as S3ServiceException).name
    }
  }
  await put(rule())
  t.equal(await status(), true)
  t.equal(policy.isPublic('photos'), true)
  await put(rule({ principals: ['ada'] }))
  t.equal(await status(), 'NoSuchBucketPolicy')
  t.equal(policy.isPublic('photos'), false)
})

t.test('the right to list a part of a bucket shows the bucket', async t => {
  const identity = (await iam.credentials('ada'))!.identity
  const asked = { identity, action: 's3:ListBucket', bucket: 'photos' }
  await put(rule({ actions: ['list'], principals: ['ada'], match: { type: 'regex', pattern: '^public/' } }))
  t.equal(policy.isAllowedInPart(asked), true)
  t.equal(policy.isAllowed(asked), false)
  await put(rule({ id: 'no', actions: ['list'], effect: 'deny', priority: 1 }), rule({ id: 'yes', actions: ['list'] }))
  t.equal(policy.isAllowedInPart(asked), false)
  await put(
    rule({ id: 'no', actions: ['list'], effect: 'deny', priority: 1, match: { type: 'prefix', pattern: 'x/' } }),
    rule({ id: 'yes', actions: ['list'] }),
  )
  t.equal(policy.isAllowedInPart(asked), true)
})

t.test('access keys of root have their limits alone; embedded policies limit what rules allow', async t => {
  await put(rule({ id: 'no', effect: 'deny' }))
  await users.createAccessKey(root, { accessKey: 'key-of-root', secretKey: 'a-secret-of-root' })
  await policy.prepare('photos')
  const keyOfRoot = (await iam.credentials('key-of-root'))!.identity
  t.equal(policy.isAllowed({ identity: keyOfRoot, action: 's3:GetObject', bucket: 'photos', key: 'a' }), true)
  await put(rule())
  const embedded = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:PutObject', Resource: '*' }] }
  await users.createAccessKey(root, {
    user: 'ada',
    accessKey: 'key-of-ada',
    secretKey: 'a-secret-of-key',
    policy: embedded as never,
  })
  const limited = (await iam.credentials('key-of-ada'))!.identity
  t.equal(policy.isAllowed({ identity: limited, action: 's3:GetObject', bucket: 'photos', key: 'a' }), false)
})

t.test('rules that cannot be read deny everything they could be about, until they are replaced', async t => {
  const drive = await mkdtemp(join(tmpdir(), 'svc-access-rules-'))
  t.teardown(() => rm(drive, { recursive: true, force: true }))
  const value = (...rules: readonly object[]) => ({ rules, updatedBy: 'x' })
  const values: Record<string, unknown> = {
    newer: { ...value(rule()), more: true },
    damaged: { rules: 5 },
    meaningless: value({ ...rule(), match: { type: 'regex', pattern: '(' } }),
    fine: value(rule()),
  }
  const vandal = definePlugin({
    name: 'vandal',
    requires: ['store', 'objects', 'iam'],
    setup({ services }) {
      const documents = services.store.collection({
        name: 'access-rules',
        schema: Type.Any(),
        version: 1,
        scope: 'bucket',
      })
      return {
        async serve() {
          for (const [name, stored] of Object.entries(values)) {
            await services.objects.createBucket(name, { region: 'us-east-1', owner: services.iam.owner })
            await documents.put(name, stored)
          }
        },
      }
    },
  })
  const others = standard.filter(({ name }) => name !== 'access-rules')
  await (await startServer({ drive, plugins: [...others, vandal] })).stop()

  const restarted = await startServer({ drive })
  t.teardown(() => restarted.stop())
  const { services } = restarted.kernel
  await services.users.createUser({ accessKey: 'bob', secretKey: 'a-secret-of-bob', policyNames: ['readwrite'] })
  const bob = (await services.iam.credentials('bob'))!.identity
  const may = (bucket: string, identity?: Identity, action = 's3:GetObject') => {
    t.equal(services.policy.prepare(bucket), undefined, 'nothing to wait for in the main thread')
    return services.policy.isAllowed({ identity, action, bucket, key: action === 's3:GetObject' ? 'a' : '' })
  }
  t.same([may('fine'), may('fine', bob)], [true, true])
  for (const name of ['newer', 'damaged', 'meaningless']) {
    t.same([may(name), may(name, bob), may(name, bob, 's3:ListBucket')], [false, false, false], `${name} denies`)
    t.equal(may(name, bob, 's3:GetBucketTagging'), true, 'rules are about objects and listings')
    const facts = { sourceAddress: '192.0.2.1', secure: true, timeMs: 0, headers: {} }
    t.same(await services.accessRules.denial(name, 'a', 's3:GetObject', () => facts), { rule: '' })
    await services.accessRules.replace(name, [rule()], 'admin')
    t.same([may(name), may(name, bob)], [true, true], 'as the new ones say')
  }
})
