/** A server process stores a policy and dies at once; a start without the plugin is refused, on one drive and on a set. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, PutBucketPolicyCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { dryRunWith, startServer, withMasterKey } from './server.ts'

const policy = JSON.stringify({
  Version: '2012-10-17',
  Statement: { Effect: 'Deny', Principal: '*', Action: 's3:DeleteObject', Resource: 'arn:aws:s3:::photos/*' },
})
const disabled = { ...withMasterKey, SVC_PLUGINS: '["svc/plugins/standard",{"disable":["bucket-policy"]}]' }
const accepted = { ...disabled, SVC_IGNORE_MISSING_PLUGINS: 'bucket-policy' }
const refusal =
  'The plugin "bucket-policy" is not loaded, but stored data needs it: the bucket "photos" has a policy. Without it'

for (const [what, name] of [
  ['one drive', 'drive'],
  ['a set', 'drive{1...4}'],
] as const) {
  t.test(`${what}: a policy that was acknowledged before kill -9 is missed by the next start`, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-missing-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const drive = join(folder, name)
    const server = await startServer({ drive, environment: withMasterKey })
    t.teardown(server.remove)
    const client = createClient(server)
    t.teardown(() => client.destroy())
    await client.send(new CreateBucketCommand({ Bucket: 'photos' }))
    await client.send(new PutBucketPolicyCommand({ Bucket: 'photos', Policy: policy }))
    await server.kill()

    const unclean = dryRunWith(disabled, drive)
    t.match(unclean, /^0 /)
    t.match(unclean, 'not looked at: stored-needs: whether a plugin is missing that stored data needs: ')
    // The log is JSON.
    const logged = refusal.replaceAll('"', '\\"')
    const error = await server.start(disabled).catch((cause: Error) => cause)
    t.ok(error instanceof Error && error.message.includes(logged))

    await server.start(withMasterKey)
    t.equal(await server.stop(), 0)
    t.match(dryRunWith(withMasterKey, drive), /^0 [\s\S]*no problems found/)
    const refused = dryRunWith(disabled, drive)
    t.match(refused, /^1 [\s\S]*1 problem found:\n {2}stored-needs: The plugin/)
    t.match(refused, refusal)
    const planned = dryRunWith(accepted, drive)
    t.match(
      planned,
      /^0 [\s\S]*plan: The server starts without the plugin "bucket-policy", as SVC_IGNORE_MISSING_PLUGINS/,
    )

    await server.start({ ...accepted, SVC_WORKERS: '2' })
    t.equal(server.startup.startedWithout, 'bucket-policy')
    const answer = await fetch(`${server.endpoint}/svc/health/ready`)
    const { checks } = (await answer.json()) as { checks: Record<string, string> }
    t.equal(checks['stored-needs'], 'started without "bucket-policy", which stored data needs')
  })
}

t.test('distributions: a start without their plugin is refused by name, and taken when they are gone', async t => {
  const server = await startServer({ environment: withMasterKey })
  t.teardown(server.remove)
  const client = createClient(server)
  t.teardown(() => client.destroy())
  const admin = createAdminClient(server)
  await client.send(new CreateBucketCommand({ Bucket: 'photos' }))
  const publish = (id: string) =>
    admin.call('PUT', `/distributions/${id}`, { id, aliases: [`${id}.example.test`], origin: { bucket: 'photos' } })
  await publish('blog')
  const publishing = ['website', 's3-domains', 'distribution-archive', 'purge', 'purge-generic', 'purge-cdn']
  const disable = ['distributions', ...publishing]
  const without = { ...withMasterKey, SVC_PLUGINS: JSON.stringify(['svc/plugins/standard', { disable }]) }
  const missed = (reason: string) =>
    `The plugin "distributions" is not loaded, but stored data needs it: ${reason}. Without it no domain of a distribution is answered`
  t.equal(await server.stop(), 0)
  t.match(dryRunWith(without, server.drive), missed('there is the distribution "blog"'))
  const error = await server.start(without).catch((cause: Error) => cause)
  t.ok(error instanceof Error && error.message.includes('there is the distribution'), String(error))
  await server.start(withMasterKey)
  await createAdminClient(server).call('PUT', '/distributions/site', {
    id: 'site',
    aliases: ['site.example.test'],
    origin: { bucket: 'photos' },
  })
  t.equal(await server.stop(), 0)
  t.match(dryRunWith(without, server.drive), missed('there are 2 distributions, "blog" among them'))
  await server.start(withMasterKey)
  for (const id of ['blog', 'site']) await createAdminClient(server).call('DELETE', `/distributions/${id}`)
  t.equal(await server.stop(), 0)
  await server.start(without)
  t.notOk(server.startup.startedWithout, 'without distributions nothing needs the plugin')
})
