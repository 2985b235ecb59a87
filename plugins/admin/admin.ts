/** Assembles the Admin API: operations, dispatcher, OpenAPI document and routes. */
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
import { bulkLimits, streamLimits } from './places.ts'

export interface AdminOptions extends Omit<DispatcherOptions, 'operations' | 'streams'> {
  readonly kernel: Pick<KernelService, 'version' | 'onState'>
  /** Called when the routes are created: extension points can be read by then. */
  readonly contributions: () => readonly Contribution<AdminOperation>[]
}

export function createAdminRoutes(options: AdminOptions): FastifyPluginAsync {
  const { kernel } = options
  // Asynchronous, so that an error refuses the start with its own message.
  return async fastify => {
    const operations = completeOperations(options.contributions())
    const document = createDocumentOperation(() => createDocument(operations, catalogue, kernel.version))
    const streams = createEventStreams(hostname(), options.clock)
    options.places.declare(
      new Map([
        ...operations.filter(({ events }) => events !== undefined).map(({ id }) => [id, streamLimits] as const),
        ...operations.filter(({ isBulk }) => isBulk === true).map(({ id }) => [id, bulkLimits] as const),
      ]),
    )
    // Draining waits for answers under way, and a stream is one: streams must end first.
    kernel.onState(state => {
      if (state === 'draining') streams.close()
    })
    fastify.register(
      async scope => dispatchOperations(scope, { ...options, operations: [...operations, document], streams }),
      { prefix: basePath },
    )
  }
}
