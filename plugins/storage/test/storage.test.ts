/** The storage plugin: checks of the configuration, collected declarations, and the choice of the backend. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import { startKernel } from 'svc/testing'
import t from 'tap'
import type { StorageBackendOptions, StorageService } from '../api.ts'
import { checkEndpoints } from '../config.ts'
import storage from '../index.ts'
import { checkFolders } from '../preflight.ts'
import { expandRanges } from '../ranges.ts'

interface Probe {
  options?: StorageBackendOptions
  started: number
  stopped: number
}

/** A backend that only records its calls, because the plugin's task is to make them. */
function probeBackend(probe: Probe, problems: string[] = []) {
  return definePlugin({
    name: 'probe-backend',
    setup({ contribute }) {
      const calls = new Proxy(
        {},
        { get: (_, name) => (name === 'inlineBytesMax' ? 123 : (...args: unknown[]) => [name, ...args]) },
      )
      contribute('storage.backend', 'probe', {
        validate: () => problems,
        create(options) {
          probe.options = options
          return Object.assign(Object.create(calls), {
            start: async () => {
              probe.started++
            },
            stop: async () => {
              probe.stopped++
            },
          })
        },
      })
    },
  })
}

function user(use: (storage: StorageService) => void) {
  return definePlugin({
    name: 'user',
    requires: ['storage'],
    setup({ services }) {
      use(services.storage)
    },
  })
}

const config = (backend = 'probe', endpoints = ['/nowhere']) => ({ storage: { endpoints, backend } })

t.test('endpoints are absolute folders, and ranges of them', async t => {
  t.equal(checkEndpoints(['/data']), undefined)
  t.equal(checkEndpoints(['/a', '/b']), undefined)
  t.equal(checkEndpoints(['/disk{1...4}']), undefined)
  t.match(checkEndpoints([]), /must name a drive/)
  t.match(checkEndpoints(['data']), /must be absolute paths; "data" is not/)
  t.match(checkEndpoints(['https://node1/data']), /clusters are not built yet/)
  t.match(checkEndpoints(['/disk{4...1}']), /the range \{4...1\}, which is empty/)
  for (const odd of ['/disk{1..4}', '/disk{a...c}', '/disk{1...4', '/disk}'])
    t.match(checkEndpoints([odd]), /braces are no range such as \{1...4\}/, odd)
  t.match(checkEndpoints(['/{1...100}/{1...100}']), /more than 1024 drives/)
})

t.test('a range names its folders in order', async t => {
  t.same(expandRanges(['/data']), ['/data'])
  t.same(expandRanges(['/d{1...3}', '/e']), ['/d1', '/d2', '/d3', '/e'])
  t.same(expandRanges(['/d{09...11}/x']), ['/d09/x', '/d10/x', '/d11/x'])
  t.same(expandRanges(['/h{1...2}/d{1...2}']), ['/h1/d1', '/h1/d2', '/h2/d1', '/h2/d2'])
})

t.test('a dry run names the folder that cannot be written', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-storage-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  t.strictSame(await checkFolders([folder, join(folder, 'new', 'deeper')]), [])
  await writeFile(join(folder, 'file'), '')
  t.match(await checkFolders([join(folder, 'file')]), [/SVC_ENDPOINTS: .*file is not a folder/])
  if (process.getuid?.() === 0) return
  await chmod(folder, 0o500)
  t.match(await checkFolders([join(folder, 'new')]), [/cannot be written \(EACCES\)/])
})

t.test('procedures and derivations are collected and passed to the backend', async t => {
  const probe: Probe = { started: 0, stopped: 0 }
  const derived: string[] = []
  let service!: StorageService
  const kernel = await startKernel({
    plugins: [
      storage,
      probeBackend(probe),
      user(storage => {
        service = storage
        storage.define({ 'user.a': () => 1, 'user.b': () => 2 })
        storage.derive(0x61, key => derived.push(`a:${key}`))
        storage.derive(0x62, key => derived.push(`b:${key}`))
        t.throws(() => storage.define({ 'user.a': () => 3 }), /defined twice/)
        t.throws(() => storage.derive(0x61, () => undefined), /derived from twice/)
        t.throws(() => storage.derive(256, () => undefined), RangeError)
        t.throws(() => storage.get(Buffer.from('early')), { code: 'unavailable' })
      }),
    ],
    config: config(),
  })
  const { options } = probe
  t.strictSame(Object.keys(options!.procedures), ['user.a', 'user.b'])
  t.strictSame(options!.endpoints, ['/nowhere'])
  for (const key of ['b1', 'a2', 'c3']) options!.derive(Buffer.from(key), undefined, undefined, {} as never)
  t.strictSame(derived, ['b:b1', 'a:a2'], 'by the first byte; keys without a derivation are skipped')
  t.equal(service.inlineBytesMax, 123)
  const key = Buffer.from('k')
  t.strictSame(service.get(key), ['get', key])
  t.strictSame(service.execute('p', 1), ['execute', 'p', 1, undefined, undefined])
  t.throws(() => service.define({ late: () => 1 }), /during set-up/)
  t.equal(kernel.announcements.mode, 'snsd')
  t.strictSame(await kernel.stop(), [])
  t.strictSame([probe.started, probe.stopped], [1, 1])
  t.throws(() => service.get(key), { code: 'unavailable' })
})

t.test('an unknown backend, or one that refuses the endpoints, stops the start', async t => {
  const probe: Probe = { started: 0, stopped: 0 }
  await t.rejects(startKernel({ plugins: [storage, probeBackend(probe)], config: config('moon') }), {
    message: /SVC_STORAGE_BACKEND names "moon", which no plugin provides \(probe\)/,
  })
  const refusing = probeBackend(probe, ['The moon is full.'])
  await t.rejects(startKernel({ plugins: [storage, refusing], config: config() }), { message: /The moon is full/ })
  t.equal(probe.started, 0)
})
