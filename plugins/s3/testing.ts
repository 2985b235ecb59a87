/** For tests of S3 operations: the real server in this process, with its own folder and ports, and SDK clients for it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import type { AnyPlugin } from 'svc/kernel'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import standard from 'svc/plugins/standard'
import { startKernel, type TestKernel, type TestKernelOptions } from 'svc/testing'

export interface TestServer {
  readonly kernel: TestKernel
  /** `http://127.0.0.1:port`. */
  readonly endpoint: string
  readonly client: S3Client
  readonly forger: S3Client
  /** Path and query; headers are not signed: a request of an anonymous client. */
  anonymous(method: string, target: string): Promise<{ status: number; text: string }>
  /** A signed request with exactly these parts: for requests that no SDK sends. */
  signed(request: SignedTestRequest): Promise<Response>
  /** A client that sends these headers, signed, with each request. */
  with(headers: Readonly<Record<string, string>>): S3Client
  stop(): Promise<void>
}

export interface SignedTestRequest {
  readonly method: string
  readonly path: string
  /** Without question mark. Default empty. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export interface TestServerOptions {
  readonly ports?: TestKernelOptions['ports']
  /** Replaces the bundled plugins. */
  readonly plugins?: readonly AnyPlugin[]
  /** Sections by plugin. */
  readonly config?: TestKernelOptions['config']
  /**
   * The folder of the drive: it is kept, and used again by later servers with the same folder. Default: a temporary folder that is removed
   * with the server.
   */
  readonly drive?: string
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = options.drive ?? (await mkdtemp(join(tmpdir(), 'svc-s3-operations-')))
  const kernel = await startKernel({
    plugins: options.plugins ?? standard,
    ports: options.ports,
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
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
    endpoint,
    client: clients.as({ accessKey: 'admin', secretKey: 'change-me-please' }),
    forger: clients.as({ accessKey: 'admin', secretKey: 'not-the-password' }),
    async anonymous(method, target) {
      const answer = await fetch(`${endpoint}${target}`, { method })
      return { status: answer.status, text: await answer.text() }
    },
    signed({ method, path, query = '', headers = {}, body = '' }) {
      const signer = { accessKey: 'admin', secret: 'change-me-please', region: 'us-east-1' }
      const host = endpoint.slice('http://'.length)
      const payload = Buffer.from(body)
      const head = signRequest(signer, { method, path, query, headers, host, payload, nowMs: Date.now() })
      const target = `${endpoint}${path}${query === '' ? '' : `?${query}`}`
      // An empty body is a body with a length.
      const sent = method === 'GET' || method === 'HEAD' ? undefined : payload
      return fetch(target, { method, headers: { ...head.headers }, body: sent, redirect: 'manual' })
    },
    with(headers) {
      const client = clients.as({ accessKey: 'admin', secretKey: 'change-me-please' })
      client.middlewareStack.add(
        next => args => {
          Object.assign((args.request as { headers: Record<string, string> }).headers, headers)
          return next(args)
        },
        { step: 'build' },
      )
      return client
    },
    async stop() {
      clients.destroy()
      const failures = await kernel.stop()
      if (options.drive === undefined) await rm(folder, { recursive: true, force: true })
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly')
    },
  }
}

export interface Keys {
  readonly accessKey: string
  readonly secretKey: string
  readonly sessionToken?: string | undefined
}

export interface Clients {
  /** An SDK client that signs with these keys, sends each request once, and is closed with the others. */
  as(keys: Keys): S3Client
  destroy(): void
}

export function createClients(endpoint: string): Clients {
  const clients: S3Client[] = []
  return {
    as({ accessKey, secretKey, sessionToken }) {
      const client = new S3Client({
        endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        credentials: { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken },
        maxAttempts: 1,
      })
      clients.push(client)
      return client
    },
    destroy() {
      for (const client of clients) client.destroy()
    },
  }
}

/** `404 NoSuchBucket`, or `ok`. */
export async function outcome(sent: Promise<unknown>): Promise<string> {
  try {
    await sent
    return 'ok'
  } catch (error) {
    if (!(error instanceof S3ServiceException)) throw error
    return `${error.$metadata.httpStatusCode} ${error.name}`
  }
}
