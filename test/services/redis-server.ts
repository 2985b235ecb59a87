/** A real redis-server, on a random port of the loopback interface, in its own folder, ended by its process id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 90_000
const outputBytesMax = 64 * 1024 * 1024

// If the runner ends the test process, the service must end, too.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** Why tests that need it are skipped; false if it is installed. */
export const skip = findSkip()

function findSkip(): string | false {
  const missing = ['redis-server', 'redis-cli', 'openssl'].filter(name => spawnSync('which', [name]).status !== 0)
  if (missing.length > 0 && process.env.CI) throw new Error(`${missing.join(', ')} is not installed, and CI is set`)
  return missing.length > 0 && `${missing.join(', ')} is not installed`
}

export interface RedisServer {
  readonly port: number
  readonly address: string
  /** With the password in it. */
  readonly url: string
  readonly password: string
  /** The output of redis-cli, as lines. */
  ask(...command: readonly string[]): readonly string[]
  /** The same with standard input, which `-x` makes the last argument. */
  give(input: string, ...command: readonly string[]): readonly string[]
  start(): Promise<void>
  stop(): Promise<void>
  hang(): Promise<void>
  resume(): void
}

/** `options` of the command line, with the placeholders `{folder}` and `{port}`. */
export async function startRedis(t: Test, options: readonly string[] = []): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-redis-'))
  const port = await findLastingPort()
  const password = 's3cret-of-redis'
  const given = options.map(option => option.replace('{folder}', folder).replace('{port}', String(port)))
  const listen = given.includes('--tls-port') ? ['--port', '0'] : ['--port', String(port)]
  const fixed = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--dir', folder, '--requirepass', password]
  // It listens before it has loaded its data.
  const isReady = (options: readonly string[]) => {
    try {
      return server.ask(...options, 'PING')[0] === 'PONG'
    } catch {
      return false
    }
  }
  let child: ChildProcess | undefined
  const kill = () => child?.kill('SIGKILL')
  process.on('exit', kill)
  const server: RedisServer = {
    port,
    address: `127.0.0.1:${port}`,
    url: `redis://:${password}@127.0.0.1:${port}`,
    password,
    ask: (...command) => server.give('', ...command),
    give(input, ...command) {
      const { status, stdout, stderr } = spawnSync('redis-cli', ['-p', String(port), '--no-auth-warning', ...command], {
        encoding: 'utf8',
        input,
        maxBuffer: outputBytesMax,
        env: { ...process.env, REDISCLI_AUTH: password },
      })
      if (status !== 0) throw new Error(`redis-cli: ${stderr}`)
      return stdout.replace(/\n$/, '').split('\n')
    },
    async start() {
      child = spawn('redis-server', [...listen, ...fixed, ...given], { stdio: 'ignore' })
      const isTls = given.includes('--tls-port')
      const deadlineMs = performance.now() + startDeadlineMs
      while (!isReady(isTls ? ['--tls', '--insecure'] : [])) {
        if (performance.now() > deadlineMs) throw new Error(`redis-server is not ready after ${startDeadlineMs} ms`)
        await sleep(20)
      }
    },
    async stop() {
      if (child === undefined) return
      const ended = new Promise(done => child!.once('exit', done))
      child.kill('SIGKILL')
      await ended
      child = undefined
    },
    hang: () => hangProcesses(child === undefined ? [] : [child.pid!]),
    resume: () => void child?.kill('SIGCONT'),
  }
  t.teardown(async () => {
    await server.stop()
    process.off('exit', kill)
    // A child process may still be writing.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  await server.start()
  return server
}
