/** Archives of earlier versions of the format are read as they are. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'
import { readZip } from '../zip-file.ts'
import { upload } from './archives.ts'

const archive = readFileSync(join(import.meta.dirname, 'golden/version-1.zip'))

t.test('version 1: everything in it is imported, and what it does not know stays as it is', async t => {
  const files = await readZip(archive)
  t.match(JSON.parse(files.get('manifest.json')!.toString()), { version: 1 })
  t.same(
    [...files.keys()].filter(name => name.startsWith('documents/')),
    [],
  )

  const server = await startAdmin()
  t.teardown(server.stop)
  const call = async (method: string, path: string, body?: object) => {
    const { status, text, json } = await server.signed({ method, path: `/api/v1${path}`, body })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return json
  }
  await call('POST', '/keygroups', { id: 'viewers' })
  await call('POST', '/buckets', { name: 'site' })
  await call('POST', '/distributions', { id: 'site', aliases: ['www.example.test'], origin: { bucket: 'site' } })

  const dryRun = await upload(server, archive, 'mode=replace&dryRun=true')
  t.match(dryRun, { status: 200, json: { users: 1, groups: 1, policies: 1, configSubsystems: 2, buckets: 1 } })
  t.same(dryRun.json.documents, {})
  t.same(dryRun.json.bucketsCreated, ['photos'])
  t.same(dryRun.json.created, [
    'config/notify_webhook:hook',
    'policy/readers',
    'group/staff',
    'user/ann',
    'access-key/ANNSKEY',
    'bucket/photos/tags',
    'bucket/photos/quota',
    'bucket/photos/bucket-cors',
  ])
  t.same(dryRun.json.changed, ['config/api'])
  t.same(dryRun.json.removed, [])

  // Documents of an archive without the part stay, even with `replace`.
  t.equal((await upload(server, archive, 'mode=replace')).status, 200)
  t.match((await call('GET', '/distributions')).items, [{ id: 'site' }])
  t.match((await call('GET', '/keygroups')).items, [{ id: 'viewers' }])
  const asAnn = server.signedBy('ANNSKEY', 'secret-of-anns-key')
  t.equal((await asAnn({ path: '/api/v1/me/permissions' })).status, 200, 'her secret was opened')
  t.match(await call('GET', '/users/ann'), { groups: ['staff'], description: 'Ann' })
  const settings = await server.kernel.services.settings.administration.export(true)
  t.match(settings, {
    api: { requests_max: '77' },
    'notify_webhook:hook': { enable: 'on', endpoint: 'http://127.0.0.1:9/', auth_token: 'secret-of-a-webhook' },
  })
  t.match(await call('GET', '/buckets/photos/tags'), { tags: { team: 'a' } })
  t.match(await call('GET', '/buckets/photos/cors'), { rules: [{ allowedOrigins: ['https://a.test'] }] })
  t.match(await call('GET', '/buckets/photos'), { name: 'photos', versioning: 'enabled' })
  const again = (await upload(server, archive, 'mode=replace')).json
  t.match(again, { bucketsCreated: [], created: [], changed: [], removed: [] }, 'a second time nothing is different')
})
