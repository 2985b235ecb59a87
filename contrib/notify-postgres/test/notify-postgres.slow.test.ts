/** Against a real PostgreSQL: the contract in both formats, tables, permissions, TLS, locks, and services that misbehave. */
import { createServer, type Socket } from 'node:net'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { guardedClientContract } from 'svc/plugins/http-client/contract'
import { type NotifyTarget, PermanentDeliveryError } from 'svc/plugins/notify/api'
import { notifyTargetContract, testBody, testMessage } from 'svc/plugins/notify/contract'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { parseConnectionString } from '../connection-string.ts'
import { checkSettings, PostgresSettings, quoteTable } from '../settings.ts'
import { connectPostgres, createPostgresKind } from '../target.ts'
import { type PostgresServer, skip, startPostgres } from './postgres-server.ts'

const noSignal = new AbortController().signal
const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
let server: PostgresServer
if (!skip) server = await startPostgres(t)
let names = 0

const complete = (settings: Partial<PostgresSettings>) =>
  Value.Default(PostgresSettings, { ...settings }) as PostgresSettings

function connect(t: Test, settings: Partial<PostgresSettings>): NotifyTarget {
  const target = connectPostgres(complete({ connection_string: server?.url(), timeout: 20_000, ...settings }), guard)
  t.teardown(() => target.close())
  return target
}

for (const format of ['namespace', 'access'] as const) {
  t.test(`the contract, ${format}`, { skip }, t =>
    notifyTargetContract(t, async () => {
      server.resume()
      await server.stop()
      await server.start()
      const table = `${format}_${names++}`
      return {
        kind: createPostgresKind(guard),
        settings: { connection_string: server.url(), table, format, timeout: 1500, max_open_connections: 3 },
        secrets: [server.password, 'wrong-password'],
        refusedSettings: { connection_string: server.url({ password: 'wrong-password' }) },
        timeoutMs: 1500,
        isTable: format === 'namespace',
        async received() {
          const [{ found }] = await server.query('SELECT to_regclass($1) AS found', [table])
          if (found === null) return []
          if (format === 'namespace') {
            return (await server.query(`SELECT value FROM ${table}`)).map(({ value }) => value.Records[0])
          }
          const rows = await server.query(`SELECT event_data FROM ${table}`)
          return rows.map(({ event_data: event }) => event.Records?.[0] ?? event)
        },
        stop: () => server.stop(),
        start: () => server.start(),
        hang: async () => server.hang(),
        resume: async () => server.resume(),
      }
    }),
  )
}

t.test('stored rows', { skip }, async t => {
  const put = testMessage({ key: 'a b.jpg' })
  const removal = testMessage({ key: 'a b.jpg', name: 'ObjectRemoved:Delete' })
  const other = testMessage({ key: 'other' })
  const objects = connect(t, { table: 'objects' })
  await objects.send([put, removal, testMessage({ key: 'other' }), other, put], noSignal)
  t.same(await server.query('SELECT key, value FROM objects ORDER BY key'), [
    { key: 'photos/a b.jpg', value: { Records: [put.record] } },
    { key: 'photos/other', value: { Records: [other.record] } },
  ])
  await objects.send([put, removal], noSignal)
  t.same(await server.query('SELECT key FROM objects'), [{ key: 'photos/other' }])

  const events = connect(t, { table: 'public.Events', format: 'access' })
  await events.send([put, removal], noSignal)
  t.same(
    await server.query('SELECT event_time, event_data FROM "Events"'),
    [put, removal].map(({ eventTime, record }) => ({
      event_time: new Date(eventTime),
      event_data: { Records: [record] },
    })),
  )
  const body = testBody('id-1')
  await events.test(body, noSignal)
  t.same(await server.query(`SELECT event_data FROM "Events" WHERE event_data ->> 'RequestId' = 'id-1'`), [
    { event_data: JSON.parse(body.toString()) },
  ])
  const columns = await server.query(
    `SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
     WHERE table_name IN ('objects', 'Events') ORDER BY table_name, ordinal_position`,
  )
  t.same(columns.map(Object.values), [
    ['Events', 'event_time', 'timestamp with time zone', 'NO'],
    ['Events', 'event_data', 'jsonb', 'YES'],
    ['objects', 'key', 'character varying', 'NO'],
    ['objects', 'value', 'jsonb', 'YES'],
  ])
})

t.test('a dropped table is created again; the name of a table cannot change the statement', { skip }, async t => {
  const name = `od'd; DROP TABLE x --`
  const target = connect(t, { table: name })
  await Promise.all([
    target.send([testMessage({ key: 'a' })], noSignal),
    connect(t, { table: name }).send([testMessage({ key: 'b' })], noSignal),
  ])
  t.same(await server.query(`SELECT count(*)::int FROM "${name}"`), [{ count: 2 }], 'made by two at the same time')
  await server.query(`DROP TABLE "${name}"`)
  await target.send([testMessage()], noSignal)
  t.same(await server.query(`SELECT count(*)::int FROM "${name}"`), [{ count: 1 }])
})

t.test('a test of a table of objects checks that it can be written, and leaves nothing', { skip }, async t => {
  const test = (table: string) => connect(t, { table }).test(testBody('x'), noSignal)
  await test('not_there_yet')
  t.same(await server.query(`SELECT to_regclass('not_there_yet') AS found`), [{ found: null }])
  await server.query('CREATE TABLE without_key (key VARCHAR, value JSONB)')
  await server.query('CREATE TABLE of_numbers (key VARCHAR PRIMARY KEY, value INT)')
  await server.query('CREATE TABLE without_value (key VARCHAR PRIMARY KEY)')
  await t.rejects(test('without_key'), { message: /column "key" of "without_key" needs a primary key/ })
  await t.rejects(test('of_numbers'), { message: /column "value" is of type integer/ })
  await t.rejects(test('without_value'), { message: /column "value" of relation "without_value" does not exist/ })
  await t.rejects(test('nowhere.table'), { message: /schema "nowhere" does not exist/ })
  await t.rejects(connect(t, { table: 'of_numbers' }).send([testMessage()], noSignal), { message: /type integer/ })
  await server.query('ALTER TABLE without_key ADD PRIMARY KEY (key)')
  await test('without_key')
  t.same(await server.query('SELECT * FROM without_key'), [])
})

t.test('a user with only the permissions in the README', { skip }, async t => {
  await server.query(`CREATE ROLE events LOGIN PASSWORD 'secret-of-events'`)
  await server.query('CREATE TABLE granted (key VARCHAR PRIMARY KEY, value JSONB)')
  await server.query('GRANT SELECT, INSERT, UPDATE, DELETE ON granted TO events')
  await server.query('CREATE TABLE refused (key VARCHAR PRIMARY KEY, value JSONB)')
  const connection_string = server.url({ user: 'events', password: 'secret-of-events' })
  const granted = connect(t, { connection_string, table: 'granted' })
  await granted.test(testBody('x'), noSignal)
  await granted.send([testMessage(), testMessage({ key: 'x', name: 'ObjectRemoved:Delete' })], noSignal)
  await t.rejects(connect(t, { connection_string, table: 'refused' }).test(testBody('x'), noSignal), {
    message: /permission denied for table refused/,
  })
  await t.rejects(connect(t, { connection_string, table: 'unmade' }).send([testMessage()], noSignal), {
    message: /permission denied for schema public/,
  })
})

t.test('TLS by the connection string: verified by default', { skip }, async t => {
  const send = (query: string, host?: string) =>
    connect(t, { table: 'tls', connection_string: server.url({ query, host }) }).send([testMessage()], noSignal)
  const trusted = `sslrootcert=${server.certificate}`
  const encrypted = () =>
    server.query('SELECT count(*)::int FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl')
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    await send(`?sslmode=${mode}&${trusted}`)
    await t.rejects(send(`?sslmode=${mode}`), { message: /self-signed certificate/ }, mode)
  }
  t.same(await encrypted(), [{ count: 3 }])
  await t.rejects(send(`?sslmode=verify-full&${trusted}`, 'localhost'), { message: /altnames/ }, 'of another name')
  await send('?sslmode=no-verify')
  await send('?sslmode=disable')
  await send('')
  t.same(await encrypted(), [{ count: 4 }])
  await t.rejects(send('?sslmode=require&sslrootcert=/nowhere.pem'), {
    message: /the file of the authorities cannot be read, or holds no PEM certificate/,
  })
  await server.query('ALTER SYSTEM SET ssl = off')
  await server.query('SELECT pg_reload_conf()')
  await t.rejects(send('?sslmode=require'), { message: /does not encrypt; sslmode=disable/ })
})

t.test('waiting for a lock is an error in time, and nothing is written later', { skip }, async t => {
  const target = connect(t, { table: 'locked' })
  await target.send([testMessage({ key: 'first' })], noSignal)
  const hasty = connect(t, { table: 'locked', timeout: 500 })
  const { default: pg } = await import('pg')
  const holder = new pg.Client({ connectionString: server.url() })
  await holder.connect()
  await holder.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE')
  await t.rejects(hasty.send([testMessage({ key: 'late' })], noSignal), {
    message: /(within 500 ms|waited for a lock)/,
  })
  await new Promise(done => setTimeout(done, 700))
  await holder.query('COMMIT')
  await holder.end()
  t.same(await server.query('SELECT key FROM locked'), [{ key: 'photos/first' }])
  await target.send([testMessage({ key: 'next' })], noSignal)
})

t.test(
  'what PostgreSQL can never store becomes a dead letter, and nothing else of its batch is lost',
  { skip },
  async t => {
    const target = connect(t, { table: 'data' })
    const never = testMessage({ key: 'with\0nothing' })
    const fine = testMessage({ key: 'fine' })
    await t.rejects(target.send([fine, never], noSignal), PermanentDeliveryError)
    await target.send([fine], noSignal)
    await t.rejects(target.send([never], noSignal), { message: /invalid byte sequence/ })
    t.same(await server.query('SELECT key FROM data'), [{ key: 'photos/fine' }])
  },
)

t.test('connections: at most the maximum, and one that the server ends is replaced', { skip }, async t => {
  const target = connect(t, { table: 'many', max_open_connections: 2 })
  const count = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'svc'`
  const others = (await server.query(count))[0].count
  await Promise.all(Array.from({ length: 10 }, (_, i) => target.send([testMessage({ key: `${i}` })], noSignal)))
  t.ok((await server.query(count))[0].count - others <= 2)
  await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc'`)
  await new Promise(done => setTimeout(done, 100))
  await target.send([testMessage({ key: 'again' })], noSignal)
  t.same(await server.query('SELECT count(*)::int FROM many'), [{ count: 11 }])
})

t.test('a server that is killed while it answers', { skip }, async t => {
  const target = connect(t, { table: 'killed' })
  for (let round = 0; round < 3; round++) {
    await target.send([testMessage({ key: `before-${round}` })], noSignal)
    const many = Array.from({ length: 100 }, (_, i) => testMessage({ key: `many-${i}` }))
    const sending = target.send(many, noSignal).then(
      () => 'done',
      (error: Error) => error.message,
    )
    await server.stop()
    t.match(await sending, /^(done|PostgreSQL at .*)$/)
    await t.rejects(target.send([testMessage()], noSignal), { message: /^PostgreSQL at/ })
    await server.start()
    await target.send([testMessage({ key: `after-${round}` })], noSignal)
  }
  t.same(await server.query(`SELECT key FROM killed WHERE key = 'photos/after-2'`), [{ key: 'photos/after-2' }])
})

t.test('services that do not speak the protocol, or disconnect, give an error in time', async t => {
  const packet = (type: string, ...bytes: number[]) =>
    Buffer.from([type.charCodeAt(0), 0, 0, 0, bytes.length + 4, ...bytes])
  const welcome = Buffer.concat([packet('R', 0, 0, 0, 0), packet('Z', 73)])
  const answers: Readonly<Record<string, (socket: Socket, count: number) => void>> = {
    'the answer of a web server': socket => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    'an authentication that nobody knows': socket => socket.write(packet('R', 0, 0, 0, 99)),
    'a packet that is cut off': socket => socket.write(packet('R', 0)),
    'rows before any question': socket => socket.write(Buffer.concat([welcome, packet('D', 0, 0), packet('T', 0, 0)])),
    'welcome, then rubbish': (socket, count) =>
      socket.write(count === 1 ? welcome : Buffer.from([255, 0, 0, 0, 5, 1, 82])),
    'always welcome': socket => socket.write(welcome),
    'an error without words': socket => socket.write(packet('E', 0)),
    'the end at once': socket => socket.destroy(),
    nothing: () => undefined,
  }
  for (const [name, answer] of Object.entries(answers)) {
    const fake = createServer(socket => {
      let count = 0
      socket.on('error', () => undefined).on('data', () => answer(socket, ++count))
    })
    await new Promise<void>(done => fake.listen(0, '127.0.0.1', done))
    const { port } = fake.address() as { port: number }
    const connection_string = `postgresql://svc:secret-of-nobody@127.0.0.1:${port}/db`
    for (const query of ['', '?sslmode=require']) {
      const target = connect(t, { connection_string: connection_string + query, table: 'x', timeout: 300 })
      const sent = target.send([testMessage(), testMessage({ key: 'b' })], noSignal)
      await t.rejects(sent, { message: /^(?!.*secret-of)PostgreSQL at/ }, `${name} ${query}`)
      await t.rejects(target.test(testBody('x'), noSignal), { message: /^PostgreSQL at/ }, `${name} ${query}`)
      await target.close()
    }
    await new Promise(done => fake.close(done))
    t.pass(`${name}: no connection is left`)
  }
})

t.test('allowed addresses', t =>
  guardedClientContract(t, async () => ({
    async attempt(guard, host, port) {
      const connection_string = `postgresql://u@${host}:${port}/d?sslmode=disable`
      const target = connectPostgres(complete({ connection_string, table: 'x', timeout: 1000 }), guard)
      try {
        await target.send([testMessage()], noSignal)
      } finally {
        await target.close()
      }
    },
  })),
)

t.test('a socket in the file system that cannot be used is one sentence, whatever is there', async t => {
  const reasons = await Promise.all(
    ['/etc/passwd', '/etc/nowhere'].map(async host => {
      const connection_string = `postgresql://u:p@${encodeURIComponent(host)}/d`
      const target = connectPostgres(complete({ connection_string, table: 'x', timeout: 1000 }), guard)
      try {
        await target.send([testMessage()], noSignal)
        return 'it was sent'
      } catch (error) {
        return (error as Error).message.replace(host, 'PATH')
      } finally {
        await target.close()
      }
    }),
  )
  t.same(reasons, Array(2).fill('PostgreSQL at PATH:5432: it cannot be reached'))
})

t.test('settings', async t => {
  const problemsOf = (settings: Partial<PostgresSettings>) =>
    checkSettings(complete(settings), guard).map(({ key }) => key)
  t.same(problemsOf({}), ['connection_string', 'table'])
  t.same(problemsOf({ connection_string: 'postgres://u:p@h/d', table: 'a.b' }), [])
  t.same(problemsOf({ connection_string: 'postgres://u:p@169.254.169.254/d', table: 'a' }), ['connection_string'])
  for (const wrong of ['', 'a.b.c', '.a', 'a.', 'a"b', 'a\0b', 'ä'.repeat(32)])
    t.equal(quoteTable(wrong), undefined, wrong)
  t.equal(quoteTable('my.Table x'), '"my"."Table x"')
  const base = 'postgresql://user:secret-of-user@db.example:6000/events'
  for (const wrong of [
    'host=db user=u password=secret-of-user',
    'mysql://u:secret-of-user@h/d',
    'postgresql://h/d',
    'postgresql://u:secret-of-user@h',
    `${base}?sslmode=allow`,
    `${base}?sslmode=prefer`,
    `${base}?options=-c`,
    `${base}?sslcert=/x`,
    'postgresql://u:%zz@h/d',
  ]) {
    const parsed = parseConnectionString(wrong)
    t.ok('problem' in parsed && !parsed.problem.includes('secret-of'), wrong)
  }
  t.match(parseConnectionString(`${base}?sslmode=no-verify`), { port: 6000, tls: { isVerified: false } })
  t.match(parseConnectionString(base), { tls: { isVerified: true } }, 'another machine: verified without a word')
  t.match(parseConnectionString('postgresql://u:a%2Fb@[::1]/my%20db'), {
    host: '::1',
    port: 5432,
    password: 'a/b',
    database: 'my db',
    tls: undefined,
    endpoint: 'postgresql://[::1]:5432/my db',
  })
  t.match(parseConnectionString('postgresql://u@localhost/d?host=/run/postgresql'), {
    host: '/run/postgresql',
    tls: undefined,
  })
  t.equal(
    createPostgresKind(guard).endpoint(complete({ connection_string: base })),
    'postgresql://db.example:6000/events',
  )
  const unusable = connect(t, { connection_string: 'nonsense' })
  await t.rejects(unusable.send([testMessage()], noSignal), { message: /cannot be used/ })
})
