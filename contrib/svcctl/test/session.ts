/** svcctl as a function, with its own configuration folder; and as a process, for effects that only a process has. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import type { Io } from '../io.ts'
import { runSvcctl } from '../run.ts'

export const root = resolve(import.meta.dirname, '../../..')
const main = resolve(import.meta.dirname, '../main.ts')

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** Standard output as JSON lines. */
  readonly records: Record<string, unknown>[]
  /** The last JSON line of standard error. */
  readonly error: Record<string, unknown>
}

export interface RunOptions {
  readonly input?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly isTTY?: boolean
  /** Standard output is a terminal of so many columns. */
  readonly columns?: number
  /** Somebody answers questions, with `input`. */
  readonly isAnswered?: boolean
}

export interface Session {
  readonly folder: string
  readonly configFolder: string
  run(args: readonly string[], options?: RunOptions): Promise<Outcome>
  /** Not waited for. */
  spawn(args: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<number | null> }
  environment: Record<string, string>
}

function gather() {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') }
}

export function createSession(folder: string): Session {
  const configFolder = join(folder, 'config')
  const work = join(folder, 'work')
  mkdirSync(work, { recursive: true })
  const environment = { PATH: process.env.PATH ?? '', HOME: folder, SVCCTL_CONFIG_DIR: configFolder }
  return {
    folder: work,
    configFolder,
    environment,
    async run(args, { input, env = {}, signal = new AbortController().signal, isTTY, isAnswered, columns } = {}) {
      const stdin = Object.assign(new PassThrough(), isAnswered ? { isTTY: true, setRawMode() {} } : undefined)
      stdin.end(input)
      const out = gather()
      const err = gather()
      const io: Io = {
        stdin,
        stdout: columns === undefined ? out.stream : Object.assign(out.stream, { isTTY: true, columns }),
        stderr: isTTY ? Object.assign(err.stream, { isTTY }) : err.stream,
        env: { ...environment, ...env },
        cwd: work,
        signal,
      }
      const code = await runSvcctl(args, io)
      const stdout = out.text()
      const stderr = err.text()
      return {
        code,
        stdout,
        stderr,
        get records() {
          return stdout
            .split('\n')
            .filter(line => line !== '')
            .map(line => JSON.parse(line))
        },
        get error() {
          return JSON.parse(stderr.trim().split('\n').at(-1)!).error
        },
      }
    },
    spawn(args) {
      const child = spawn(process.execPath, [main, ...args], {
        cwd: work,
        env: environment,
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const ended = new Promise<number | null>(done => child.once('close', done))
      return { child, ended }
    },
  }
}

/** Any program to its end; both streams in one. */
export function runChild(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((done, fail) => {
    const child = spawn(program, [...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
    child.on('error', fail)
    child.on('close', code => done({ code, output }))
  })
}
