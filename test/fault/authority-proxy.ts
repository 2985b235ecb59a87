/** In front of pebble and of bind9: holds one request for ever, before or after the server behind has had it. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Pebble } from 'svc/plugins/acme/testing'
import { eventually, findLastingPort, temporaryFolder } from 'svc/testing'
import type { Test } from 'tap'

export interface Hold {
  /** Of the request of an order; a change of DNS has none. */
  readonly path?: RegExp
  /** It is held when the server behind has answered; otherwise it never gets there. */
  readonly isAfter: boolean
  /** What pebble has written by then where that takes a while. */
  readonly done?: RegExp | undefined
}

export interface AuthorityProxy {
  readonly directory: string
  /** PEM file of its own CA. */
  readonly caFile: string
  /** The path of each request that has made something, and how often. */
  readonly made: Readonly<Record<string, number>>
  /** Resolves when the request has come. */
  hold(hold: Hold): Promise<void>
  /** Ends what is held. */
  release(): void
}

/** Stopped when the test ends. */
export async function startAuthorityProxy(t: Test, pebble: Pebble): Promise<AuthorityProxy> {
  const folder = temporaryFolder(t)
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile]
  const names = ['-subj', '/CN=proxy', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', '-x509', ...key, ...names, '-days', '2', '-out', caFile], { stdio: 'ignore' })
  const made: Record<string, number> = {}
  let held: (Hold & { onHeld(): void }) | undefined
  const proxy = createServer({ key: readFileSync(keyFile), cert: readFileSync(caFile) }, async (incoming, outgoing) => {
    const { method, url = '', headers } = incoming
    const body = await buffer(incoming)
    const hold = method === 'POST' && held?.path?.test(url) ? held : undefined
    if (hold !== undefined) held = undefined
    if (hold !== undefined && !hold.isAfter) return hold.onHeld()
    const logged = pebble.log().length
    const options = { host: '127.0.0.1', port: pebble.port, method, path: url, headers, rejectUnauthorized: false }
    const forwarded = request(options, async answer => {
      const answered = await buffer(answer)
      if (answer.statusCode === 201) made[url] = (made[url] ?? 0) + 1
      if (hold === undefined) {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        return outgoing.end(answered)
      }
      const { done } = hold
      if (done !== undefined) {
        await eventually(
          async () => pebble.log().slice(logged),
          text => done.test(text),
        )
      }
      hold.onHeld()
    })
    forwarded.on('error', () => outgoing.destroy())
    forwarded.end(body)
  })
  const port = await findLastingPort()
  await new Promise<void>(done => proxy.listen(port, '127.0.0.1', done))
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    caFile,
    made,
    hold: hold =>
      new Promise(onHeld => {
        held = { ...hold, onHeld }
      }),
    release: () => proxy.closeAllConnections(),
  }
}

export interface DnsProxy {
  /** `127.0.0.1:port`, for changes over TCP. */
  readonly server: string
  /** Holds the change that comes after `skipped` others. Resolves when it has come. */
  hold(hold: Pick<Hold, 'isAfter'> & { readonly skipped: number }): Promise<void>
  release(): void
}

/** Each connection is one change: a message of DNS and its answer. */
export async function startDnsProxy(t: Test, port: number): Promise<DnsProxy> {
  let held: { isAfter: boolean; skipped: number; onHeld(): void } | undefined
  const sockets = new Set<Socket>()
  const proxy = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let hold = held !== undefined && held.skipped-- <= 0 ? held : undefined
    if (hold !== undefined) held = undefined
    socket.once('data', first => {
      if (hold !== undefined && !hold.isAfter) return hold.onHeld()
      const behind = connect(port, '127.0.0.1', () => behind.write(first))
      behind.on('error', () => socket.destroy())
      behind.on('data', answer => {
        if (hold === undefined) return socket.write(answer)
        hold.onHeld()
        hold = undefined
        behind.destroy()
      })
      behind.on('close', () => socket.end())
      socket.on('close', () => behind.destroy())
    })
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  const release = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    release()
    proxy.close()
  })
  return {
    server: `127.0.0.1:${(proxy.address() as { port: number }).port}`,
    hold: ({ isAfter, skipped }) =>
      new Promise(onHeld => {
        held = { isAfter, skipped, onHeld }
      }),
    release,
  }
}
