/** The contract of DNS providers with a real program, nsupdate, and a real server, bind9; and the page that leads through the files. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { dnsProviderContract } from 'svc/plugins/dns/contract'
import t from 'tap'
import { connectCommand } from '../provider.ts'
import { CommandSettings, settingsProblems } from '../settings.ts'
import { skipWithoutNamed, startNamed } from './named.ts'

const folder = resolve(import.meta.dirname, '..')
const program = join(folder, 'nsupdate.sh')
const zone = 'example.test'
const record = { name: `_acme-challenge.${zone}`, zone, value: 'v', ttlSeconds: 60 }
const never = new AbortController().signal

t.test('the provider keeps the contract', { skip: skipWithoutNamed() }, t =>
  dnsProviderContract(t, async t => {
    const { port, keyName, secret, values, hang } = await startNamed(t, zone)
    const settings = { server: `127.0.0.1 ${port}`, keyName, secret }
    return {
      kind: {
        description: '',
        settings: CommandSettings,
        validate: settingsProblems,
        connect: (settings: CommandSettings) => connectCommand(program, settings),
      },
      settings,
      zone,
      values,
      hang,
      wrongCredentials: { ...settings, secret: Buffer.alloc(32, 7).toString('base64') },
    }
  }),
)

t.test('a program that cannot be run is an error that names it', async t => {
  const settings = { server: '127.0.0.1 53', keyName: 'k', secret: 'c2VjcmV0' }
  await t.rejects(
    connectCommand('/nowhere/program', settings).present(record, never),
    /^\/nowhere\/program cannot be run: /,
  )
  await t.rejects(connectCommand('/bin/false', settings).present(record, never), /^it ended with code 1$/)
  const echo = connectCommand(join(folder, 'nsupdate.sh'), settings)
  await t.rejects(echo.present({ ...record, zone: 'not a zone' }, never))
})

t.test('settings that cannot be right are named', t => {
  const wrong = { server: 'host; rm', keyName: 'a\nb', secret: 'ä' }
  t.same(
    settingsProblems(wrong).map(({ key }) => key),
    ['server', 'keyName', 'secret'],
  )
  t.same(settingsProblems({ server: '127.0.0.1 53', keyName: 'svc-key', secret: 'c2VjcmV0' }), [])
  t.end()
})

t.test('the page shows the files as they are', t => {
  const page = readFileSync(join(folder, 'README.md'), 'utf8')
  const blocks = [...page.matchAll(/<!-- ([\w./-]+) -->\n```\w+\n([\s\S]*?)```\n/g)]
  t.same(
    blocks.map(([, name]) => name),
    ['package.json', 'settings.ts', 'provider.ts', 'index.ts', 'nsupdate.sh'],
  )
  for (const [, name, text] of blocks) t.equal(text, readFileSync(join(folder, name!), 'utf8'), name)
  t.end()
})
