/** For tests of operations of the Admin API: the real server in this process, and callers that sign or log in. */
import { createSecretKey } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { S3Client } from '@aws-sdk/client-s3'
import { type AnyPlugin, definePlugin } from 'svc/kernel'
import 'svc/plugins/iam/api'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { IdentityPolicies, PolicyService } from 'svc/plugins/policy/api'
import { createClients } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import { startKernel, type TestKernel, type TestKernelOptions } from 'svc/testing'
import { Value } from 'typebox/value'
import type { AdminOperation } from './api.ts'

export const rootUser = 'admin'
export const rootPassword = 'change-me-please'

export interface AdminCall {
  /** Percent-encoded, starting with `/api/v1`, with the query. */
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Objects are sent as JSON; text and bytes unchanged. */
  readonly body?: unknown
}

export interface AdminAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed JSON; undefined for an empty body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly json: any
  readonly text: string
}

export type AdminCaller = (call: AdminCall) => Promise<AdminAnswer>

export interface TestAdmin {
  readonly kernel: TestKernel
  readonly port: number
  readonly s3Port: number
  readonly operations: readonly AdminOperation[]
  /** Signed by root. */
  readonly signed: AdminCaller
  readonly anonymous: AdminCaller
  /** Logs in, and sends the headers of a page of the console. */
  login(): Promise<{ readonly call: AdminCaller; readonly cookie: string; readonly csrfToken: string }>
  signedBy(accessKey: string, secret: string): AdminCaller
  /** An SDK client of root at the S3 port. */
  readonly s3: S3Client
  stop(): Promise<void>
}

export interface TestAdminOptions {
  readonly ports?: TestKernelOptions['ports']
  /** In addition to the bundled plugins. */
  readonly plugins?: readonly AnyPlugin[]
  /** Names of plugins that are not loaded, nor those that require their services. */
  readonly without?: readonly string[]
  readonly config?: TestKernelOptions['config']
  readonly onStopRequest?: TestKernelOptions['onStopRequest']
}

export async function startAdmin(options: TestAdminOptions = {}): Promise<TestAdmin> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-admin-'))
  const kernel = await startKernel({
    plugins: [...standardWithout(options.without ?? []), ...(options.plugins ?? [])],
    ports: options.ports,
    onStopRequest: options.onStopRequest,
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser, rootPassword },
      storage: { endpoints: [folder] },
      ...options.config,
    },
  })
  const portOf = (wanted: string) => kernel.services.http.listeners().find(({ name }) => name === wanted)!.port
  const port = portOf('console')
  const origin = `http://127.0.0.1:${port}`
  const operations = kernel
    .point('admin.operation')
    .list()
    .map(({ value }) => value)

  const signedBy =
    (accessKey: string, secret: string): AdminCaller =>
    call => {
      const [path, query = ''] = call.path.split('?')
      const { bytes, headers } = encode(call)
      const signature = signRequest(
        { accessKey, secret, region: 'us-east-1' },
        {
          method: call.method ?? 'GET',
          host: `127.0.0.1:${port}`,
          path,
          query,
          headers,
          payload: bytes ?? Buffer.alloc(0),
          nowMs: kernel.ports.clock.now(),
        },
      )
      return send(port, call, { ...headers, ...signature.headers }, bytes)
    }

  const anonymous: AdminCaller = call => {
    const { bytes, headers } = encode(call)
    return send(port, call, headers, bytes)
  }

  const s3Port = portOf('s3')
  const clients = createClients(`http://127.0.0.1:${s3Port}`)
  return {
    kernel,
    port,
    s3Port,
    s3: clients.as({ accessKey: rootUser, secretKey: rootPassword }),
    operations,
    signed: signedBy(rootUser, rootPassword),
    signedBy,
    anonymous,
    async login() {
      const body = { accessKey: rootUser, secretKey: rootPassword }
      const answer = await anonymous({ method: 'POST', path: '/api/v1/auth/login', body })
      if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`)
      const cookie = String(answer.headers['set-cookie']).split(';')[0]
      const { csrfToken } = answer.json
      const headers = { cookie, origin, 'x-csrf-token': csrfToken }
      return { cookie, csrfToken, call: call => anonymous({ ...call, headers: { ...headers, ...call.headers } }) }
    },
    async stop() {
      clients.destroy()
      const failures = await kernel.stop()
      await rm(folder, { recursive: true, force: true })
      if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly')
    },
  }
}

/** The problems of an answer with the operation's schema; empty if there are none. */
export function responseProblems(operation: AdminOperation, json: unknown): readonly string[] {
  if (operation.response === undefined) return json === undefined ? [] : ['a body that was not declared']
  return Value.Errors(operation.response, json).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

function standardWithout(names: readonly string[]): readonly AnyPlugin[] {
  const gone = new Set(standard.filter(({ name }) => names.includes(name)).flatMap(({ provides = [] }) => provides))
  return standard.filter(
    ({ name, requires = [] }) => !names.includes(name) && !requires.some(service => gone.has(service)),
  )
}

function encode({ body, headers = {} }: AdminCall): { bytes: Buffer | undefined; headers: Record<string, string> } {
  if (body === undefined) return { bytes: undefined, headers: { ...headers } }
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  const bytes = Buffer.from(isRaw ? body : JSON.stringify(body))
  return {
    bytes,
    headers: { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers },
  }
}

function send(
  port: number,
  { method = 'GET', path }: AdminCall,
  headers: Readonly<Record<string, string | string[]>>,
  bytes: Buffer | undefined,
): Promise<AdminAnswer> {
  return new Promise((done, fail) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, answer => {
      buffer(answer).then(all => {
        const text = all.toString()
        const isJson = /\bjson\b/.test(String(answer.headers['content-type']))
        done({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          json: isJson && text !== '' ? JSON.parse(text) : undefined,
        })
      }, fail)
    })
    sent.on('error', fail)
    sent.end(bytes)
  })
}

export const userSecret = 'a-secret-of-a-user'

/** Statements by access key; a user without statements may do nothing. */
export function testUsers(users: Readonly<Record<string, readonly object[]>>): AnyPlugin {
  const compiled = new Map<string, IdentityPolicies>()
  return definePlugin({
    name: 'test-users',
    requires: ['policy'],
    setup({ services, contribute }) {
      const known = new Map(
        Object.keys(users).map(accessKey => [
          accessKey,
          {
            identity: { accessKey, isRoot: false, ownerId: 'a'.repeat(64), displayName: accessKey },
            signingSecret: createSecretKey(`AWS4${userSecret}`, 'utf8'),
            verificationKey: createSecretKey(userSecret, 'utf8'),
          },
        ]),
      )
      contribute('iam.directory', 'test-users', {
        credentials: accessKey => known.get(accessKey),
        sessionCredentials: () => 'invalid',
        watchSecrets: () => () => {},
      })
      contribute('policy.source', 'test-users', {
        identityPolicies: ({ accessKey }) => compiled.get(accessKey),
      })
      return {
        start() {
          for (const [accessKey, statements] of Object.entries(users)) {
            if (statements.length > 0) compiled.set(accessKey, { granted: compile(services.policy, statements) })
          }
        },
      }
    },
  })
}

function compile(policy: PolicyService, statements: readonly object[]) {
  const { policy: compiled, errors } = policy.compile(
    { Version: '2012-10-17', Statement: statements },
    { kind: 'identity' },
  )
  if (compiled === undefined) throw new Error(errors[0].message)
  return policy.combine([{ source: 'policy', name: 'test', policy: compiled }])
}
