/**
 * A real server process for tests: started on random loopback ports over a folder of its own, stopped by its process id.
 * The number of workers comes from SVC_WORKERS (0 when unset), so that one suite covers each process model; with SVC_TEST_DRIVES=4 it
 * is over a set of as many drives.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  createWriteStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  type WriteStream,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { svcProgram } from '../services/programs.ts'

const root = resolve(import.meta.dirname, '../..')
const startDeadlineMs = 120_000
const stopDeadlineMs = 90_000

export const accessKey = 'wire-root'
export const secretKey = 'wire-secret-9d2b'
export const region = 'us-east-1'
export const workerCount = Number(process.env.SVC_WORKERS ?? '0')
export const driveCount = Number(process.env.SVC_TEST_DRIVES ?? '1')

const running = new Set<ChildProcess>()
// A test process that is ended by its runner must not leave a server behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** For a server that starts often: with a master key no start derives a key from the root password, which is a quarter of a second of CPU. */
export const withMasterKey = { SVC_KMS_SECRET_KEY: `wire:${Buffer.alloc(32, 7).toString('base64')}` }

export interface ServerOptions {
  /** The drive, or several as a range; inside a new temporary folder when unset. */
  readonly drive?: string
  /** Instead of it: all arguments that name drives. */
  readonly drives?: readonly string[]
  /** Additional SVC_… variables. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface TestServer {
  /** A temporary folder that is removed by `remove`. Nothing of the server lies in it but the drive and the log. */
  readonly folder: string
  readonly drive: string
  /** `http://127.0.0.1:port`; the port stays the same over restarts. */
  readonly endpoint: string
  readonly port: number
  readonly pid: number
  /** The last start-up line. */
  readonly startup: Readonly<Record<string, unknown>>
  /** Everything that the server wrote to stderr, over all its lives. */
  log(): string
  /** Resolves with the exit code of its present life; null where a signal ended it. */
  readonly ended: Promise<number | null>
  /** What ended its present life, if a signal did. */
  readonly endSignal: NodeJS.Signals | null
  /** Ends it as a service manager does; resolves with the exit code, rejects when it does not stop in time. */
  stop(): Promise<number | null>
  /** Ends it as a power cut does, as far as a process can. */
  kill(): Promise<void>
  /**
   * Starts it again over the same drive and on the same port. It must have ended. May be killed before it is ready. `environment`: from
   * now on, instead of the variables that it was started with; `drives` for all drives.
   */
  start(environment?: ServerOptions['environment'], drives?: readonly string[]): Promise<void>
  /** Kills what still runs and removes the folder. */
  remove(): Promise<void>
}

interface Life {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  /** Rejects when the process ends before it is ready, or is not ready in time. */
  readonly ready: Promise<Record<string, unknown>>
}

function announcedPort(startup: Record<string, unknown>): number {
  const port = Number(/:(\d+)\/?$/.exec(String(startup.s3))?.[1])
  if (!Number.isInteger(port) || port === 0) throw new Error(`No port in the start-up line: ${JSON.stringify(startup)}`)
  return port
}

/** What each thread of a process waits for, for whoever has to find out why it does not go on. */
function threadsOf(pid: number): string {
  if (!existsSync(`/proc/${pid}/task`)) return 'Its threads cannot be looked at here.'
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8').trim()
    } catch {
      return ''
    }
  }
  const lines: string[] = []
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [name, waits, call] = ['comm', 'wchan', 'syscall'].map(file => read(`/proc/${pid}/task/${thread}/${file}`))
    const state = /^State:\s*(.*)$/m.exec(read(`/proc/${pid}/task/${thread}/status`))?.[1]
    lines.push(`${thread} ${name}: ${state}, in ${waits}, system call ${call}`)
  }
  return lines.join('\n')
}

function live(drives: readonly string[], address: string, options: ServerOptions, log: WriteStream): Life {
  const child = spawn(process.execPath, [svcProgram, 'server', ...drives], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      SVC_ROOT_USER: accessKey,
      SVC_ROOT_PASSWORD: secretKey,
      SVC_ADDRESS: address,
      SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
      SVC_WORKERS: String(workerCount),
      ...options.environment,
    },
  })
  running.add(child)
  const ended = new Promise<number | null>((done, fail) => {
    child.on('error', fail)
    child.on('close', code => {
      running.delete(child)
      done(code)
    })
  })
  const lines: string[] = []
  const ready = new Promise<Record<string, unknown>>((done, fail) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      lines.push(threadsOf(child.pid!))
      child.kill('SIGKILL')
    }, startDeadlineMs)
    createInterface({ input: child.stderr! }).on('line', line => {
      log.write(`${line}\n`)
      if (lines.length < 200) lines.push(line)
      const entry = startupOf(line)
      if (entry === undefined) return
      clearTimeout(timer)
      done(entry)
    })
    ended.then(code => {
      clearTimeout(timer)
      const what = isLate
        ? `was not ready within ${startDeadlineMs} ms`
        : `ended with ${code ?? child.signalCode} before it was ready`
      fail(new Error(`The server ${what}:\n${lines.join('\n')}`))
    }, fail)
  })
  return { child, ended, ready }
}

/** The last line of a start. A kill may cut any line. */
function startupOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{') || !line.includes('"s3"')) return undefined
  try {
    const entry = JSON.parse(line)
    return typeof entry.s3 === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-wire-'))
  const drive = options.drive ?? join(folder, driveCount > 1 ? `drive{1...${driveCount}}` : 'drive')
  const logFile = join(folder, 'server.log')
  const log = createWriteStream(logFile, { flags: 'a' })
  let current = options
  let drives = options.drives ?? [drive]
  let life = live(drives, '127.0.0.1:0', current, log)
  let startup = await life.ready
  const port = announcedPort(startup)

  async function kill(): Promise<void> {
    life.child.kill('SIGKILL')
    await life.ended
  }

  return {
    folder,
    drive,
    port,
    endpoint: `http://127.0.0.1:${port}`,
    get pid() {
      return life.child.pid!
    },
    get startup() {
      return startup
    },
    get ended() {
      return life.ended
    },
    get endSignal() {
      return life.child.signalCode
    },
    log: () => readFileSync(logFile, 'utf8'),
    kill,
    async stop() {
      let late = false
      const timer = setTimeout(() => {
        late = true
        life.child.kill('SIGKILL')
      }, stopDeadlineMs)
      life.child.kill('SIGTERM')
      const code = await life.ended
      clearTimeout(timer)
      if (late) throw new Error(`The server did not stop within ${stopDeadlineMs} ms`)
      return code
    },
    async start(environment, named) {
      if (environment !== undefined) current = { ...options, environment }
      if (named !== undefined) drives = named
      life = live(drives, `127.0.0.1:${port}`, current, log)
      startup = await life.ready
    },
    async remove() {
      await kill()
      await new Promise(done => log.end(done))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What `svc server --dry-run` says of these drives, behind its exit code. On ports that nobody has, whatever else runs on this machine. */
export function dryRun(...drives: readonly string[]): string {
  return dryRunWith({}, ...drives)
}

/** The same with additional SVC_… variables. */
export function dryRunWith(environment: Readonly<Record<string, string>>, ...drives: readonly string[]): string {
  const args = [svcProgram, 'server', '--dry-run', ...drives]
  const env = {
    PATH: process.env.PATH,
    SVC_ROOT_USER: accessKey,
    SVC_ROOT_PASSWORD: secretKey,
    SVC_ADDRESS: '127.0.0.1:0',
    SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
    ...environment,
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  return `${status} ${stdout}${stderr}`
}
