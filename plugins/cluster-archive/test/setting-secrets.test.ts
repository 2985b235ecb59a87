/** Which settings are sealed in an archive, and that archives of older releases, which left URLs as they are, are read. */
import { randomBytes } from 'node:crypto'
import type { SettingsMap } from 'svc/plugins/settings/api'
import t from 'tap'
import { packArchive, unpackArchive } from '../archive.ts'
import { deriveArchiveSecret } from '../archive-keys.ts'
import { readZip } from '../zip-file.ts'

const credentials = { rootUser: 'admin', rootPassword: 'change-me-please' }
const settings: SettingsMap = {
  'notify_webhook:ops': { enable: 'on', endpoint: 'https://hooks.test/ops?token=sekret', auth_token: 'Bearer hidden' },
}

const pack = (masked: SettingsMap) =>
  packArchive(
    {
      directory: { users: new Map(), groups: new Map(), accessKeys: new Map(), policies: new Map() },
      settings,
      buckets: new Map(),
      parts: new Map(),
    },
    {
      ...credentials,
      server: 'test',
      nowMs: Date.now(),
      random: { bytes: (count: number) => randomBytes(count) } as never,
      masked,
      schemas: new Map(),
    },
  )

const configOf = async (archive: Buffer) => JSON.parse((await readZip(archive)).get('config.json')!.toString())

const unpack = (archive: Buffer) =>
  unpackArchive(
    archive,
    salt => deriveArchiveSecret(credentials, salt),
    new Map(),
    () => {},
  )

t.test('a value of which only a part is masked is sealed as a whole', async t => {
  const masked = { enable: 'on', endpoint: 'https://hooks.test/ops?*REDACTED*', auth_token: '*REDACTED*' }
  const archive = await pack({ 'notify_webhook:ops': masked })
  t.match(await configOf(archive), {
    'notify_webhook:ops': { enable: 'on', endpoint: { sealed: String }, auth_token: { sealed: String } },
  })
  t.same((await unpack(archive)).settings, settings)
})

t.test('a value that was set after the masked ones were read is sealed', async t => {
  const { enable, endpoint, auth_token } = (await configOf(await pack({})))['notify_webhook:ops']
  for (const value of [enable, endpoint, auth_token]) t.match(value, { sealed: String })
})

t.test('a URL that an older release left as it is, is read', async t => {
  const archive = await pack(settings)
  t.same(await configOf(archive), settings)
  t.same((await unpack(archive)).settings, settings)
})
