/** Puts the parts together: the operations, their dispatcher, the document, and the routes that lead to them. */
import { hostname } from 'node:os'
import type { FastifyPluginAsync } from 'fastify'
import type { Contribution, KernelService } from 'svc/kernel'
import { basePath } from './answer.ts'
import type { AdminOperation } from './api.ts'
import { catalogue } from './catalogue.ts'
import { type DispatcherOptions, dispatchOperations } from './dispatcher.ts'
import { createEventStreams } from './event-stream.ts'
import { createDocument } from './openapi.ts'
import { createDocumentOperation } from './openapi-operation.ts'
import { completeOperations } from './operations.ts'

export interface AdminOptions extends Omit<DispatcherOptions, 'operations' | 'streams'> {
  readonly kernel: Pick<KernelService, 'version' | 'onState'>
  /** Called when the routes are made: extension points can be read by then. */
  readonly contributions: () => readonly Contribution<AdminOperation>[]
}

export function createAdminRoutes(options: AdminOptions): FastifyPluginAsync {
  const { kernel } = options
  // Asynchronous: what is thrown here refuses the start in its own words.
  return async fastify => {
    const operations = completeOperations(options.contributions())
    const document = createDocumentOperation(() => createDocument(operations, catalogue, kernel.version))
    const streams = createEventStreams(hostname(), options.clock)
    options.places.declare(operations.filter(({ events }) => events !== undefined).map(({ id }) => id))
    // Draining waits for answers under way, and a stream is one: it must end first.
    kernel.onState(state => {
      if (state === 'draining') streams.close()
    })
    fastify.register(
      async scope => dispatchOperations(scope, { ...options, operations: [...operations, document], streams }),
      { prefix: basePath },
    )
  }
}
