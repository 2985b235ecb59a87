/** The bundled server and plugins that are not in it: they meet in one kernel. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcProgram } from '../services/programs.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('an error that another plugin declares by svc/kernel is one of the bundled kernel', async t => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/svc'))
  const plugin = join(folder, 'closed.ts')
  writeFileSync(
    plugin,
    `import { defineErrors, definePlugin } from 'svc/kernel'
     const errors = defineErrors({ closed: { status: 503, title: 'This shop is closed.' } })
     export default definePlugin({ name: 'closed', requires: ['objects'], setup: () => ({ start() { throw errors.closed() } }) })`,
  )
  const { status, stderr } = spawnSync(process.execPath, [svcProgram, 'server', join(folder, 'drive')], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      SVC_ROOT_USER: 'bundle-root',
      SVC_ROOT_PASSWORD: 'bundle-secret',
      SVC_ADDRESS: '127.0.0.1:0',
      SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
      SVC_WORKERS: '0',
      SVC_PLUGINS: `svc/plugins/standard,${plugin}`,
    },
  })
  t.equal(status, 1)
  t.match(stderr, /"code":"closed"/)
  t.match(stderr, /This shop is closed\./)
})

t.test('no plugin makes Node.js load its own client of HTTP, 14 MB in each thread', t => {
  const look =
    "process.on('exit', () => console.log('LOADED', process.moduleLoadList.filter(name => /undici|inspector.promises/.test(name)).join()))"
  const args = [`--import=data:text/javascript,${encodeURIComponent(look)}`, svcProgram, 'plugins']
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: { PATH: process.env.PATH } })
  t.equal(status, 0)
  t.match(stdout, /website/)
  t.match(stdout, /^LOADED $/m)
  t.end()
})

t.test('libraries that most servers never call are neither in the bundle nor loaded', t => {
  const packages = '(re2js|yaml|ajv|glob|path-scurry|light-my-request|@fastify/(ajv|fast-json-stringify)-compiler)'
  t.notMatch(readFileSync(join(root, 'dist/LICENSES.txt'), 'utf8'), new RegExp(`^${packages} \\d`, 'm'))
  const look = `import { createRequire } from 'node:module'
    process.on('exit', () => console.log('LOADED', Object.keys(createRequire('/').cache).join()))`
  const args = [`--import=data:text/javascript,${encodeURIComponent(look)}`, svcProgram, 'plugins']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: { PATH: process.env.PATH } })
  const [loaded = ''] = /^LOADED .*$/m.exec(stdout) ?? []
  t.match(loaded, /node_modules\/@node-rs\/crc32\//)
  t.notMatch(loaded, new RegExp(`node_modules/${packages}/`))
  t.end()
})

t.test('every export of package.json exists', async t => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = [
    'svc/kernel',
    'svc/testing',
    'svc/plugins/standard',
    'svc/plugins/storage/api',
    'svc/plugins/notify/contract',
  ]
  t.ok('./plugins/*' in exports)
  const script = `for (const name of ${JSON.stringify(names)}) console.log(name, Object.keys(await import(name)).length > 0)`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  t.same(
    stdout.trim().split('\n'),
    names.map(name => `${name} true`),
  )
})
