/** A kind of destination for tests, and the real HTTP service behind it, which can be made to fail. */
import { Agent, createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { definePlugin } from 'svc/kernel'
import { findLastingPort } from 'svc/testing'
import { type Static, Type } from 'typebox'
import { type NotifyTarget, type NotifyTargetKind, PermanentDeliveryError } from '../api.ts'

const Settings = Type.Object({
  endpoint: Type.String({ default: '', destination: true, description: 'URL that gets each message.' }),
  token: Type.String({ default: '', description: 'Sent with each message.', secret: true }),
  timeout: Type.Integer({ default: 2000, description: 'Of one attempt.', format: 'duration' }),
})

export const httpKind: NotifyTargetKind<typeof Settings> = {
  description: 'Posts each message to a URL.',
  settings: Settings,
  validate: ({ endpoint }) => (URL.canParse(endpoint) ? [] : [{ key: 'endpoint', problem: 'must be an absolute URL' }]),
  endpoint: ({ endpoint }) => endpoint || 'nowhere',
  connect,
}

/** The kind as a plugin would contribute it. */
export const httpPlugin = definePlugin({
  name: 'notify-http-test',
  setup({ contribute }) {
    contribute('notify.target', 'http', httpKind)
    return {}
  },
})

export default httpPlugin

function connect({ endpoint, token, timeout }: Static<typeof Settings>): NotifyTarget {
  const agent = new Agent({ keepAlive: true })
  const closing = new AbortController()
  const post = (body: Buffer, signal: AbortSignal) =>
    new Promise<string | undefined>((done, fail) => {
      const signals = AbortSignal.any([signal, closing.signal, AbortSignal.timeout(timeout)])
      signals.throwIfAborted()
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      const sent = request(endpoint, { method: 'POST', agent, headers, signal: signals }, answer => {
        answer.resume()
        answer.on('error', fail)
        answer.on('end', () => {
          if (answer.statusCode === 200) done(undefined)
          else if (answer.statusCode === 202) done('The endpoint keeps nothing.')
          else if (answer.statusCode === 422) fail(new PermanentDeliveryError('The endpoint refuses the message.'))
          else fail(new Error(`The endpoint answers ${answer.statusCode}.`))
        })
      })
      sent.on('error', fail)
      sent.end(body)
    })
  return {
    concurrency: 4,
    async send(messages, signal) {
      for (const { body } of messages) await post(body, signal)
    },
    test: post,
    async close() {
      closing.abort(new Error('The target is closed.'))
      agent.destroy()
    },
  }
}

export interface Receiver {
  readonly endpoint: string
  /** Bodies that were answered with 200. */
  readonly bodies: readonly string[]
  /** `hang` sends no answer, `fail` 500, `drop` 202 and keeps nothing, `garbage` bytes that are not HTTP, `slow` answers after a while. */
  mode: 'fine' | 'hang' | 'fail' | 'drop' | 'refuse' | 'garbage' | 'slow'
  stop(): Promise<void>
  start(): Promise<void>
  resume(): void
}

export async function startReceiver(token = ''): Promise<Receiver> {
  const bodies: string[] = []
  const held: ServerResponse[] = []
  const sockets = new Set<Socket>()
  const server = createServer(async (incoming, answer) => {
    const body = (await buffer(incoming).catch(() => undefined))?.toString()
    if (body === undefined) return
    const accept = () => {
      bodies.push(body)
      answer.end()
    }
    if (incoming.headers.authorization !== `Bearer ${token}`) answer.writeHead(403).end()
    else if (receiver.mode === 'hang') held.push(answer)
    else if (receiver.mode === 'fail') answer.writeHead(500).end()
    else if (receiver.mode === 'drop') answer.writeHead(202).end()
    else if (receiver.mode === 'refuse') answer.writeHead(422).end()
    else if (receiver.mode === 'garbage') answer.socket?.end('this is not HTTP\r\n\r\n')
    else if (receiver.mode === 'slow') setTimeout(accept, 200)
    else accept()
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const listen = (port: number) => new Promise<void>(done => server.listen(port, '127.0.0.1', done))
  await listen(await findLastingPort())
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    endpoint: `http://127.0.0.1:${port}/events`,
    bodies,
    mode: 'fine',
    async stop() {
      const closed = new Promise<void>(done => server.close(() => done()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
    start: () => listen(port),
    resume() {
      receiver.mode = 'fine'
      for (const answer of held.splice(0)) answer.destroy()
    },
  }
  return receiver
}
