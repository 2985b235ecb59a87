/** Puts the parts together: the operations, their dispatcher, the document, and the routes that lead to them. */
import { hostname } from 'node:os'
import type { FastifyPluginCallback } from 'fastify'
import type { Contribution, KernelService } from 'svc/kernel'
import { basePath } from './answer.ts'
import type { AdminOperation } from './api.ts'
import { catalogue } from './catalogue.ts'
import { createDispatcher, type DispatcherOptions } from './dispatcher.ts'
import { createEventStreams } from './event-stream.ts'
import { createDocument } from './openapi.ts'
import { createDocumentOperation } from './openapi-operation.ts'
import { completeOperations } from './operations.ts'
import { createRouter } from './router.ts'

export interface AdminOptions extends Omit<DispatcherOptions, 'router' | 'streams'> {
  readonly kernel: Pick<KernelService, 'version' | 'onState'>
  /** Called when the routes are made: extension points can be read by then. */
  readonly contributions: () => readonly Contribution<AdminOperation>[]
}

export function createAdminRoutes(options: AdminOptions): FastifyPluginCallback {
  const { kernel } = options
  return (fastify, _options, done) => {
    const operations = completeOperations(options.contributions())
    const document = createDocumentOperation(() => createDocument(operations, catalogue, kernel.version))
    const streams = createEventStreams(hostname(), options.clock)
    // Draining waits for answers under way, and a stream is one: it must end first.
    kernel.onState(state => {
      if (state === 'draining') streams.close()
    })
    const dispatch = createDispatcher({ ...options, router: createRouter([...operations, document]), streams })

    // The dispatcher reads the bodies: it knows whether, how much, and under which signature.
    fastify.removeAllContentTypeParsers()
    fastify.addContentTypeParser('*', (_request, _payload, next) => next(null))
    fastify.register(
      (scope, _scopeOptions, ready) => {
        scope.all('', dispatch)
        scope.all('/*', dispatch)
        // Methods that Fastify does not know end here.
        scope.setNotFoundHandler(dispatch)
        ready()
      },
      { prefix: basePath },
    )
    done()
  }
}
