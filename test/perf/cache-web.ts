/**
 * What a hit costs, beside nginx (`proxy_cache`) and Varnish with the same pages from the same bucket, on this machine, one after the other
 * in each of several rounds: `node --conditions=svc-src test/perf/cache-web.ts [seconds] [rounds] [4KiB|1MiB|disk]`. CPU is that of all processes of the one
 * that answers, per request: the median of the rounds and the least. `static` is nginx with files, `off` this server with the policy
 * `disabled`, `bare` only `node:http` with the same 4 KiB for everything. `disk`, with pages of 1 MiB that take turns, is a second server whose folder has them and whose memory has an eighth.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { eventually } from 'svc/testing'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { warmUpMs } from './bench.ts'

const [seconds = 5, rounds = 5] = process.argv.slice(2, 4).map(Number)
const only = process.argv[4]
const hosts = { on: 'on.example.test', off: 'off.example.test' }
const sizes = { '4KiB': 4096, '1MiB': 1 << 20 }

const freePort = () =>
  new Promise<number>(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

/** Milliseconds of a process and of those that it has started. */
function cpuMs(pid: number): number {
  const own = [pid, ...readdirSync('/proc').filter(name => /^\d+$/.test(name) && parentOf(Number(name)) === pid)]
  return own.map(Number).reduce((sum, one) => sum + cpuOf(one), 0)
}
const statOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
  } catch {
    return []
  }
}
const parentOf = (pid: number) => Number(statOf(pid)[1])
const cpuOf = (pid: number) => (Number(statOf(pid)[11] ?? 0) + Number(statOf(pid)[12] ?? 0)) * 10

interface Target {
  readonly name: string
  readonly pid: number
  readonly port: number
  readonly host: string
}
interface Sample {
  readonly perSecond: number
  readonly cpuMicros: number
}

const targets: Target[] = []

/** `script`: for wrk, where paths are not always the same. */
const wrkArguments = ({ port, host }: Target, size: string, script: readonly string[] = []) => [
  ...['-t1', '-c16', ...script],
  ...['-H', `Host: ${host}`, `http://127.0.0.1:${port}/${size}`],
]

function measure(target: Target, size: string, script?: readonly string[]): Sample {
  const { name, pid } = target
  const args = wrkArguments(target, size, script)
  spawnSync('wrk', ['-d1s', ...args])
  const before = cpuMs(pid)
  const { stdout } = spawnSync('wrk', [`-d${seconds}s`, ...args], { encoding: 'utf8' })
  const spentMs = cpuMs(pid) - before
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  if (/Non-2xx/.test(stdout)) throw new Error(`${name} ${size}: ${stdout}`)
  return { perSecond: Math.round(requests / seconds), cpuMicros: (spentMs * 1000) / requests }
}

function measureAll(all: readonly Target[], paths: readonly string[], script?: readonly string[]): void {
  for (const size of paths) {
    const samples = new Map<string, Sample[]>(all.map(({ name }) => [name, []]))
    for (const target of all) spawnSync('wrk', [`-d${warmUpMs / 1000}s`, ...wrkArguments(target, size, script)])
    for (let round = 0; round < rounds; round++)
      for (const target of all) samples.get(target.name)?.push(measure(target, size, script))
    for (const [name, all] of samples) {
      const rates = all.map(({ perSecond }) => perSecond).sort((a, b) => a - b)
      const costs = all.map(({ cpuMicros }) => cpuMicros).sort((a, b) => a - b)
      const middle = Math.floor(rounds / 2)
      const cpu = `${costs[middle]?.toFixed(1).padStart(7)} µs CPU, least ${costs[0]?.toFixed(1).padStart(6)}`
      console.log(`${name.padEnd(8)} ${size.padEnd(5)} ${String(rates[middle]).padStart(7)}/s ${cpu}`)
    }
  }
}

/** More than memory has room for. */
const diskPages = 128

/** `X-Cache` of the answer. */
const visit = (port: number, host: string, path: string) =>
  new Promise<string>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers: { host } }, answer => {
      answer.resume().on('end', () => resolve(String(answer.headers['x-cache'])))
    }).on('error', reject)
  })

/** Beside nginx, which has the pages in files, too. */
async function measureDisk(nginx: Target): Promise<void> {
  const folder = join(server.folder, 'cache')
  const other = await startServer({
    environment: { SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_CACHE_DIR: folder, SVC_CACHE_MEMORY: '16MiB' },
  })
  try {
    for (const to of [server, other]) {
      const s3 = createClient(to)
      await s3.send(new CreateBucketCommand({ Bucket: 'disk' }))
      for (let page = 0; page < diskPages; page++) {
        const Body = Buffer.alloc(1 << 20, page)
        await s3.send(new PutObjectCommand({ Bucket: 'disk', Key: `${page}`, Body, CacheControl: 'max-age=3600' }))
      }
    }
    const disk = { aliases: ['disk.example.test'], origin: { bucket: 'disk' } }
    await createAdminClient(other).call('PUT', '/distributions/disk', { id: 'disk', ...disk })
    const behind = { id: 'behind', aliases: ['behind.example.test'], origin: { bucket: 'disk' } }
    await createAdminClient(server).call('PUT', '/distributions/behind', behind)
    await createAdminClient(server).call('PUT', '/distributions/behind/cache/settings', {
      cache: { policy: 'disabled' },
    })
    const script = join(server.folder, 'pages.lua')
    writeFileSync(
      script,
      `n = 0\nrequest = function() n = (n + 37) % ${diskPages}; return wrk.format("GET", "/" .. n) end\n`,
    )
    const host = 'disk.example.test'
    const port = Number(String(other.startup.web).split(':').at(-1))
    // One after the other: records that come faster than the disk takes them are left out.
    for (let page = 0; page < diskPages; page++) {
      await visit(nginx.port, host, `/${page}`)
      await eventually(
        () => visit(port, host, `/${page}`),
        result => result === 'HIT',
      )
    }
    measureAll(
      [
        { name: 'disk', pid: other.pid, port, host },
        { ...nginx, host },
      ],
      ['disk'],
      ['-s', script],
    )
  } finally {
    await other.remove()
  }
}

const server = await startServer({ environment: { SVC_WEB_ADDRESS: '127.0.0.1:0' } })
const children: number[] = []
try {
  const s3 = createClient(server)
  const admin = createAdminClient(server)
  await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  const files = join(server.folder, 'files')
  mkdirSync(files)
  for (const [Key, bytes] of Object.entries(sizes)) {
    const Body = Buffer.alloc(bytes, 'x')
    writeFileSync(join(files, Key), Body)
    await s3.send(new PutObjectCommand({ Bucket: 'pages', Key, Body, CacheControl: 'max-age=3600' }))
  }
  for (const [id, host] of Object.entries(hosts))
    await admin.call('PUT', `/distributions/${id}`, { id, aliases: [host], origin: { bucket: 'pages' } })
  await admin.call('PUT', '/distributions/off/cache/settings', { cache: { policy: 'disabled' } })
  const web = Number(String(server.startup.web).split(':').at(-1))
  targets.push({ name: 'svc', pid: server.pid, port: web, host: hosts.on })
  targets.push({ name: 'off', pid: server.pid, port: web, host: hosts.off })

  const [cached, plain] = [await freePort(), await freePort()]
  const folder = join(server.folder, 'nginx')
  mkdirSync(folder)
  const config = `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/log;
events { worker_connections 512; }
http { access_log off; sendfile on; keepalive_requests 1000000;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
proxy_cache_path ${folder}/cache keys_zone=pages:10m;
server { listen 127.0.0.1:${cached}; location / { proxy_pass http://127.0.0.1:${web}; proxy_set_header Host ${hosts.off}; proxy_cache pages; } }
server { listen 127.0.0.1:${cached}; server_name disk.example.test; location / { proxy_pass http://127.0.0.1:${web}; proxy_set_header Host behind.example.test; proxy_cache pages; } }
server { listen 127.0.0.1:${plain}; root ${files}; } }`
  writeFileSync(join(folder, 'nginx.conf'), config)
  const nginx = spawn('/usr/sbin/nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', `${folder}/log`])
  children.push(nginx.pid as number)
  await new Promise(resolve => setTimeout(resolve, 1000))
  targets.push({ name: 'nginx', pid: nginx.pid as number, port: cached, host: hosts.on })
  targets.push({ name: 'static', pid: nginx.pid as number, port: plain, host: hosts.on })

  const bare = spawn(process.execPath, [join(import.meta.dirname, 'bare-http.ts')])
  children.push(bare.pid as number)
  const said = await new Promise<string>(resolve => bare.stdout.once('data', text => resolve(String(text))))
  targets.push({ name: 'bare', pid: bare.pid as number, port: Number(/\d+/.exec(said)?.[0]), host: hosts.on })

  if (existsSync('/usr/sbin/varnishd')) {
    const port = await freePort()
    const vcl = join(server.folder, 'pages.vcl')
    writeFileSync(
      vcl,
      `vcl 4.1; backend default { .host = "127.0.0.1"; .port = "${web}"; } sub vcl_recv { set req.http.Host = "${hosts.off}"; }`,
    )
    const args = [
      '-F',
      '-a',
      `127.0.0.1:${port}`,
      '-f',
      vcl,
      '-n',
      join(server.folder, 'varnish'),
      '-s',
      'malloc,64m',
      '-j',
      'none',
    ]
    const varnish = spawn('/usr/sbin/varnishd', args, { stdio: 'ignore' })
    children.push(varnish.pid as number)
    await new Promise(resolve => setTimeout(resolve, 4000))
    targets.push({ name: 'varnish', pid: varnish.pid as number, port, host: hosts.on })
  }
  measureAll(
    targets,
    Object.keys(sizes).filter(size => only === undefined || only === size),
  )
  if (only === undefined || only === 'disk') await measureDisk(targets.find(({ name }) => name === 'nginx') as Target)
} finally {
  for (const pid of children) process.kill(pid, 'SIGTERM')
  await server.remove()
}
