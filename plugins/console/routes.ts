/** The page at every path that is not the API's, and its files. */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Random } from 'svc/kernel'
import { hasSessionCookie } from 'svc/plugins/auth-session/api'
import { readPage } from './page.ts'
import { securityHeaders } from './security-headers.ts'

const yearMs = 365 * 86_400_000
const notBuilt =
  'The files of the console are not built. Run `npm run console:build` in the folder of the server, and load this page again.\n'

/** The first part of a page's path. Whatever begins otherwise keeps the answers of its owner, also to paths and methods that are not there. */
const ownPage = ':page(^(?!api$|svc$|assets$).*$)'

export interface ConsoleRoutesOptions {
  /** Folder of the built application, with a slash at its end. */
  readonly folder: URL
  readonly publicUrl: string | undefined
  readonly random: Random
  /** The server's version, which the sign-in page shows. */
  readonly version: string
}

export function createConsoleRoutes({ folder, publicUrl, random, version }: ConsoleRoutesOptions): FastifyPluginAsync {
  return async fastify => {
    const page = readPage(new URL('index.html', folder), publicUrl, version)
    if (page !== undefined) {
      // Loaded here, because most commands need no console.
      const fastifyStatic = createRequire(import.meta.url)(
        '@fastify/static',
      ) as typeof import('@fastify/static').default
      fastify.addHook('onRoute', route => {
        route.config = { operation: 'ConsoleFile', ...route.config }
      })
      await fastify.register(fastifyStatic, {
        root: fileURLToPath(new URL('assets/', folder)),
        prefix: '/assets/',
        preCompressed: true,
        maxAge: yearMs,
        immutable: true,
        index: false,
        decorateReply: false,
      })
    }
    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      if (isSignedByS3Client(request)) return reply.callNotFound()
      reply.header('cache-control', 'no-store')
      if (page === undefined) return reply.code(503).type('text/plain; charset=utf-8').send(notBuilt)
      const nonce = random.bytes(16).toString('base64')
      return reply
        .headers(securityHeaders(nonce))
        .type('text/html; charset=utf-8')
        .send(page.render(nonce, hasSessionCookie(request.headers.cookie)))
    }
    for (const path of ['/', `/${ownPage}`, `/${ownPage}/*`]) {
      fastify.get(path, { config: { operation: 'ConsolePage' } }, answer)
    }
  }
}

/** A client of S3 or of the Admin API that has the wrong address: a page would only confuse it. */
function isSignedByS3Client({ headers, url }: FastifyRequest): boolean {
  return /^AWS/.test(headers.authorization ?? '') || /[?&](X-Amz-Signature|AWSAccessKeyId)=/i.test(url)
}
