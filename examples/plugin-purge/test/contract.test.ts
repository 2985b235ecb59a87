/** The contract of purge webhooks with a real Varnish; and the page that leads through the files. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { purgeWebhookContract } from 'svc/plugins/purge/contract'
import t from 'tap'
import { settingsProblems, VarnishSettings } from '../settings.ts'
import { connectVarnish } from '../webhook.ts'
import { skipWithoutVarnish, startVarnish } from './varnish.ts'

const folder = resolve(import.meta.dirname, '..')
const token = 'tok3n-of-the-varnish'

t.test('the webhook keeps the contract', { skip: skipWithoutVarnish() }, t =>
  purgeWebhookContract(t, async t => {
    const varnish = await startVarnish(t, token)
    const settings = { url: varnish.url, token }
    return {
      ...varnish,
      kind: {
        description: 'A Varnish.',
        settings: VarnishSettings,
        validate: settingsProblems,
        limits: { perSecond: 200, burst: 400 },
        connect: connectVarnish,
      },
      settings,
      wrongCredentials: { ...settings, token: 'an0ther-token-of-it' },
    }
  }),
)

t.test('settings that cannot be right are named', async t => {
  const wrong = { url: 'http://127.0.0.1/path', token: 'with a space in it' }
  t.same(
    settingsProblems(wrong, () => undefined).map(({ key }) => key),
    ['url', 'token'],
  )
  t.same(
    settingsProblems({ url: 'http://127.0.0.1:6081', token }, () => undefined),
    [],
  )
})

t.test('the page shows the files as they are', async t => {
  const page = readFileSync(join(folder, 'README.md'), 'utf8')
  const blocks = [...page.matchAll(/<!-- ([\w./-]+) -->\n```\w+\n([\s\S]*?)```\n/g)]
  t.same(
    blocks.map(([, name]) => name),
    ['package.json', 'settings.ts', 'webhook.ts', 'index.ts', 'varnish.vcl'],
  )
  for (const [, name, text] of blocks) t.equal(text, readFileSync(join(folder, name!), 'utf8'), name)
})
