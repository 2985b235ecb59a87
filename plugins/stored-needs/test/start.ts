/** The real server in this process on a drive that is kept, without some plugins. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyPlugin } from 'svc/kernel'
import { startServer, type TestServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import type { Test } from 'tap'

export interface StartOptions {
  /** Names of plugins that are not loaded, nor those that require their services. */
  readonly without?: readonly string[]
  /** SVC_IGNORE_MISSING_PLUGINS. */
  readonly ignoreMissingPlugins?: readonly string[]
  /** In addition to the bundled plugins. */
  readonly plugins?: readonly AnyPlugin[]
  /** Further sections of the configuration. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** A new folder for a drive, removed at the end of the test. */
export async function newDrive(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-needs-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'drive')
}

export async function start(drive: string, options: StartOptions = {}): Promise<TestServer> {
  const key = (byte: number) => `test:${Buffer.alloc(32, byte).toString('base64')}`
  const { without = [], ignoreMissingPlugins = [], plugins = [], config = {} } = options
  return startServer({
    drive,
    plugins: [...standardWithout(without), ...plugins],
    config: {
      store: { masterKey: key(7) },
      'stored-needs': { ignoreMissingPlugins },
      ...config,
      // Configuration of a plugin that is not loaded would be refused.
      ...(without.includes('encryption') ? {} : { encryption: { allowsInsecureCustomerKeys: true } }),
      ...(without.includes('kms') ? {} : { kms: { secretKey: key(8) } }),
    },
  })
}

/** Starts a server, runs a step with it, and stops it. */
export async function during<T>(
  drive: string,
  options: StartOptions,
  work: (server: TestServer) => Promise<T>,
): Promise<T> {
  const server = await start(drive, options)
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

export function standardWithout(names: readonly string[]): readonly AnyPlugin[] {
  let left: readonly AnyPlugin[] = standard.filter(({ name }) => !names.includes(name))
  for (let before = 0; before !== left.length; ) {
    before = left.length
    const provided = new Set(['kernel', ...left.flatMap(({ provides = [] }) => provides)])
    left = left.filter(({ requires = [] }) => requires.every((service: string) => provided.has(service)))
  }
  return left
}
