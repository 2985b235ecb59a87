/** The directory over a real drive, without protocols, and a clock that the test sets. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnyPlugin, definePlugin, isCatalogError } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import 'svc/plugins/admin/api'
import 'svc/plugins/http/api'
import 'svc/plugins/s3/api'
import standard from 'svc/plugins/standard'
import { createFakeClock, openPoints, startKernel, type TestKernel } from 'svc/testing'
import type { Test } from 'tap'
import type { Caller } from '../api.ts'
import { rootPassword, rootUser } from '../testing.ts'

const needed = [
  'storage',
  'drive',
  'checksums',
  'objects',
  'store',
  'policy',
  'iam',
  'settings',
  'auth-session',
  'users',
]

/** Owns the extension points of protocols, which are not loaded here. */
const noAdmin = definePlugin({
  name: 'no-admin',
  points: openPoints('admin.operation', 'http.observer', 's3.observer'),
  setup() {},
})

export interface Directory {
  readonly kernel: TestKernel
  readonly users: TestKernel['services']['users']
  readonly iam: TestKernel['services']['iam']
  readonly policy: TestKernel['services']['policy']
  readonly folder: string
  readonly root: Caller
  /** The identity of an access key as the engine gets it. */
  as(accessKey: string): Promise<Caller>
  identity(accessKey: string): Promise<Identity | undefined>
  may(accessKey: string, action: string, bucket?: string, key?: string): Promise<boolean>
}

export const nowMs = Date.UTC(2026, 5, 1)

export interface DirectoryOptions {
  /** The drive of an earlier directory, which was stopped. */
  readonly folder?: string
  readonly plugins?: readonly AnyPlugin[]
  readonly sharesPerUserMax?: number
  readonly keysPerUserMax?: number
}

/** A directory that is stopped and removed at the end of the test. */
export async function startDirectory(
  t: Test,
  clock = createFakeClock(nowMs),
  options: DirectoryOptions = {},
): Promise<Directory> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'svc-directory-')))
  const kernel = await startKernel({
    plugins: [...standard.filter(({ name }) => needed.includes(name)), noAdmin, ...(options.plugins ?? [])],
    ports: { clock },
    config: {
      iam: { rootUser, rootPassword },
      storage: { endpoints: [folder] },
      users: {
        sharesPerUserMax: options.sharesPerUserMax ?? 1000,
        keysPerUserMax: options.keysPerUserMax ?? 1000,
      },
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
    },
  })
  t.teardown(async () => {
    const failures = await kernel.stop()
    await rm(folder, { recursive: true, force: true })
    if (failures.length > 0) throw new AggregateError(failures)
  })
  const { users, iam, policy } = kernel.services
  const identity = async (accessKey: string) => (await iam.credentials(accessKey))?.identity
  const callerOf = (identity: Identity): Caller => ({
    identity,
    isAllowed: action => policy.isAllowed({ identity, action }),
  })
  return {
    kernel,
    users,
    iam,
    policy,
    folder,
    root: callerOf(iam.owner),
    async as(accessKey) {
      const found = await identity(accessKey)
      if (found === undefined) throw new Error(`${accessKey} has no credentials`)
      return callerOf(found)
    },
    identity,
    async may(accessKey, action, bucket = 'bucket', key = 'key') {
      const found = await identity(accessKey)
      return found !== undefined && policy.isAllowed({ identity: found, action, bucket, key })
    },
  }
}

/** The code of the catalogue error, or `ok`. */
export async function codeOf(done: Promise<unknown>): Promise<string> {
  try {
    await done
    return 'ok'
  } catch (error) {
    if (!isCatalogError(error)) throw error
    return error.code
  }
}
