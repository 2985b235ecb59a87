/** The policies of docs/operate for those who have to do with some distributions: what they open, and what a simulation says. */
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'
import { blocksOf } from './blocks.ts'

const secretKey = 'a-secret-of-the-caller'
const server = await startAdmin()
t.teardown(() => server.stop())
const send = (method: string, path: string, body?: unknown, caller = server.signed) =>
  caller({ method, path: `/api/v1${path}`, body })

for (const bucket of ['team', 'private', 'shop-1', 'team-2']) {
  await server.s3.send(new CreateBucketCommand({ Bucket: bucket }))
  const site = { id: bucket, aliases: [`${bucket}.example.test`], origin: { bucket } }
  const made = await send('POST', '/distributions', site)
  if (made.status >= 300) throw new Error(made.text)
}

async function callerOf(document: string, user: string) {
  const [block, ...others] = blocksOf(document, 'policy')
  if (block === undefined || others.length > 0) throw new Error(`${document} has not one policy`)
  for (const [method, path, body] of [
    ['PUT', `/policies/${user}`, { document: JSON.parse(block.text) }],
    ['POST', '/users', { accessKey: user, secretKey }],
    ['POST', '/policies/attach', { policyNames: [user], user }],
  ] as const) {
    const answer = await send(method, path, body)
    if (answer.status >= 300) throw new Error(answer.text)
  }
  return server.signedBy(user, secretKey)
}

async function isSimulated(user: string, action: string, bucket: string): Promise<boolean> {
  return (await send('POST', '/policies/simulate', { user, action, bucket })).json.allowed
}

t.test('of the cache: some are purged', async t => {
  const ada = await callerOf('docs/operate/cache.md', 'ada')
  for (const [bucket, isAllowed] of [
    ['team', true],
    ['private', false],
    ['shop-1', false],
  ] as const) {
    const purge = { all: true, dryRun: true }
    const { status } = await send('POST', `/distributions/${bucket}/invalidations`, purge, ada)
    t.equal(status, isAllowed ? 202 : 403, bucket)
    t.equal(await isSimulated('ada', 'admin:InvalidateCache', bucket), isAllowed, bucket)
  }
  t.equal((await send('PUT', '/cache/settings', { cache: {} }, ada)).status, 403, 'what concerns all')
})

t.test('of users: some are published', async t => {
  const bob = await callerOf('docs/operate/users.md', 'bob')
  for (const [bucket, isAllowed] of [
    ['shop-1', true],
    ['private', false],
    ['team-2', false],
  ] as const) {
    const { status } = await send('GET', `/distributions/${bucket}`, undefined, bob)
    t.equal(status, isAllowed ? 200 : 403, bucket)
    t.equal(await isSimulated('bob', 'admin:ManageDistributions', bucket), isAllowed, bucket)
  }
})
