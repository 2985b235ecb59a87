/** The real server in this process, on a folder and ports of its own, and SDK clients for it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import standard from 'svc/plugins/standard'
import { startKernel, type TestKernel } from 'svc/testing'

export interface TestServer {
  readonly kernel: TestKernel
  readonly client: S3Client
  readonly forger: S3Client
  /** Path and query; headers are not signed: what an anonymous client sends. */
  anonymous(method: string, target: string): Promise<{ status: number; text: string }>
  /** A client that sends these headers, signed, with each request. */
  with(headers: Readonly<Record<string, string>>): S3Client
  stop(): Promise<void>
}

export async function startServer(): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-multipart-'))
  const kernel = await startKernel({
    plugins: standard,
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [folder] },
    },
  })
  const { port } = kernel.services.http.listeners().find(listener => listener.name === 's3')!
  const endpoint = `http://127.0.0.1:${port}`
  const clients: S3Client[] = []
  const connect = (secretAccessKey: string) => {
    const client = new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'admin', secretAccessKey },
      maxAttempts: 1,
    })
    clients.push(client)
    return client
  }
  return {
    kernel,
    client: connect('change-me-please'),
    forger: connect('not-the-password'),
    async anonymous(method, target) {
      const answer = await fetch(`${endpoint}${target}`, { method })
      return { status: answer.status, text: await answer.text() }
    },
    with(headers) {
      const client = connect('change-me-please')
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
      for (const client of clients) client.destroy()
      const failures = await kernel.stop()
      await rm(folder, { recursive: true, force: true })
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly')
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
