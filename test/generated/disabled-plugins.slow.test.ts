/** Each plugin that ships, disabled by itself: the server does without it, or says which plugins need it. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import t, { type Test } from 'tap'
import { composePlugins } from '../../kernel/composition.ts'
import { discoverPlugins, loadedOf, selectPlugins } from '../../kernel/program/discover.ts'
import { fallingPlugins } from '../../kernel/program/start-facts.ts'

const base = pathToFileURL(join(import.meta.dirname, 'svc.json'))
const bucket = 'kept'

async function without(...names: readonly string[]) {
  const discovery = await discoverPlugins(selectPlugins(['svc/plugins/standard', { disable: names }], base))
  return { plugins: loadedOf(discovery), falling: fallingPlugins(discovery) }
}

/** Whose operations are gone with them; everything else is served. */
const operationsOf: Readonly<Record<string, readonly string[]>> = {
  buckets: ['LIST'],
  'object-operations': ['PUT', 'GET'],
}

/** Others cannot do without them. Policies, authentication and storage have to be here; each other one is a decision. */
const needed = [
  'auth-session',
  'auth-sigv4',
  'certificates',
  'checksums',
  'distributions',
  'dns',
  'drive',
  'erasure',
  'http',
  'http-client',
  'iam',
  'lock',
  'object-ownership',
  'objects',
  'policy',
  'purge',
  'queue',
  's3',
  'scanner',
  'settings',
  'storage',
  'store',
  'stored-needs',
  'tls',
  'users',
]

async function serves(t: Test, name: string, drive: string): Promise<void> {
  const { plugins } = await without(name)
  const server = await startServer({ plugins, drive })
  const key = `/${bucket}/without-${name}`
  const attempts = {
    PUT: () => server.signed({ method: 'PUT', path: key, body: name }),
    GET: () => server.signed({ method: 'GET', path: operationsOf[name] === undefined ? key : `/${bucket}/first` }),
    LIST: () => server.signed({ method: 'GET', path: `/${bucket}`, query: 'list-type=2' }),
  }
  for (const [operation, attempt] of Object.entries(attempts)) {
    const answer = await attempt()
    const text = await answer.text()
    if (operationsOf[name]?.includes(operation)) {
      t.not(answer.status, 200, `${operation}: ${answer.status} ${text}`)
      continue
    }
    t.equal(answer.status, 200, `${operation}: ${text}`)
    if (operation === 'GET') t.equal(text, operationsOf[name] === undefined ? name : 'first')
    if (operation === 'LIST') t.match(text, '<Key>first</Key>')
  }
  t.same(await server.kernel.stop(), [])
  await server.stop()
}

t.test('each plugin that ships can be left out, or is needed by others that are named', async t => {
  const drive = await mkdtemp(join(tmpdir(), 'svc-disabled-plugins-'))
  t.teardown(() => rm(drive, { recursive: true, force: true }))
  const complete = await startServer({ drive })
  t.equal((await complete.signed({ method: 'PUT', path: `/${bucket}` })).status, 200)
  t.equal((await complete.signed({ method: 'PUT', path: `/${bucket}/first`, body: 'first' })).status, 200)
  await complete.kernel.stop()
  const refused: string[] = []
  for (const { name, provides = [] } of standard) {
    const { plugins, falling } = await without(name)
    if (falling.size === 0) {
      await t.test(`without ${name}`, t => serves(t, name, drive))
      continue
    }
    const users = plugins.filter(({ requires = [] }) => requires.some((service: string) => provides.includes(service)))
    refused.push(name)
    const [reason = ''] = new Set(falling.values())
    t.match(reason, `the plugin "${name}" cannot be disabled alone: `)
    for (const user of users) t.match(reason, `"${user.name}" requires the service "`, `${user.name} needs ${name}`)
    t.throws(
      () => composePlugins({ plugins, builtIn: { services: { kernel: {} }, points: [] }, setUp: () => ({}) }),
      'without the sentence it would not start either',
    )
    const all = await without(name, ...falling.keys())
    t.equal(all.falling.size, 0, `${name} can be disabled with all that need it`)
  }
  t.same(refused.sort(), needed)
})

const keys = { kms: { secretKey: `first:${Buffer.alloc(32, 9).toString('base64')}` } }
const asked = { 'x-amz-server-side-encryption': 'AES256' }

t.test('without key management or encryption, nothing that was to be encrypted is stored or read', async t => {
  const drive = await mkdtemp(join(tmpdir(), 'svc-disabled-encryption-'))
  t.teardown(() => rm(drive, { recursive: true, force: true }))
  const complete = await startServer({ drive, config: keys })
  for (const name of [bucket, 'encrypting']) {
    t.equal((await complete.signed({ method: 'PUT', path: `/${name}` })).status, 200)
  }
  const body =
    '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>'
  const rule = await complete.signed({ method: 'PUT', path: '/encrypting', query: 'encryption', body })
  t.equal(rule.status, 200, await rule.text())
  const sealed = await complete.signed({ method: 'PUT', path: `/${bucket}/sealed`, headers: asked, body: 'secret' })
  t.equal(sealed.status, 200)
  await complete.kernel.stop()

  const withoutKms = await startServer({ plugins: (await without('kms')).plugins, drive })
  const put = await withoutKms.signed({ method: 'PUT', path: `/${bucket}/wanted`, headers: asked, body: 'secret' })
  t.match([put.status, await put.text()], [501, '<Code>NotImplemented</Code>'])
  const byDefault = await withoutKms.signed({ method: 'PUT', path: '/encrypting/wanted', body: 'secret' })
  t.match([byDefault.status, await byDefault.text()], [501, '<Code>NotImplemented</Code>'])
  const get = await withoutKms.signed({ method: 'GET', path: `/${bucket}/sealed` })
  t.match([get.status, await get.text()], [503, 'The plugin &quot;kms&quot; is not loaded'])
  for (const path of [`/${bucket}/wanted`, '/encrypting/wanted']) {
    t.equal((await withoutKms.signed({ method: 'GET', path })).status, 404, 'nothing was stored')
  }
  t.equal((await withoutKms.signed({ method: 'PUT', path: `/${bucket}/plain`, body: 'plain' })).status, 200)
  await withoutKms.kernel.stop()

  const { plugins } = await without('kms', 'encryption')
  await t.rejects(startServer({ plugins, drive }), /The plugin "encryption" is not loaded, but stored data needs it/)
  const accepted = { 'stored-needs': { ignoreMissingPlugins: ['encryption'] } }
  const plain = await startServer({ plugins, drive, config: accepted })
  const refused = await plain.signed({ method: 'PUT', path: `/${bucket}/wanted`, headers: asked, body: 'secret' })
  t.match([refused.status, await refused.text()], [501, 'the plugin &quot;encryption&quot;, which is not loaded'])
  const read = await plain.signed({ method: 'GET', path: `/${bucket}/sealed` })
  t.match([read.status, await read.text()], [503, 'No loaded plugin can encrypt or decrypt'])
  t.equal((await plain.signed({ method: 'GET', path: `/${bucket}/plain` })).status, 200)
  await plain.kernel.stop()
})
