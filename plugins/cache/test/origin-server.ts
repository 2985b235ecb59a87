/** A server that answers every host from an HTTP origin, through the cache. The suite of HTTP caches and our own tests use it. */

import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { definePlugin } from 'svc/kernel'
import type { CacheAnswer, CacheOrigin, CacheService, EffectivePolicy, HeaderLine } from 'svc/plugins/cache/api'
import type { Exchange } from 'svc/plugins/http/api'
import standard from 'svc/plugins/standard'
import { openPoints, startKernel } from 'svc/testing'
import type { Test } from 'tap'

/** The plugins that the cache and a listener need. */
const needed = new Set(['iam', 'metrics', 'tls', 'http', 'storage', 'drive', 'store', 'checksums', 'objects', 'cache'])

export interface CachedServer {
  /** URL without a slash at the end. */
  readonly url: string
  readonly cache: CacheService
}

export async function startCachedServer(
  t: Test,
  { originPort, policy }: { readonly originPort: number; readonly policy: EffectivePolicy },
): Promise<CachedServer> {
  const site = definePlugin({
    name: 's3',
    requires: ['http', 'cache'],
    points: openPoints('s3.operation', 's3.observer'),
    setup({ services, contribute }) {
      const answer = (exchange: Exchange) => serve(exchange, services.cache, policy, originPort)
      contribute('http.mount', 's3', { listener: 's3', handler: answer })
      contribute('host.route', 'site', { stage: 'host', listeners: ['s3'], find: () => answer })
    },
  })
  const folder = await mkdtemp(join(tmpdir(), 'svc-cache-'))
  const kernel = await startKernel({
    plugins: [...standard.filter(({ name }) => needed.has(name)), site],
    config: {
      storage: { endpoints: [folder] },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      tls: {},
    },
  })
  t.teardown(async () => {
    await kernel.stop()
    await rm(folder, { recursive: true })
  })
  const { port } = kernel.services.http.listeners().find(({ name }) => name === 's3') as { port: number }
  return { url: `http://127.0.0.1:${port}`, cache: kernel.services.cache }
}

async function serve(
  { request, response, host }: Exchange,
  cache: CacheService,
  policy: EffectivePolicy,
  port: number,
) {
  const [path, query = ''] = (request.url as string).split('?') as [string, string?]
  const method = request.method as string
  const key = { space: 'site', shape: '', host: host.replace(/:\d+$/, ''), path, query }
  const served = { method, headers: request.headers, key, policy, honorsDirectives: true }
  let answer: CacheAnswer
  try {
    answer = await cache.serve(served, originOf(request, port))
  } catch {
    // The origin cannot be reached: answers as a gateway does.
    response.writeHead(502)
    response.end()
    return
  }
  response.writeHead(answer.status, answer.headers.flat() as string[])
  if (answer.body === undefined || Buffer.isBuffer(answer.body)) response.end(answer.body)
  else await pipeline(answer.body, response).catch(() => response.destroy())
}

function originOf(visitor: IncomingMessage, port: number): CacheOrigin {
  const hasBody = visitor.headers['content-length'] !== undefined || visitor.headers['transfer-encoding'] !== undefined
  return {
    fetch: ({ method, headers }) =>
      new Promise((resolve, reject) => {
        const sent = httpRequest({ host: '127.0.0.1', port, method, path: visitor.url, headers: headers as never })
        sent.on('error', reject)
        sent.on('response', message => {
          const lines: HeaderLine[] = []
          for (let i = 0; i < message.rawHeaders.length; i += 2)
            lines.push([message.rawHeaders[i] as string, message.rawHeaders[i + 1] as string])
          resolve({ status: message.statusCode as number, headers: lines, body: message })
        })
        if (hasBody) visitor.pipe(sent)
        else sent.end()
      }),
  }
}
