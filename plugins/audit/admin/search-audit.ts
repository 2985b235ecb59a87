import { parseDuration } from 'svc/kernel'
import { adminErrors, decodeCursor, defineAdminOperation, encodeCursor, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type { AuditSearch } from '../api.ts'

const AuditRecord = Type.Object(
  {
    version: Type.Literal('1'),
    time: Type.String({ format: 'date-time' }),
    event_time: Type.String({ format: 'date-time' }),
    node: Type.String(),
    requestId: Type.String(),
    type: Type.Union([Type.Literal('s3'), Type.Literal('admin'), Type.Literal('web')]),
    api: Type.String(),
    bucket: Type.Optional(Type.String()),
    object: Type.Optional(Type.String()),
    versionId: Type.Optional(Type.String()),
    identity: Type.Object({
      accessKey: Type.String(),
      user: Type.String(),
      type: Type.Union([
        Type.Literal('root'),
        Type.Literal('user'),
        Type.Literal('access-key'),
        Type.Literal('share'),
        Type.Literal('anonymous'),
      ]),
    }),
    clientIp: Type.String(),
    userAgent: Type.String(),
    method: Type.String(),
    path: Type.String(),
    query: Type.Record(Type.String(), Type.String()),
    status: Type.Integer(),
    errorCode: Type.Optional(Type.String()),
    latencyMs: Type.Number(),
    bytesReceived: Type.Integer(),
    bytesSent: Type.Integer(),
    tags: Type.Record(Type.String(), Type.String()),
  },
  { $id: 'AuditRecord' },
)

const statusPattern = '^[1-5]([0-9][0-9]|xx)(,[1-5]([0-9][0-9]|xx)){0,20}$'

const AuditQuery = Type.Object({
  user: Type.Optional(Type.String({ description: 'Access key, or name of the user.' })),
  action: Type.Optional(
    Type.String({
      description:
        'Name of the operation, whatever its case: `DeleteObjects` of S3, `deleteObjects` of this API. A trailing `*` matches any rest.',
    }),
  ),
  bucket: Type.Optional(Type.String({ description: 'Only requests for it.' })),
  since: Type.Optional(Type.String({ description: 'A date, or a duration before now: `2h`.' })),
  until: Type.Optional(Type.String({ description: 'A date, or a duration before now.' })),
  errors: Type.Boolean({ default: false, description: 'Only status 400 and above.' }),
  changes: Type.Boolean({
    default: false,
    description:
      'Leaves out what changed nothing and was not refused with 401 or 403: GET, HEAD and OPTIONS, validations, simulations, archives, dry runs.',
  }),
  status: Type.Optional(
    Type.String({
      pattern: statusPattern,
      errorMessage: 'must be statuses and classes with commas between them, as 5xx,403',
      description: 'Statuses and classes: `5xx,403`.',
    }),
  ),
  requestId: Type.Optional(
    Type.String({ description: 'Only this request: the header x-amz-request-id or x-request-id.' }),
  ),
  node: Type.Optional(Type.String({ description: 'Only requests that this node answered.' })),
  ...pageParameters,
})

export default defineAdminOperation({
  id: 'searchAudit',
  method: 'GET',
  path: '/audit',
  tag: 'monitoring',
  summary: 'Searches the last audit records of the node, newest first.',
  authorize: ['admin:AuditLog'],
  query: AuditQuery,
  response: Type.Object({
    items: Type.Array(AuditRecord),
    nextCursor: Type.String({ description: 'Empty on the last page.' }),
    oldest: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'Time of the oldest record in memory; null if there are none.',
    }),
  }),
  uses: ['audit', 'ports'],
  async handle({ query }, { audit, ports: { clock } }) {
    const { cursor, status, since, until, ...wanted } = query
    const nowMs = clock.now()
    const { items, isMore, oldest } = await audit.search({
      ...wanted,
      since: timeOf('since', since, nowMs),
      until: timeOf('until', until, nowMs),
      statuses: status?.split(','),
      after: readCursor(cursor),
    })
    const last = items.at(-1)
    const position = isMore && last !== undefined ? `${last.time} ${last.requestId}` : undefined
    return { items: [...items], nextCursor: encodeCursor(position), oldest: oldest ?? null }
  },
})

/** The last record of the page before; newer records come in front of it. */
function readCursor(cursor: string): AuditSearch['after'] {
  const position = decodeCursor(cursor)
  if (position === undefined) return undefined
  const [time, requestId, ...rest] = position.split(' ')
  if (requestId === undefined || rest.length > 0 || Number.isNaN(Date.parse(time))) {
    throw adminErrors.invalid_argument('The cursor was not returned by a list.')
  }
  return { time, requestId }
}

/** ISO 8601 as in the records, whose texts compare like their times. */
function timeOf(name: string, text: string | undefined, nowMs: number): string | undefined {
  if (text === undefined) return undefined
  const dateMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  const timeMs = Number.isNaN(dateMs) ? nowMs - durationOf(text) : dateMs
  const date = new Date(timeMs)
  if (Number.isNaN(date.getTime()))
    throw adminErrors.invalid_argument(`query/${name} is neither a date nor a duration.`)
  return date.toISOString()
}

function durationOf(text: string): number {
  try {
    return parseDuration(text)
  } catch {
    // Neither a date nor a duration.
    return Number.NaN
  }
}
