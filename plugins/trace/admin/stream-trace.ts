import { hostname } from 'node:os'
import { adminErrors, defineAdminOperation, StreamDropped } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type { TraceFilter, TraceType } from '../api.ts'

const TraceLine = Type.Object(
  {
    time: Type.String({ format: 'date-time' }),
    node: Type.String(),
    type: Type.Union([Type.Literal('s3'), Type.Literal('admin'), Type.Literal('web'), Type.Literal('rpc')]),
    operation: Type.String(),
    status: Type.Integer(),
    durationMs: Type.Number(),
    method: Type.String(),
    path: Type.String({ description: 'Path and query, credentials in it redacted.' }),
    bytesReceived: Type.Integer(),
    bytesSent: Type.Integer(),
    user: Type.String(),
    client: Type.String(),
    requestId: Type.String(),
    throttled: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
  },
  { $id: 'TraceLine' },
)

const types: readonly TraceType[] = ['s3', 'admin', 'web', 'rpc']

export default defineAdminOperation({
  id: 'streamTrace',
  method: 'GET',
  path: '/trace',
  tag: 'monitoring',
  summary: 'Streams each request as it is answered, as server-sent events. Headers and bodies are never in it.',
  authorize: ['admin:ServerTrace'],
  query: Type.Object({
    type: Type.Optional(
      Type.String({
        pattern: '^(s3|admin|web|rpc)(,(s3|admin|web|rpc))*$',
        errorMessage: 'must be some of s3, admin, web and rpc, with commas between them',
        description: 'Only requests of these: `s3,admin,web,rpc`.',
      }),
    ),
    status: Type.Optional(
      Type.String({
        pattern: '^[1-5]([0-9][0-9]|xx)(,[1-5]([0-9][0-9]|xx)){0,20}$',
        errorMessage: 'must be statuses and classes with commas between them, as 5xx,403',
        description: 'Statuses and classes: `5xx,403`.',
      }),
    ),
    api: Type.Optional(Type.String({ description: 'Name of the operation; a trailing `*` matches any rest.' })),
    bucket: Type.Optional(Type.String({ description: 'Only requests for it.' })),
    node: Type.Optional(Type.String({ description: 'Only requests that this node answered.' })),
    errors: Type.Boolean({ default: false, description: 'Only status 400 and above.' }),
    minDurationMs: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Only requests that took at least as long.' }),
    ),
  }),
  events: { trace: TraceLine, dropped: StreamDropped },
  errors: ['too_many_requests'],
  uses: ['trace'],
  handle({ query }, { trace }) {
    if (query.node !== undefined && query.node !== hostname()) {
      throw adminErrors.invalid_argument(`query/node: this deployment has one node, ${hostname()}.`)
    }
    const wanted = query.type?.split(',')
    const filter: TraceFilter = {
      types: wanted === undefined ? undefined : types.filter(type => wanted.includes(type)),
      statuses: query.status?.split(','),
      operation: query.api,
      bucket: query.bucket,
      errors: query.errors,
      minDurationMs: query.minDurationMs,
    }
    return { open: sink => trace.subscribe(filter, line => sink.send('trace', line)) }
  },
})
