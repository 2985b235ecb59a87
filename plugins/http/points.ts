/** The extension points of the listeners. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const httpPoints = {
  'http.mount': {
    cardinality: 'many',
    schema: Type.Object(
      { listener: Type.String(), handler: method },
      { description: 'A raw handler of all requests of a listener that Fastify does not own; one for each listener.' },
    ),
  },
  'host.route': {
    cardinality: 'many',
    schema: Type.Object(
      {
        stage: Type.Enum(['challenge', 'host']),
        listeners: Type.Array(Type.Enum(['s3', 'web', 'web-tls']), { minItems: 1 }),
        pathPrefix: Type.Optional(Type.String({ minLength: 1 })),
        find: method,
      },
      {
        description:
          'Takes requests by their host or path before the protocol of the listener: distributions, ACME challenges.',
      },
    ),
  },
  'http.routes': {
    cardinality: 'many',
    schema: Type.Object(
      { listeners: Type.Array(Type.String(), { minItems: 1 }), plugin: method },
      { description: 'A Fastify plugin with routes, in a context of its own.' },
    ),
  },
  'http.observer': {
    cardinality: 'many',
    schema: Type.Function([], Type.Unknown(), { description: 'Told of each request that Fastify has answered.' }),
  },
} as const
