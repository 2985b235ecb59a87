/** The real server in this process with users, and S3 clients with their keys. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { S3Client } from '@aws-sdk/client-s3'
import type { AnyPlugin } from 'svc/kernel'
import { createClients, type Keys } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import type { UsersService } from 'svc/plugins/users/api'
import { startKernel, type TestKernel, type TestKernelOptions } from 'svc/testing'

export const rootUser = 'admin'
export const rootPassword = 'change-me-please'

export interface Server {
  readonly kernel: TestKernel
  readonly users: UsersService
  readonly folder: string
  readonly endpoint: string
  readonly root: S3Client
  as(keys: Keys): S3Client
  stop(): Promise<void>
}

export async function startServer(
  options: {
    readonly plugins?: readonly AnyPlugin[]
    readonly ports?: TestKernelOptions['ports']
    readonly config?: object
  } = {},
): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-users-'))
  const kernel = await startKernel({
    plugins: options.plugins ?? standard,
    ports: options.ports,
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser, rootPassword },
      storage: { endpoints: [folder] },
      // Without a master key, opening the store takes a quarter of a second: the key is derived from the root password.
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
      ...options.config,
    },
  })
  const { port } = kernel.services.http.listeners().find(listener => listener.name === 's3')!
  const endpoint = `http://127.0.0.1:${port}`
  const clients = createClients(endpoint)
  return {
    kernel,
    users: kernel.services.users,
    folder,
    endpoint,
    root: clients.as({ accessKey: rootUser, secretKey: rootPassword }),
    as: clients.as,
    async stop() {
      clients.destroy()
      const failures = await kernel.stop()
      await rm(folder, { recursive: true, force: true })
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly')
    },
  }
}
