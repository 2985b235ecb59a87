/** The store over a real drive in a temporary folder, in one thread, with a plugin that declares its collections. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin, type Ports } from 'svc/kernel'
import standard from 'svc/plugins/standard'
import type { StorageService } from 'svc/plugins/storage/api'
import { startKernel, type TestKernel } from 'svc/testing'
import type { Test } from 'tap'
import type { StoreService } from '../api.ts'

const needed = ['storage', 'drive', 'checksums', 'objects', 'store']

export interface Started<Collections> {
  readonly collections: Collections
  readonly store: StoreService
  readonly storage: StorageService
  readonly kernel: TestKernel
  readonly folder: string
  stop(): Promise<void>
}

export interface StartOptions {
  /** An existing drive; a new folder if absent. */
  readonly folder?: string
  readonly config?: Readonly<Record<string, unknown>>
  readonly ports?: Partial<Ports>
  /** `set-up`: for a dry run. */
  readonly until?: 'set-up'
}

/** A store that is stopped and removed at the end of the test. */
export async function startStore<Collections>(
  t: Test,
  declare: (store: StoreService) => Collections,
  { folder, config, ports, until }: StartOptions = {},
): Promise<Started<Collections>> {
  const path = folder ?? (await newFolder(t))
  let collections: Collections | undefined
  const user = definePlugin({
    name: 'user',
    requires: ['store', 'storage'],
    setup({ services }) {
      collections = declare(services.store)
      // Records that the store itself would never write.
      services.storage.define({
        'user.put': (tx, { key, value }: { key: Buffer; value: Buffer }) => tx.put(key, value),
        'user.delete': (tx, { key }: { key: Buffer }) => tx.delete(key),
      })
    },
  })
  const kernel = await startKernel({
    plugins: [...standard.filter(plugin => needed.includes(plugin.name)), user],
    config: { storage: { endpoints: [path] }, store: { rootPassword: 'root password', ...config } },
    ports,
    ...(until !== undefined && { until }),
  })
  let isRunning = until === undefined
  const stop = async () => {
    if (!isRunning) return
    isRunning = false
    const failures = await kernel.stop()
    if (failures.length > 0) throw new AggregateError(failures)
  }
  t.teardown(stop)
  const { store, storage } = kernel.services
  return { collections: collections!, store, storage, kernel, folder: path, stop }
}

export async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-store-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return folder
}
