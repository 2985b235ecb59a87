/**
 * The part of Fastify: all paths under `/svc/`, and all of the console listener. Routes of other plugins are registered in one Fastify
 * instance per listener. Our own listener passes the requests to it, so Fastify never listens itself.
 */
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import Fastify, { type FastifyReply } from 'fastify'
import type { Logger } from 'svc/kernel'
import type { Exchange, HttpObserver, HttpRoutes, ListenerName } from './api.ts'
import { guardHeadersOf } from './guard-headers.ts'
import { problemAnswers, sendError } from './problem-answers.ts'
import { bearExchange, exchangeOf, requestExchange } from './request-exchange.ts'
import { requestObservers } from './request-observers.ts'

export interface Application {
  handle(exchange: Exchange): void
  close(): Promise<void>
}

export interface ApplicationOptions {
  readonly listener: ListenerName
  readonly routes: readonly HttpRoutes[]
  readonly observers: readonly HttpObserver[]
  readonly log: Logger
  readonly now: () => number
}

/** Loaded only if routes of other plugins have schemas for Fastify: its compilers are 100 modules, and our own routes need none of them. */
function loadCompiler(name: string) {
  return (...given: unknown[]) => createRequire(import.meta.resolve('fastify'))(name)()(...given)
}

/** Registers every route of the listener; resolves when Fastify is ready to answer. */
export async function createApplication({ routes, ...options }: ApplicationOptions): Promise<Application> {
  const { listener, log } = options
  const fastify = Fastify({
    serverFactory: handler => createServer(handler),
    schemaController: {
      compilersFactory: {
        buildValidator: loadCompiler('@fastify/ajv-compiler'),
        buildSerializer: loadCompiler('@fastify/fast-json-stringify-compiler'),
      },
    },
    forceCloseConnections: false,
    return503OnClosing: false,
    // The head of a request is bounded as a whole; the plugin of a route refuses parameters that are too long.
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER },
    genReqId: request => exchangeOf(request as never).requestId,
    // Before every hook.
    frameworkErrors: (error, request, reply) =>
      void sendError(error, request, (reply as FastifyReply).headers(guardHeadersOf(listener)), log),
  })
  // These three apply to the routes of all plugins, not only in their own context.
  fastify.register(requestExchange)
  fastify.register(problemAnswers, { log, listener })
  fastify.register(requestObservers, options)
  for (const { listeners, plugin } of routes) {
    // A child context each: hooks and decorators of one plugin do not affect the routes of another.
    if (listeners.includes(listener)) fastify.register(plugin as Parameters<typeof fastify.register>[0])
  }
  await fastify.ready()

  return {
    handle(exchange) {
      bearExchange(exchange)
      fastify.routing(exchange.request, exchange.response)
    },
    close: () => fastify.close(),
  }
}
