/**
 * Events to PostgreSQL: a table with a row for each object, or a table of all events. A batch is one transaction. The
 * server ends a statement after the same time as an attempt here, so that the statement of an aborted attempt does not wait for a lock
 * until the next attempt has committed.
 */

import type { AddressGuard } from 'svc/plugins/http-client/api'
import {
  createAttempts,
  type NotifyTarget,
  type NotifyTargetKind,
  PermanentDeliveryError,
  reasonOf,
} from 'svc/plugins/notify/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Place, parseConnectionString } from './connection-string.ts'
import type { Pool } from './pool.ts'
import { checkSettings, PostgresSettings, quoteTable } from './settings.ts'
import { createFormat, type Statement } from './tables.ts'

const batchMax = 100

const undefinedTable = '42P01'
/** Another client created the same table, with its type and its index, at the same time. */
const tableExists = new Set(['42P07', '42710', '23505'])

export function createPostgresKind(guard: AddressGuard): NotifyTargetKind<typeof PostgresSettings> {
  return {
    description: 'Events to PostgreSQL: a table of the present objects, or of all events.',
    settings: PostgresSettings,
    validate: settings => checkSettings(settings, guard),
    endpoint({ connection_string }) {
      const parsed = parseConnectionString(connection_string)
      return 'problem' in parsed ? 'postgresql' : parsed.endpoint
    },
    connect: settings => connectPostgres(settings, guard),
  }
}

export function connectPostgres(settings: PostgresSettings, guard: AddressGuard): NotifyTarget {
  const { max_open_connections: concurrency, timeout } = settings
  const [unusable] = checkSettings(settings, guard)
  if (unusable !== undefined) return createUnusable(unusable)
  const place = parseConnectionString(settings.connection_string) as Place
  const format = createFormat(settings.format, quoteTable(settings.table)!)
  const attempts = createAttempts(`PostgreSQL at ${place.host}:${place.port}`, timeout, () => import('./pool.ts'))
  let opened: Promise<Pool> | undefined

  let codeOf: (error: unknown) => string = () => ''

  /** The client library is loaded with the first use of a target, because few servers have one. */
  const makePool = async (): Promise<Pool> => {
    const client = await import('./pool.ts')
    codeOf = client.codeOf
    return client.createPool(place, { connectionsMax: concurrency, timeoutMs: timeout, guard })
  }

  const openPool = () => {
    opened ??= makePool().catch(error => {
      opened = undefined
      throw error
    })
    return opened
  }

  /** `end` is COMMIT, or ROLLBACK to leave nothing. */
  const transact = async (signal: AbortSignal, statements: readonly Statement[], end: 'COMMIT' | 'ROLLBACK') => {
    const pool = await openPool()
    await pool.use(signal, async client => {
      await client.query(
        `BEGIN; SET LOCAL statement_timeout = ${timeout}; SET LOCAL idle_in_transaction_session_timeout = ${timeout}`,
      )
      for (const { text, values } of statements) await client.query(text, [...values])
      // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK.
      const { command } = await client.query(end)
      if (command !== end) throw new Error(`it answers ${command} to ${end}`)
    })
  }

  const create: Statement = { text: format.create, values: [] }

  const write = async (signal: AbortSignal, statements: readonly Statement[]) => {
    try {
      await transact(signal, statements, 'COMMIT')
    } catch (error) {
      if (codeOf(error) !== undefinedTable) throw error
      await transact(signal, [create], 'COMMIT').catch(refusal => {
        if (!tableExists.has(codeOf(refusal))) throw refusal
      })
      await transact(signal, statements, 'COMMIT')
    }
  }

  /** Executes the statements and rolls them back; a table that it creates is rolled back, too. */
  const check = async (signal: AbortSignal) => {
    try {
      await transact(signal, format.write([]), 'ROLLBACK')
    } catch (error) {
      if (codeOf(error) !== undefinedTable) throw error
      await transact(signal, [create, ...format.write([])], 'ROLLBACK')
    }
  }

  const attempt = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) =>
    attempts.run(signal, limited =>
      work(limited).catch(error => {
        throw explain(error, codeOf(error), place, settings)
      }),
    )

  return {
    batchMax,
    concurrency,
    send: (messages, signal) => attempt(signal, limited => write(limited, format.write(messages))),
    test: (body, signal) =>
      attempt(signal, limited => (format.writeTest ? write(limited, [format.writeTest(body)]) : check(limited))),
    async close() {
      attempts.close()
      const pool = opened
      opened = undefined
      // A pool that could not be created needs no close.
      await pool?.then(
        made => made.close(),
        () => undefined,
      )
    },
  }
}

/** A disabled target may be tested before its settings are complete. */
function createUnusable({ key, problem }: SettingsProblem): NotifyTarget {
  const refuse = () => Promise.reject(new Error(`The settings cannot be used: ${key} ${problem}.`))
  return { send: refuse, test: refuse, close: () => Promise.resolve() }
}

/** The error of PostgreSQL as advice for operators, without its details, which quote stored values. */
function explain(error: unknown, code: string, { host, port, password }: Place, { table }: PostgresSettings): Error {
  let reason = reasonOf(error, [password])
  // Whoever sets the address learns of no path whether it is a file.
  if (host.startsWith('/') && error instanceof Error && 'syscall' in error) reason = 'it cannot be reached'
  else if (code === '42P10')
    reason = `the column "key" of ${JSON.stringify(table)} needs a primary key or a unique constraint`
  else if (code === '57014') reason = 'the statement took too long, or waited for a lock for too long'
  else if (reason.includes('does not support SSL')) reason = 'it does not encrypt; sslmode=disable would allow that'
  const message = `PostgreSQL at ${host}:${port}: ${reason}${code === '' ? '' : ` (${code})`}`
  // Class 22 concerns the data itself, such as NUL, which no text of PostgreSQL may contain.
  return code.startsWith('22') ? new PermanentDeliveryError(message) : new Error(message)
}
