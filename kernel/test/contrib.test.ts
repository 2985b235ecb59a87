/** The packages of this installation's own contrib/: which of them a start loads, and what it does not load of them. */
import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startKernel, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { discoverPlugins, loadedOf, selectPlugins } from '../program/discover.ts'

const root = resolve(import.meta.dirname, '../..')
const base = pathToFileURL(join(root, 'svc.json'))

interface Package {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly svc?: { readonly default?: boolean }
}

const read = (path: string): Package => JSON.parse(readFileSync(join(root, path), 'utf8'))

const packages = globSync('contrib/*/package.json', { cwd: root }).sort()
/** Packages that are no plugins have libraries that a dependency of the server may load, too. */
const loaded = packages.filter(path => read(path).svc?.default === true)
const byDefault = loaded.map(path => path.split('/')[1]!)
const own = read('package.json').dependencies ?? {}
const clients = [...new Set(loaded.flatMap(path => Object.keys(read(path).dependencies ?? {})))].filter(
  name => own[name] === undefined,
)

t.test('a default start knows the packages of contrib, and loads none of their client libraries', async t => {
  const seen: string[] = []
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      seen.push(resolved.url)
      return resolved
    },
  })
  t.teardown(() => hooks.deregister())
  const loadedOfClients = () => clients.filter(name => seen.some(url => url.includes(`/node_modules/${name}/`)))

  t.same(byDefault, [
    'cache-keyv',
    'kafka',
    'kms-remote',
    'notify-amqp',
    'notify-nats',
    'notify-postgres',
    'notify-redis',
  ])
  const selection = selectPlugins([], base)
  t.same(
    selection.modules.map(({ name }) => name),
    ['svc/plugins/standard', ...byDefault.map(folder => `svc/contrib/${folder}`)],
  )
  const discovery = await discoverPlugins(selection)
  t.same(discovery.absent, [])
  const kernel = await startKernel({
    plugins: loadedOf(discovery),
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [temporaryFolder(t)] },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
    },
  })
  const plugins = kernel.kernel.plugins()
  const from = (wanted: string) => plugins.filter(({ origin }) => origin === wanted).map(({ name }) => name)
  t.same([...from('contrib')].sort(), byDefault)
  t.equal(from('builtin').length, plugins.length - byDefault.length)
  const contributed = kernel.kernel.points()
  const idsOf = (point: string) =>
    contributed
      .find(({ name }) => name === point)
      ?.contributions.map(({ id }) => id)
      .sort()
  t.same(idsOf('notify.target'), ['amqp', 'kafka', 'nats', 'postgres', 'redis', 'webhook'])
  t.same(idsOf('audit.sink'), ['kafka', 'webhook'])
  t.same(idsOf('kms.backend'), ['builtin', 'kes'])
  t.same(await kernel.stop(), [])
  t.ok(
    seen.some(url => url.endsWith('/contrib/kafka/index.ts')),
    'what is loaded is seen',
  )
  t.same(loadedOfClients(), [])
  t.ok(clients.length >= 5, clients.join(' '))

  for (const name of clients) await import(name)
  t.same(loadedOfClients(), clients, 'and each client library would have been seen')
})
