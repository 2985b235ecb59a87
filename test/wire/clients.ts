/**
 * What the client suites share: finding a client, running it with a clean environment, and data to move about. Clients run
 * as they come, with no patch and no configuration beyond endpoint, credentials and path style; of a client of which many commands run, the
 * modules are loaded once.
 */
import { execFile, execFileSync } from 'node:child_process'
import { createCipheriv, createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { preloadedClient } from './preloaded-client.ts'
import { accessKey, region, secretKey, type TestServer } from './server.ts'

const commandDeadlineMs = 100_000

/** Where programs are looked for: the system's own first, because its Python modules belong to its own Python. */
const searchPath = ['/usr/bin', '/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)]

/** Every different program with this name, the system's own first. */
export function findPrograms(name: string): string[] {
  const found = new Map<string, string>()
  for (const folder of searchPath) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      const real = realpathSync(path)
      if (!found.has(real)) found.set(real, path)
    } catch {
      // Not here: the next folder may have it.
    }
  }
  return [...found.values()]
}

/** The program with this name. Where there is none: an error when CI is set, otherwise the reason to skip the suite. */
export function requireProgram(name: string): { readonly path: string; readonly skip: string | false } {
  const path = findPrograms(name)[0]
  if (path === undefined && process.env.CI) throw new Error(`${name} is not installed, and CI is set`)
  return { path: path ?? name, skip: path === undefined && `${name} is not installed` }
}

/** Every Python that has boto3, by the version of that: two names of one Python count once. None: an error when CI is set. */
export function findBoto3(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const program of findPrograms('python3')) {
    try {
      const print = ['-c', 'import boto3; print(boto3.__version__)']
      const version = execFileSync(program, print, { encoding: 'utf8', stdio: 'pipe' }).trim()
      if (!found.has(version)) found.set(version, program)
    } catch {
      // This Python has no boto3.
    }
  }
  if (found.size === 0 && process.env.CI) throw new Error('No Python with boto3 is installed, and CI is set')
  return found
}

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: string | Buffer
  readonly folder?: string
}

/** The environment of every client: its own home folder, our credentials, nothing from the machine but PATH. */
export function clientEnvironment(server: TestServer): Record<string, string> {
  const home = join(server.folder, 'home')
  mkdirSync(home, { recursive: true })
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    LC_ALL: 'C.UTF-8',
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
    AWS_DEFAULT_REGION: region,
    AWS_EC2_METADATA_DISABLED: 'true',
  }
}

/** Runs a program to its end. Never throws for an exit code: the caller asserts it. */
export async function run(
  program: string,
  args: readonly string[],
  server: TestServer,
  options: CommandOptions = {},
): Promise<Outcome> {
  const environment = { ...clientEnvironment(server), ...options.environment }
  const folder = options.folder ?? server.folder
  const preloaded = preloadedClient(program, commandDeadlineMs / 1000)
  if (preloaded !== undefined) {
    const outcome = await preloaded.run({ args, environment, folder, input: options.input ?? '' })
    if (outcome.code >= 0) return outcome
    throw new Error(`${program} ${args.join(' ')}: ended by signal ${-outcome.code}\n${outcome.stderr}`)
  }
  return new Promise((done, fail) => {
    const child = execFile(
      program,
      [...args],
      {
        env: environment,
        cwd: folder,
        timeout: commandDeadlineMs,
        killSignal: 'SIGKILL',
        maxBuffer: 256 << 20,
        encoding: 'utf8',
      },
      (error, stdout, stderr) => {
        if (error === null) done({ code: 0, stdout, stderr })
        else if (typeof error.code === 'number') done({ code: error.code, stdout, stderr })
        else fail(new Error(`${program} ${args.join(' ')}: ${error.message}\n${stderr}`, { cause: error }))
      },
    )
    child.stdin!.on('error', () => {
      // A client that ends before it read its input says why in its exit code.
    })
    child.stdin!.end(options.input)
  })
}

/** The same incompressible bytes for the same seed: an AES-CTR key stream. */
export function bytesOf(seed: string, size: number): Buffer {
  const key = createHash('sha256').update(seed).digest()
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size))
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Names that clients and servers like to get wrong. All are valid keys and valid file names. */
export const oddNames = [
  'plain.txt',
  'with space.txt',
  'plus+and&and=.txt',
  'per%20cent.txt',
  'ünïcödé/日本語.txt',
  'emoji-😀.bin',
  "quote's.txt",
  'deep/er/and/deeper/file.txt',
  'tilde~(brackets)[square]!.txt',
  'comma,semi;colon@at$.txt',
]

/** Writes a small tree of files with odd names and one of several megabytes. Returns the hash of each by its path. */
export function writeTree(folder: string, largeBytes: number): Map<string, string> {
  const hashes = new Map<string, string>()
  const sizes = [0, 1, 5, 1024, 4096, 65_536, 131_072, 131_073, 300_000, 17]
  for (const [index, name] of [...oddNames, 'large.bin'].entries()) {
    const bytes = bytesOf(name, sizes[index] ?? largeBytes)
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
    hashes.set(name, sha256(bytes))
  }
  return hashes
}

/** The hash of every file below a folder, by its path, in the same order as `writeTree` returns them. */
export function readTree(folder: string): Map<string, string> {
  const hashes = new Map<string, string>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    hashes.set(path.slice(folder.length + 1), sha256(readFileSync(path)))
  }
  return hashes
}

export function sorted(hashes: ReadonlyMap<string, string>): [string, string][] {
  return [...hashes].sort(([a], [b]) => (a < b ? -1 : 1))
}
