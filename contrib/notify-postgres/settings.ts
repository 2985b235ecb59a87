import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'
import { parseConnectionString } from './connection-string.ts'

export const PostgresSettings = Type.Object({
  connection_string: Type.String({
    default: '',
    secret: true,
    destination: true,
    description: 'URL of the database: `postgresql://user:password@host:5432/database?sslmode=verify-full`. Required.',
  }),
  table: Type.String({
    default: '',
    description: 'Table of the events, or `schema.table`. Created if missing. Required.',
  }),
  format: Type.Union([Type.Literal('namespace'), Type.Literal('access')], {
    default: 'namespace',
    description: '`namespace` keeps a row for each object; `access` adds a row for every event.',
  }),
  max_open_connections: Type.Integer({
    default: 2,
    minimum: 1,
    maximum: 64,
    description: 'Maximum number of connections.',
  }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 60_000,
    format: 'duration',
    description: 'Maximum time of one delivery, including the connection, and of each statement on the server.',
  }),
})

export type PostgresSettings = Static<typeof PostgresSettings>

/** Longer names are cut off by PostgreSQL, silently. */
const identifierBytesMax = 63

/** The quoted name for SQL, safe from injection. Undefined when it cannot be a name. */
export function quoteTable(table: string): string | undefined {
  const parts = table.split('.')
  const isName = (part: string) =>
    part !== '' && Buffer.byteLength(part) <= identifierBytesMax && !/[\p{Cc}"]/u.test(part)
  return parts.length <= 2 && parts.every(isName) ? parts.map(part => `"${part}"`).join('.') : undefined
}

export function checkSettings(settings: PostgresSettings, guard: AddressGuard): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const parsed = parseConnectionString(settings.connection_string)
  const problem = 'problem' in parsed ? parsed.problem : guard.problem(parsed.host)
  if (problem !== undefined) problems.push({ key: 'connection_string', problem })
  if (quoteTable(settings.table) === undefined) {
    const problem = `must be a name or schema.name, each of at most ${identifierBytesMax} bytes and without quotes`
    problems.push({ key: 'table', problem })
  }
  return problems
}
