/** A real RabbitMQ, on random ports of the loopback interface, in its own folder, ended by its process ids. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import amqp, { type ChannelModel } from 'amqplib'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

/** Not the one in /usr/sbin, which changes to another user. */
const program = '/usr/lib/rabbitmq/bin/rabbitmq-server'
const control = '/usr/lib/rabbitmq/bin/rabbitmqctl'
const startDeadlineMs = 90_000

// If the runner ends the test process, the service must end, too.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** Why tests that need it are skipped; false if it is installed. */
export const skip = findSkip()

function findSkip(): string | false {
  const isThere = existsSync(program) && ['epmd', 'openssl'].every(name => spawnSync('which', [name]).status === 0)
  if (!isThere && process.env.CI) throw new Error('rabbitmq-server or openssl is not installed, and CI is set')
  return !isThere && 'rabbitmq-server or openssl is not installed'
}

export interface RabbitMq {
  readonly host: string
  readonly tlsHost: string
  readonly password: string
  /** PEM file of the certificate, which is also its authority. */
  readonly certificate: string
  readonly url: string
  /** rabbitmqctl. */
  control(...command: readonly string[]): void
  open(): Promise<ChannelModel>
  start(): Promise<void>
  stop(): Promise<void>
  hang(): Promise<void>
  resume(): void
}

export async function startRabbitMq(t: Test): Promise<RabbitMq> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-rabbitmq-'))
  const [port, tlsPort, distributionPort, mapperPort] = [
    await findLastingPort(),
    await findLastingPort(),
    await findLastingPort(),
    await findLastingPort(),
  ]
  const password = 's3cret-of-rabbit'
  const certificate = join(folder, 'server.crt')
  const key = join(folder, 'server.key')
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=rabbitmq']
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate]
  const { status, stderr } = spawnSync('openssl', [...request, ...names], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl: ${stderr}`)
  for (const name of ['mnesia', 'log', 'gen', 'schema']) await mkdir(join(folder, name))
  const lines = [
    `listeners.tcp.local = 127.0.0.1:${port}`,
    `listeners.ssl.local = 127.0.0.1:${tlsPort}`,
    `ssl_options.certfile = ${certificate}`,
    `ssl_options.keyfile = ${key}`,
    'default_user = svc',
    `default_pass = ${password}`,
    'loopback_users.guest = true',
  ]
  await writeFile(join(folder, 'rabbitmq.conf'), lines.join('\n'))
  await writeFile(join(folder, 'enabled'), '[].')
  const environment = {
    PATH: process.env.PATH,
    LC_ALL: 'C.UTF-8',
    HOME: folder,
    RABBITMQ_NODENAME: `svc${port}@localhost`,
    RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled'),
    RABBITMQ_GENERATED_CONFIG_DIR: join(folder, 'gen'),
    RABBITMQ_SCHEMA_DIR: join(folder, 'schema'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    ERL_EPMD_PORT: String(mapperPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
  }
  // Otherwise the broker would start one that keeps running.
  const mapper = spawn('epmd', ['-port', String(mapperPort), '-address', '127.0.0.1'], { stdio: 'ignore' })
  let child: ChildProcess | undefined
  const signal = (name: NodeJS.Signals) => {
    for (const pid of child === undefined ? [] : familyOf(child.pid!)) {
      try {
        process.kill(pid, name)
      } catch {
        // It has already ended.
      }
    }
  }
  const kill = () => {
    signal('SIGKILL')
    mapper.kill('SIGKILL')
  }
  process.on('exit', kill)
  const server: RabbitMq = {
    host: `127.0.0.1:${port}`,
    tlsHost: `127.0.0.1:${tlsPort}`,
    password,
    certificate,
    url: `amqp://svc:${password}@127.0.0.1:${port}`,
    control(...command) {
      const { status, stderr } = spawnSync(control, ['-q', ...command], { env: environment, encoding: 'utf8' })
      if (status !== 0) throw new Error(`rabbitmqctl: ${stderr}`)
    },
    async open() {
      const model = await amqp.connect(server.url)
      model.on('error', () => undefined)
      return model
    },
    async start() {
      if (child !== undefined) return
      const deadlineMs = performance.now() + startDeadlineMs
      while (performance.now() < deadlineMs) {
        // The broker fails to start while the former process is still registered under its name.
        if (child === undefined || child.exitCode !== null) {
          child = spawn(program, [], { env: environment, cwd: folder, stdio: 'ignore' })
        }
        const model = await server.open().catch(() => undefined)
        if (model !== undefined) return model.close()
        await sleep(200)
      }
      throw new Error(`RabbitMQ did not answer within ${startDeadlineMs} ms`)
    },
    async stop() {
      if (child === undefined) return
      const ended = new Promise(done => child!.once('exit', done))
      signal('SIGKILL')
      await ended
      child = undefined
    },
    hang: () => hangProcesses(child === undefined ? [] : familyOf(child.pid!)),
    resume: () => signal('SIGCONT'),
  }
  t.teardown(async () => {
    await server.stop()
    mapper.kill('SIGKILL')
    process.off('exit', kill)
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  await server.start()
  return server
}

/** A process and all of its descendants. */
function familyOf(pid: number): readonly number[] {
  const family = [pid]
  for (const member of family) {
    try {
      for (const thread of readdirSync(`/proc/${member}/task`)) {
        const children = readFileSync(`/proc/${member}/task/${thread}/children`, 'utf8')
        family.push(...children.split(' ').filter(Boolean).map(Number))
      }
    } catch {
      // It has already ended.
    }
  }
  return family
}
