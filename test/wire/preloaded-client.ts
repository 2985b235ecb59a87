/** Clients that are programs of Python, with their modules loaded once for all commands of a test: see preloaded-client.py. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'

/** What each command of the program loads. */
const modulesOf: Readonly<Record<string, readonly string[]>> = { aws: ['awscli.clidriver', 'awscli.handlers'] }

export interface PreloadedCommand {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly folder: string
  readonly input: string | Buffer
}

export interface PreloadedClient {
  /** Never rejects for an exit code; that is negative where a signal ended the command. */
  run(command: PreloadedCommand): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>
}

const clients = new Map<string, PreloadedClient | undefined>()

/** Undefined for a program that is run as it comes. */
export function preloadedClient(program: string, secondsMax: number): PreloadedClient | undefined {
  const modules = modulesOf[basename(program)]
  if (modules === undefined) return undefined
  if (!clients.has(program)) {
    const path = withoutShim(program)
    const python = /^#!(\/\S*python\S*)\n/.exec(readFileSync(path, 'latin1').slice(0, 200))?.[1]
    clients.set(program, python === undefined ? undefined : start(python, path, secondsMax, modules))
  }
  return clients.get(program)
}

/** pyenv puts a shell script in the place of each program. */
function withoutShim(program: string): string {
  return program.includes('/.pyenv/shims/')
    ? execFileSync('pyenv', ['which', basename(program)], { encoding: 'utf8' }).trim()
    : program
}

function start(python: string, program: string, secondsMax: number, modules: readonly string[]): PreloadedClient {
  const files = mkdtempSync(join(tmpdir(), 'svc-client-'))
  process.on('exit', () => rmSync(files, { recursive: true, force: true }))
  const script = join(import.meta.dirname, 'preloaded-client.py')
  const parent = spawn(python, [script, program, String(secondsMax), ...modules], {
    // What Python reads when it starts, as all clients have it.
    env: { PATH: process.env.PATH, HOME: files, LC_ALL: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, { done(code: number): void; fail(error: Error): void }>()
  // Only a command that runs keeps this process.
  const keep = (isKept: boolean) => {
    for (const one of [parent, parent.stdin, parent.stdout] as unknown as { ref(): void; unref(): void }[])
      isKept ? one.ref() : one.unref()
  }
  keep(false)
  createInterface({ input: parent.stdout }).on('line', line => {
    const { id, code } = JSON.parse(line)
    waiting.get(id)?.done(code)
  })
  const ended = new Promise(done => parent.on('close', done))
  t.teardown(async () => {
    keep(true)
    parent.stdin.end()
    await ended
  })
  let failure: Error | undefined
  void ended.then(() => {
    failure = new Error(
      `The process that runs ${program} ended: exit code ${parent.exitCode}, signal ${parent.signalCode}`,
    )
    for (const { fail } of waiting.values()) fail(failure)
  })
  // Whoever writes to a process that has ended learns it by `failure`.
  parent.stdin.on('error', () => undefined)
  let commands = 0
  return {
    async run({ args, environment, folder, input }) {
      const id = ++commands
      const [stdin, stdout, stderr] = ['in', 'out', 'err'].map(name => join(files, `${id}.${name}`)) as [
        string,
        string,
        string,
      ]
      writeFileSync(stdin, input)
      keep(true)
      try {
        const code = await new Promise<number>((done, fail) => {
          if (failure !== undefined) throw failure
          waiting.set(id, { done, fail })
          parent.stdin.write(`${JSON.stringify({ id, args, environment, folder, stdin, stdout, stderr })}\n`)
        })
        return { code, stdout: readFileSync(stdout, 'utf8'), stderr: readFileSync(stderr, 'utf8') }
      } finally {
        waiting.delete(id)
        keep(waiting.size > 0)
        for (const path of [stdin, stdout, stderr]) rmSync(path, { force: true })
      }
    },
  }
}
