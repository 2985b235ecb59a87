/** What can be measured: the server itself and the servers that it is compared with. Each runs as a process of its own. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { childrenOf } from './machine.ts'
import type { PeerOptions } from './options.ts'
import { startProcess, stopProcess, waitForLog } from './processes.ts'
import type { Credentials } from './signature.ts'

const START_TIMEOUT_MS = 30_000
const REPOSITORY = join(import.meta.dirname, '../..')
const NGINX_PATHS = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx']
/** Enough threads that the file system and not the thread pool limits the file writer. */
const WRITER_POOL_SIZE = 16

export interface Target {
  readonly name: string
  readonly host: string
  readonly port: number
  /** Every process whose CPU counts. */
  pids(): number[]
  stop(): Promise<void>
}

/** Where S3 is spoken, and as whom. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  readonly credentials: Credentials
}

export interface ServerTarget extends Target, Endpoint {
  /** Folder that it stores in; of a set the first one. */
  readonly drive: string
  /** All of them. */
  readonly drives: readonly string[]
  /** Of its standard output and error. */
  readonly logFile: string
  /** Of the Admin API. */
  readonly consolePort: number
  /** Of the web listener; 0 without one. */
  readonly webPort: number
}

export interface ServerStart {
  /** For its logs, and for its drive where none is named. */
  readonly folder: string
  /** What figures call it. Default: server. */
  readonly name?: string
  /** Folders that it stores in, several for a set; made where they are missing, unless `isRestart`. Default: `drive` below `folder`. */
  readonly drives?: readonly string[]
  /** Of the first start, for another one on the same drives. Default: new ones. */
  readonly credentials?: Credentials
  /** Folders are left as they are: a drive that is away stays away. */
  readonly isRestart?: boolean
  /** How long it may take to serve. Default half a minute. */
  readonly timeoutMs?: number
  readonly workers: number
  /** Configuration file of the server, as in SVC_CONFIG_FILE. */
  readonly configFile?: string
  /** Root of the tree that it is started from. Default: this one. */
  readonly tree?: string
  /** Additional SVC_… variables. */
  readonly environment?: Readonly<Record<string, string>>
  /** Options for Node.js itself, such as those of the profiler. */
  readonly nodeOptions?: readonly string[]
}

/** What Node.js runs: the bundled server, of a tree that can make it. */
function programOf(tree: string): readonly string[] {
  const bundled = join(tree, '.ci/start.mjs')
  return existsSync(bundled) ? [bundled] : ['--conditions=svc-src', join(tree, 'kernel/main.ts')]
}

/** Starts `svc server` and waits until it says where it listens. */
export async function startServer(start: ServerStart): Promise<ServerTarget> {
  const { folder, workers, configFile, tree = REPOSITORY, environment = {}, nodeOptions = [] } = start
  const { name = 'server', drives = [join(folder, 'drive')], isRestart = false, timeoutMs = START_TIMEOUT_MS } = start
  const credentials = start.credentials ?? newCredentials()
  mkdirSync(folder, { recursive: true })
  if (!isRestart) for (const drive of drives) mkdirSync(drive, { recursive: true })
  // One for each start: an earlier one has said where it listened.
  const logFile = join(folder, `server-${randomBytes(4).toString('hex')}.log`)
  const args = [...nodeOptions, ...programOf(tree), 'server', ...drives]
  const child = startProcess(process.execPath, args, {
    logFile,
    folder,
    environment: {
      SVC_ROOT_USER: credentials.accessKey,
      SVC_ROOT_PASSWORD: credentials.secretKey,
      SVC_ADDRESS: '127.0.0.1:0',
      SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
      SVC_WORKERS: String(workers),
      ...(configFile === undefined ? {} : { SVC_CONFIG_FILE: configFile }),
      ...environment,
    },
  })
  const [port, consolePort, webPort] = await waitForLog(child, logFile, timeoutMs, announcedPorts)
  return {
    name,
    host: '127.0.0.1',
    port,
    credentials,
    drive: drives[0],
    drives,
    logFile,
    consolePort,
    webPort,
    pids: () => [child.pid!],
    stop: () => stopProcess(child),
  }
}

/** A server that somebody else has started, and ends. Throws where it cannot be measured. */
export function peerTarget({ host, port, pids }: PeerOptions): Target & Endpoint {
  const { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey } = process.env
  if (!accessKey || !secretKey) {
    throw new Error('Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to keys of the peer.')
  }
  const all = () => pids.flatMap(pid => [pid, ...childrenOf(pid)])
  return { name: 'peer', host, port, credentials: { accessKey, secretKey }, pids: all, stop: async () => undefined }
}

function newCredentials(): Credentials {
  return { accessKey: 'bench-root', secretKey: randomBytes(24).toString('base64url') }
}

/** The ports in the log line (JSON) that carries the addresses under the keys `s3`, `console` and `web`; 0 where there is none. */
function announcedPorts(log: string): [s3: number, console: number, web: number] | undefined {
  for (const line of log.split('\n')) {
    if (!line.startsWith('{') || !line.includes('"s3"')) continue
    let entry: { s3?: unknown; console?: unknown; web?: unknown }
    try {
      entry = JSON.parse(line)
    } catch {
      continue // the line is still being written
    }
    const [s3, console, web] = [entry.s3, entry.console, entry.web].map(address =>
      Number(/:(\d+)\/?"/.exec(JSON.stringify(address) ?? '')?.[1] ?? 0),
    ) as [number, number, number]
    if (s3 > 0) return [s3, console, web]
  }
  return undefined
}

/** Starts nginx for the static files below `root`; undefined where it is not installed. */
export async function startNginx(folder: string, root: string, workers: number): Promise<Target | undefined> {
  const binary = NGINX_PATHS.find(path => existsSync(path))
  if (binary === undefined) return undefined
  const port = await freePort()
  const logFile = join(folder, 'nginx.log')
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, nginxConfig(folder, root, port, Math.min(Math.max(1, workers), availableParallelism())))
  const child = startProcess(binary, ['-e', logFile, '-p', folder, '-c', config], { logFile, folder })
  await waitForLog(child, logFile, START_TIMEOUT_MS, log => (log.includes('start worker process ') ? true : undefined))
  const pids = (): number[] => [child.pid!, ...childrenOf(child.pid!)]
  return { name: 'nginx', host: '127.0.0.1', port, pids, stop: () => stopProcess(child) }
}

function nginxConfig(folder: string, root: string, port: number, workers: number): string {
  return `daemon off;
worker_processes ${workers};
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log notice;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 75s;
  keepalive_requests 1000000000;
  default_type application/octet-stream;
  client_body_temp_path ${folder}/nginx-body;
  proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-fastcgi;
  uwsgi_temp_path ${folder}/nginx-uwsgi;
  scgi_temp_path ${folder}/nginx-scgi;
  server {
    listen 127.0.0.1:${port}${workers > 1 ? ' reuseport' : ''};
    root ${root};
  }
}
`
}

/** Starts the file-per-object writer (file-writer.ts). */
export function startFileWriter(folder: string, workers: number, syncsDirectory: boolean): Promise<Target> {
  const suffix = syncsDirectory ? 'synced' : 'plain'
  const root = join(folder, `files-${suffix}`)
  const logFile = join(folder, `file-writer-${suffix}.log`)
  mkdirSync(root, { recursive: true })
  const args = ['file-writer.ts', root, String(Math.max(1, workers)), ...(syncsDirectory ? ['sync-directory'] : [])]
  return startScript(syncsDirectory ? 'file writer, directory synced' : 'file writer', args, logFile)
}

/** Starts the bare `node:http` server (bare-http.ts). */
export function startBareHttp(folder: string): Promise<Target> {
  return startScript('bare node:http', ['bare-http.ts'], join(folder, 'bare-http.log'))
}

/** Starts a baseline of this folder, which says `listening PORT`. */
async function startScript(name: string, [script, ...args]: readonly string[], logFile: string): Promise<Target> {
  const child = startProcess(process.execPath, [join(import.meta.dirname, script), ...args], {
    logFile,
    environment: { UV_THREADPOOL_SIZE: String(WRITER_POOL_SIZE) },
  })
  const port = await waitForLog(child, logFile, START_TIMEOUT_MS, log => {
    const match = /listening (\d+)/.exec(log)
    return match === null ? undefined : Number(match[1])
  })
  return { name, host: '127.0.0.1', port, pids: () => [child.pid!], stop: () => stopProcess(child) }
}

/** nginx cannot choose a port and say which: take one that is free now. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}
