/**
 * A real PostgreSQL, on a random port of the loopback interface, in its own folder, ended by its process ids. It refuses to run as root.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 90_000
const programs = findPrograms()

// If the runner ends the test process, the service must end, too.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** Why tests that need it are skipped; false if it is installed. */
export const skip = findSkip()

/** Debian keeps the programs of a server in a folder for each version. */
function findPrograms(): string | undefined {
  try {
    const [version] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a))
    return version && join('/usr/lib/postgresql', version, 'bin')
  } catch {
    return undefined
  }
}

function findSkip(): string | false {
  const hasOpenssl = spawnSync('which', ['openssl']).status === 0
  if ((programs === undefined || !hasOpenssl) && process.env.CI) {
    throw new Error('postgresql or openssl is not installed, and CI is set')
  }
  return (programs === undefined || !hasOpenssl) && 'postgresql or openssl is not installed'
}

export interface PostgresServer {
  readonly port: number
  readonly password: string
  /** The server's certificate, which is also its authority. */
  readonly certificate: string
  url(options?: { user?: string; password?: string; query?: string; host?: string }): string
  /** As the owner of the database. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into rows
  query(text: string, values?: unknown[]): Promise<any[]>
  start(): Promise<void>
  stop(): Promise<void>
  hang(): Promise<void>
  resume(): void
}

export async function startPostgres(t: Test): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  const isRoot = process.getuid!() === 0
  const idOf = (kind: string) => Number(spawnSync('id', [kind, 'postgres'], { encoding: 'utf8' }).stdout)
  const owner = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  const own = (path: string) => isRoot && chownSync(path, owner.uid!, owner.gid!)
  own(folder)
  const data = join(folder, 'data')
  const password = 's3cret-of-postgres'
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  own(passwordFile)
  const run = (program: string, parameters: readonly string[]) => {
    const { status, stderr } = spawnSync(program, parameters, { ...owner, cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${program}: ${stderr}`)
  }
  const initialize = ['-D', data, '-A', 'scram-sha-256', '-U', 'svc', `--pwfile=${passwordFile}`, '-N', '-E', 'UTF8']
  run(join(programs!, 'initdb'), [...initialize, '--locale=C'])
  const certificate = join(data, 'server.crt')
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=postgres']
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1']
  run('openssl', [...request, ...names, '-keyout', join(data, 'server.key'), '-out', certificate])
  chmodSync(join(data, 'server.key'), 0o600)
  appendFileSync(join(data, 'postgresql.conf'), 'ssl = on\nfsync = off\nmax_connections = 30\n')

  const port = await findLastingPort()
  const listen = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
  let child: ChildProcess | undefined
  const kill = () => signal('SIGKILL')
  process.on('exit', kill)
  const signal = (name: NodeJS.Signals) => {
    for (const pid of child === undefined ? [] : [child.pid!, ...childrenOf(child.pid!)]) {
      try {
        process.kill(pid, name)
      } catch {
        // It has already ended.
      }
    }
  }
  const server: PostgresServer = {
    port,
    password,
    certificate,
    url({ user = 'svc', password: shown = password, query = '', host = '127.0.0.1' } = {}) {
      return `postgresql://${user}:${encodeURIComponent(shown)}@${host}:${port}/postgres${query}`
    },
    async query(text, values = []) {
      const client = new pg.Client({ connectionString: server.url() })
      client.on('error', () => undefined)
      await client.connect()
      try {
        return (await client.query(text, values)).rows
      } finally {
        await client.end()
      }
    },
    async start() {
      const deadlineMs = performance.now() + startDeadlineMs
      while (performance.now() < deadlineMs) {
        // The server fails to start while a process of the former one uses its folder.
        if (child === undefined || child.exitCode !== null) {
          child = spawn(join(programs!, 'postgres'), ['-D', data, ...listen], {
            ...owner,
            cwd: folder,
            stdio: 'ignore',
          })
        }
        const isReady = await server.query('SELECT 1').then(
          () => true,
          () => false,
        )
        if (isReady) return
        await sleep(50)
      }
      throw new Error(`PostgreSQL did not answer within ${startDeadlineMs} ms`)
    },
    async stop() {
      if (child === undefined) return
      const ended = new Promise(done => child!.once('exit', done))
      signal('SIGCONT')
      // Immediate mode: connections are cut, and the next start recovers committed data.
      child.kill('SIGQUIT')
      await ended
      child = undefined
    },
    hang: () => hangProcesses(child === undefined ? [] : [child.pid!, ...childrenOf(child.pid!)]),
    resume: () => signal('SIGCONT'),
  }
  t.teardown(async () => {
    await server.stop()
    process.off('exit', kill)
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  await server.start()
  return server
}

/** Each connection has its own process. */
function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    // It has already ended.
    return []
  }
}
