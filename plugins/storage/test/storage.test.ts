/** The storage plugin: what it checks, what it collects, and how it finds its backend. */
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

interface Probe {
  options?: StorageBackendOptions
  started: number
  stopped: number
}

/** A backend that only notes what it is asked: the plugin's business is to ask. */
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

t.test('endpoints are absolute, and one', async t => {
  t.equal(checkEndpoints(['/data']), undefined)
  t.match(checkEndpoints([]), /must name a drive/)
  t.match(checkEndpoints(['data']), /must be absolute paths; "data" is not/)
  for (const several of [['/a', '/b'], ['/disk{1...4}']])
    t.match(checkEndpoints(several), /erasure sets are not built yet/)
  t.match(checkEndpoints(['https://node1/data']), /clusters are not built yet/)
})

t.test('a dry run says which folder cannot be written', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-storage-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  t.strictSame(await checkFolders([folder, join(folder, 'new', 'deeper')]), [])
  await writeFile(join(folder, 'file'), '')
  t.match(await checkFolders([join(folder, 'file')]), [/SVC_ENDPOINTS: .*file is not a folder/])
  if (process.getuid?.() === 0) return
  await chmod(folder, 0o500)
  t.match(await checkFolders([join(folder, 'new')]), [/cannot be written \(EACCES\)/])
})

t.test('procedures and derivations are collected and handed to the backend', async t => {
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
  t.strictSame(derived, ['b:b1', 'a:a2'], 'by the first byte; what nobody derives from is skipped')
  t.equal(service.inlineBytesMax, 123)
  const key = Buffer.from('k')
  t.strictSame(service.get(key), ['get', key])
  t.strictSame(service.execute('p', 1), ['execute', 'p', 1, undefined])
  t.throws(() => service.define({ late: () => 1 }), /during set-up/)
  t.equal(kernel.announcements.mode, 'snsd')
  t.strictSame(await kernel.stop(), [])
  t.strictSame([probe.started, probe.stopped], [1, 1])
  t.throws(() => service.get(key), { code: 'unavailable' })
})

t.test('a backend that is not there, or refuses the endpoints, stops the start', async t => {
  const probe: Probe = { started: 0, stopped: 0 }
  await t.rejects(startKernel({ plugins: [storage, probeBackend(probe)], config: config('moon') }), {
    message: /SVC_STORAGE_BACKEND names "moon", which no plugin provides \(probe\)/,
  })
  const refusing = probeBackend(probe, ['The moon is full.'])
  await t.rejects(startKernel({ plugins: [storage, refusing], config: config() }), { message: /The moon is full/ })
  t.equal(probe.started, 0)
})
