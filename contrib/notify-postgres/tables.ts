/**
 * The rows, in two formats. Source: MinIO, "Publish events to PostgreSQL". A batch of any size is one statement of each kind; in
 * `namespace` only the last event of each key counts.
 */
import type { NotifyMessage } from 'svc/plugins/notify/api'
import type { PostgresSettings } from './settings.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly (readonly string[])[]
}

export interface TableFormat {
  /** SQL. Does nothing when the table exists. */
  readonly create: string
  /** The statements that write the messages; without messages, the same statements writing no row. */
  write(messages: readonly NotifyMessage[]): readonly Statement[]
  /** Undefined: no test message is stored. */
  writeTest?(body: Buffer): Statement
}

/** `table` is quoted. */
export function createFormat(format: PostgresSettings['format'], table: string): TableFormat {
  return format === 'namespace' ? createNamespace(table) : createAccess(table)
}

function createNamespace(table: string): TableFormat {
  const upsert = `INSERT INTO ${table} (key, value)
    SELECT entry.key, entry.value::jsonb FROM unnest($1::text[], $2::text[]) AS entry (key, value)
    ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`
  const remove = `DELETE FROM ${table} WHERE key = ANY ($1::text[])`
  return {
    create: `CREATE TABLE IF NOT EXISTS ${table} (key VARCHAR PRIMARY KEY, value JSONB)`,
    write(messages) {
      const last = new Map(messages.map(message => [`${message.bucket}/${message.key}`, message]))
      const removed: string[] = []
      const keys: string[] = []
      const values: string[] = []
      for (const [key, { isRemoval, record }] of last) {
        if (isRemoval) {
          removed.push(key)
        } else {
          keys.push(key)
          values.push(JSON.stringify({ Records: [record] }))
        }
      }
      const statements: Statement[] = []
      if (keys.length > 0 || messages.length === 0) statements.push({ text: upsert, values: [keys, values] })
      if (removed.length > 0 || messages.length === 0) statements.push({ text: remove, values: [removed] })
      return statements
    },
  }
}

function createAccess(table: string): TableFormat {
  const insert = (times: readonly string[], events: readonly string[]): Statement => ({
    text: `INSERT INTO ${table} (event_time, event_data)
      SELECT entry.event_time::timestamptz, entry.event_data::jsonb
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS entry (event_time, event_data, number) ORDER BY number`,
    values: [times, events],
  })
  return {
    create: `CREATE TABLE IF NOT EXISTS ${table} (event_time TIMESTAMPTZ NOT NULL, event_data JSONB)`,
    write: messages => [
      insert(
        messages.map(({ eventTime }) => eventTime),
        messages.map(({ record }) => JSON.stringify({ Records: [record] })),
      ),
    ],
    writeTest(body) {
      const text = body.toString()
      return insert([JSON.parse(text).Time], [text])
    },
  }
}
