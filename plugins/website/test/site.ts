/** A whole server with a web listener, and raw requests to it. */

import { connect } from 'node:net'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { startAdmin, type TestAdmin, type TestAdminOptions } from 'svc/plugins/admin/testing'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface TestSite extends TestAdmin {
  readonly webPort: number
  /** Objects by key. */
  put(
    bucket: string,
    objects: Readonly<Record<string, string | { body: string; [attribute: string]: string }>>,
  ): Promise<void>
  /** Creates or replaces; throws unless it is stored. */
  publish(distribution: Readonly<Record<string, unknown>> & { id: string }): Promise<void>
  /** The target is sent as it is; each character is a byte. */
  get(target: string, options?: GetOptions): Promise<Answer>
}

export interface GetOptions {
  readonly method?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly port?: number
}

export async function startSite(
  options: TestAdminOptions & { readonly web?: Readonly<Record<string, unknown>> } = {},
): Promise<TestSite> {
  const http = { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', webAddress: '127.0.0.1:0', ...options.web }
  const admin = await startAdmin({ ...options, config: { ...options.config, http } })
  const webPort = admin.kernel.services.http.listeners().find(({ name }) => name === 'web')!.port
  return {
    ...admin,
    webPort,
    async put(bucket, objects) {
      await admin.s3.send(new CreateBucketCommand({ Bucket: bucket })).catch(error => {
        if (error.name !== 'BucketAlreadyOwnedByYou') throw error
      })
      for (const [Key, given] of Object.entries(objects)) {
        const { body, ...attributes } = typeof given === 'string' ? { body: given } : given
        await admin.s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: body, ...attributes }))
      }
    },
    async publish(distribution) {
      const { status, text } = await admin.signed({
        method: 'PUT',
        path: `/api/v1/distributions/${distribution.id}`,
        body: distribution,
      })
      if (status > 201) throw new Error(`${status} ${text}`)
    },
    get: (target, given) => ask(webPort, target, given),
  }
}

export function ask(port: number, target: string, options: GetOptions = {}): Promise<Answer> {
  const { method = 'GET', host = 'www.example.test', headers = {} } = options
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close']
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  return exchange(options.port ?? port, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
}

/** Sends bytes, and reads the one answer until the connection ends. */
export function exchange(port: number, bytes: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(parse(Buffer.concat(chunks).toString('latin1'))))
  })
}

export function parse(text: string): Answer {
  const end = text.indexOf('\r\n\r\n')
  const [first, ...lines] = text.slice(0, end).split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return { status: Number(first?.split(' ')[1]), headers, body: text.slice(end + 4) }
}
