/** The Admin API of a test server, signed by root: users, groups and policies for tests of what somebody may do. */
import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { accessKey, region, secretKey, type TestServer } from './server.ts'

export interface Statement {
  readonly [element: string]: unknown
}

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface AdminClient {
  /** The JSON of the answer; undefined where there is none. Throws for every status but 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  call(method: string, path: string, body?: unknown): Promise<any>
  /** The bytes of the answer of a GET. */
  download(path: string): Promise<Buffer>
  /** Creates or replaces a named policy. */
  putPolicy(name: string, ...statements: readonly Statement[]): Promise<void>
  createUser(
    name: string,
    given?: { policyNames?: readonly string[]; groups?: readonly string[] },
  ): Promise<Credentials>
}

/** `tls` of a server that speaks it: its CA (PEM), and the name that its certificate is for. */
export function createAdminClient(
  server: TestServer,
  tls?: { readonly ca: string; readonly servername: string },
): AdminClient {
  const request = tls === undefined ? requestPlain : requestSecure
  const host = String(server.startup.console)
  const [hostname, port] = host.split(':')

  async function send(method: string, path: string, body?: unknown): Promise<Buffer> {
    const payload = Buffer.from(body === undefined ? '' : JSON.stringify(body))
    const target = `/api/v1${path}`
    const [plain, query] = target.split('?')
    const { headers } = signRequest(
      { accessKey, secret: secretKey, region },
      {
        method,
        host,
        path: plain!,
        query,
        headers: { 'content-type': 'application/json', 'content-length': String(payload.length) },
        payload,
        nowMs: Date.now(),
      },
    )
    return new Promise((done, fail) => {
      const sent = request({ hostname, port, method, path: target, headers: { ...headers }, ...tls }, answer => {
        buffer(answer).then(said => {
          const { statusCode = 0 } = answer
          if (statusCode < 200 || statusCode > 299) fail(new Error(`${method} ${path}: ${statusCode} ${said}`))
          else done(said)
        }, fail)
      })
      sent.on('error', fail)
      sent.end(payload)
    })
  }

  async function call(method: string, path: string, body?: unknown) {
    const said = (await send(method, path, body)).toString()
    return said === '' ? undefined : JSON.parse(said)
  }

  return {
    call,
    download: path => send('GET', path),
    async putPolicy(name, ...statements) {
      const document = { Version: '2012-10-17', Statement: statements.map(one => ({ Effect: 'Allow', ...one })) }
      await call('PUT', `/policies/${name}`, { document })
    },
    async createUser(name, given = {}) {
      const secretAccessKey = `secret-of-${name}`
      await call('POST', '/users', { accessKey: name, secretKey: secretAccessKey, ...given })
      return { accessKeyId: name, secretAccessKey }
    },
  }
}
