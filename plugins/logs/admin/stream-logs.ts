import { hostname } from 'node:os'
import { adminErrors, defineAdminOperation, StreamDropped } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { logLevels } from '../api.ts'

const level = () => Type.Enum([...logLevels])

const LogLine = Type.Object(
  {
    time: Type.String({ format: 'date-time' }),
    node: Type.String(),
    level: level(),
    component: Type.String({ description: 'The plugin that wrote it; `kernel` where none did.' }),
    msg: Type.String(),
    requestId: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
  },
  { $id: 'LogLine', additionalProperties: true },
)

export default defineAdminOperation({
  id: 'streamLogs',
  method: 'GET',
  path: '/logs',
  tag: 'monitoring',
  summary: 'Streams the log of the server as server-sent events: its last lines, then each that is written.',
  authorize: ['admin:ConsoleLog'],
  query: Type.Object({
    level: Type.Optional(Type.Enum([...logLevels], { description: 'Only lines of this level and above.' })),
    component: Type.Optional(Type.String({ description: 'Name of a plugin; `audit` for audit records.' })),
    audit: Type.Boolean({ default: true, description: 'False leaves out audit records: each request has one.' }),
    node: Type.Optional(Type.String({ description: 'Only lines of this node.' })),
    last: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 100,
      description: 'How many of the lines that have been written come first.',
    }),
  }),
  events: { log: LogLine, dropped: StreamDropped },
  errors: ['too_many_requests'],
  uses: ['logs'],
  handle({ query }, { logs }) {
    if (query.node !== undefined && query.node !== hostname()) {
      throw adminErrors.invalid_argument(`query/node: this deployment has one node, ${hostname()}.`)
    }
    const { level, component, audit, last } = query
    return { open: sink => logs.subscribe({ level, component, audit }, last, line => sink.send('log', line)) }
  },
})
