/** Which settings are sealed in an archive, and that archives of older releases, which left URLs as they are, are read. */
import { randomBytes } from 'node:crypto'
import type { SettingsMap } from 'svc/plugins/settings/api'
import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { packArchive, unpackArchive } from '../archive.ts'
import { deriveArchiveSecret } from '../archive-keys.ts'
import { readZip } from '../zip-file.ts'

const credentials = { rootUser: 'admin', rootPassword: 'change-me-please' }
const settings: SettingsMap = {
  'notify_webhook:ops': { enable: 'on', endpoint: 'https://hooks.test/ops?token=sekret', auth_token: 'Bearer hidden' },
}

const field = Type.Union([Type.String(), Type.Record(Type.String(), Type.String())])
const partOf = (fields: TSchema) => new Map([['hooks', Type.Object({ fields: Type.Record(Type.String(), fields) })]])
const open = partOf(field)
const sealed = partOf(Type.Union(field.anyOf, { secret: true }))
const hooks = new Map([['edge', { fields: { url: 'https://cache.test/sekret', headers: { 'x-key': 'sekret' } } }]])

const pack = (openSettings: SettingsMap, schemas = sealed) =>
  packArchive(
    {
      directory: { users: new Map(), groups: new Map(), accessKeys: new Map(), policies: new Map() },
      settings,
      buckets: new Map(),
      parts: new Map([['hooks', hooks]]),
    },
    {
      ...credentials,
      server: 'test',
      nowMs: Date.now(),
      random: { bytes: (count: number) => randomBytes(count) } as never,
      open: openSettings,
      schemas,
    },
  )

const fileOf = async (archive: Buffer, name: string) => JSON.parse((await readZip(archive)).get(name)!.toString())
const configOf = (archive: Buffer) => fileOf(archive, 'config.json')

const unpack = (archive: Buffer) =>
  unpackArchive(
    archive,
    salt => deriveArchiveSecret(credentials, salt),
    sealed,
    () => {},
  )

t.test('a value that may have a secret in it is sealed', async t => {
  const archive = await pack({ 'notify_webhook:ops': { enable: 'on' } })
  t.match(await configOf(archive), {
    'notify_webhook:ops': { enable: 'on', endpoint: { sealed: String }, auth_token: { sealed: String } },
  })
  t.same((await unpack(archive)).settings, settings)
})

t.test('a value that was set after the open ones were read is sealed', async t => {
  const { enable, endpoint, auth_token } = (await configOf(await pack({})))['notify_webhook:ops']
  for (const value of [enable, endpoint, auth_token]) t.match(value, { sealed: String })
})

t.test('a URL that an older release left as it is, is read', async t => {
  const archive = await pack(settings)
  t.same(await configOf(archive), settings)
  t.same((await unpack(archive)).settings, settings)
})

t.test(
  'fields of a document that may have a secret are sealed, and read where an older release left them as they are',
  async t => {
    const archive = await pack(settings)
    t.match(await fileOf(archive, 'documents/hooks.json'), {
      edge: { fields: { url: { sealed: String }, headers: { sealed: String } } },
    })
    const older = await pack(settings, open)
    t.same(await fileOf(older, 'documents/hooks.json'), Object.fromEntries(hooks))
    for (const each of [archive, older]) t.same((await unpack(each)).parts.get('hooks'), hooks)
  },
)
