/** The real server in the process of the test, with its own folder and ports. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client } from '@aws-sdk/client-s3'
import type { AnyPlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import standard from 'svc/plugins/standard'
import { startKernel, type TestKernel, type TestKernelOptions } from 'svc/testing'
import { createSigner } from '../s3/signing.ts'

export const rootUser = 'admin'
export const rootPassword = 'change-me-please'

export interface RawRequest {
  readonly method: string
  readonly path: string
  /** Without question mark. Default empty. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface TestServer {
  readonly kernel: TestKernel
  /** `http://127.0.0.1:port`, of S3. */
  readonly endpoint: string
  /** The same for the Admin API. */
  readonly adminUrl: string
  readonly s3Port: number
  /** The AWS SDK as the root user. */
  readonly s3: S3Client
  /** A request of S3 that the root user signs: for requests that svcctl does not send. */
  sendToS3(request: RawRequest): Promise<Response>
  /** The same for the Admin API. */
  sendToAdmin(request: RawRequest): Promise<Response>
  stop(): Promise<void>
}

export interface TestServerOptions {
  /** Sections by plugin. */
  readonly config?: TestKernelOptions['config']
  /** Beside the standard plugins. */
  readonly plugins?: readonly AnyPlugin[]
  /** Derive the key of the store from the root password, as a server does without configuration; takes a quarter of a second. */
  readonly derivesStoreKey?: boolean
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-test-'))
  const kernel = await startKernel({
    plugins: [...standard, ...(options.plugins ?? [])],
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser, rootPassword },
      storage: { endpoints: [folder] },
      ...(options.derivesStoreKey
        ? undefined
        : { store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` } }),
      ...options.config,
    },
  })
  const portOf = (wanted: string) => kernel.services.http.listeners().find(({ name }) => name === wanted)!.port
  const s3Port = portOf('s3')
  const endpoint = `http://127.0.0.1:${s3Port}`
  const adminUrl = `http://127.0.0.1:${portOf('console')}`
  const signer = createSigner({ accessKey: rootUser, secretKey: rootPassword, region: 'us-east-1' })
  const s3 = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: rootUser, secretAccessKey: rootPassword },
    maxAttempts: 1,
  })

  function send(origin: string, { method, path, query = '', headers, body }: RawRequest): Promise<Response> {
    const payload = body === undefined ? undefined : Buffer.from(body)
    const host = origin.slice('http://'.length)
    const signed = signer.signRequest({ method, host, path, query, headers, payload, nowMs: Date.now() })
    return fetch(`${origin}${path}${query === '' ? '' : `?${query}`}`, { method, headers: signed, body: payload })
  }

  return {
    kernel,
    endpoint,
    adminUrl,
    s3Port,
    s3,
    sendToS3: request => send(endpoint, request),
    sendToAdmin: request => send(adminUrl, request),
    async stop() {
      s3.destroy()
      const failures = await kernel.stop()
      await rm(folder, { recursive: true, force: true })
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly')
    },
  }
}
