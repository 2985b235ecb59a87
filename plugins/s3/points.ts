/** The extension points of the S3 protocol. */
import type { ServiceName, Services } from 'svc/kernel'
import { Type } from 'typebox'
import type { S3Operation, S3OperationDefinition } from './api.ts'

const method = Type.Function([], Type.Unknown())

export const s3Points = {
  's3.operation': {
    cardinality: 'many',
    schema: Type.Object(
      {
        name: Type.String({ minLength: 1 }),
        summary: Type.String({ minLength: 1 }),
        match: Type.Object({
          method: Type.Enum(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS']),
          level: Type.Enum(['service', 'bucket', 'object']),
          query: Type.Optional(Type.Array(Type.String())),
          header: Type.Optional(Type.String()),
        }),
        action: Type.Optional(Type.String()),
        body: Type.Object({ kind: Type.Enum(['none', 'stream', 'xml']) }),
        reply: Type.Object({ kind: Type.Enum(['empty', 'xml', 'data']) }),
        errors: Type.Array(Type.String()),
        handle: method,
      },
      { description: 'An operation of S3, its services bound; its id is its name at AWS.' },
    ),
    listed: {
      id: (definition: S3OperationDefinition<ServiceName>) => definition.name,
      bind: (definition: S3OperationDefinition<ServiceName>, services: Services): S3Operation => ({
        ...definition,
        before: definition.before && (request => definition.before?.(request, services)),
        handle: request => definition.handle(request, services),
      }),
    },
  },
  's3.attribute': {
    cardinality: 'many',
    schema: Type.Object(
      { headers: Type.Array(Type.String()), read: method, describe: method },
      { description: 'Attributes of objects that headers set and show.' },
    ),
  },
  's3.observer': {
    cardinality: 'many',
    schema: Type.Function([], Type.Unknown(), { description: 'Told of each finished request.' }),
  },
  's3.origin-answer': {
    cardinality: 'many',
    schema: Type.Function([], Type.Unknown(), {
      description: 'Headers for the answer to a request from a page of some origin.',
    }),
  },
  's3.error-page': {
    cardinality: 'one',
    schema: Type.Function([], Type.Unknown(), {
      description: 'A page of HTML for people, instead of the document of an error.',
    }),
  },
  's3.query-api': {
    cardinality: 'one',
    schema: Type.Object(
      { service: Type.String(), namespace: Type.String(), version: Type.String(), actions: Type.Unknown() },
      { description: 'Another service of AWS on the same listener, whose requests are forms.' },
    ),
  },
} as const
