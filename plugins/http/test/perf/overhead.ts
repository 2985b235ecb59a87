/**
 * Overhead of the listener per request: our listener and a bare node:http server, each in a process of its own, answer the same 1 KiB with
 * the same headers to wrk; CPU per request from /proc, rounds alternating, medians of both and of the difference. `node
 * --conditions=svc-src plugins/http/test/perf/overhead.ts [rounds]` Needs wrk. Nothing is asserted.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { definePlugin } from 'svc/kernel'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import tls from 'svc/plugins/tls/index'
import { openPoints, startKernel } from 'svc/testing'
import http from '../../index.ts'

const body = Buffer.alloc(1024, 'a')
const headers = ['Content-Type', 'text/plain', 'Content-Length', '1024']
const id = ['Server', 'svc', 'x-amz-request-id', '0123456789ABCDEF']
const roundSeconds = 3
const ticksPerSecond = 100

async function serveBare(): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, headers.concat(id))
    response.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function serveOurs(): Promise<number> {
  const protocol = definePlugin({
    name: 's3',
    requires: ['http'],
    points: openPoints('s3.operation', 's3.observer'),
    setup({ contribute }) {
      contribute('http.mount', 's3', {
        listener: 's3',
        handler({ response, clientAddress, host }) {
          // Facts that every S3 request needs.
          if (clientAddress === '' || host === '') throw new Error('nobody')
          response.writeHead(200, headers)
          response.end(body)
        },
      })
    },
  })
  const kernel = await startKernel({
    plugins: [iam, metrics, tls, http, protocol],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
    },
  })
  return kernel.services.http.listeners()[0].port
}

function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')
  return Number(fields[13]) + Number(fields[14])
}

/** Requests and CPU microseconds per request of one round of load. */
function load(pid: number, port: number): number {
  const before = cpuTicks(pid)
  const output = execFileSync('wrk', ['-t1', '-c16', `-d${roundSeconds}`, `http://127.0.0.1:${port}/bucket/key`], {
    encoding: 'utf8',
  })
  const requests = Number(/(\d+) requests in/.exec(output)?.[1])
  return ((cpuTicks(pid) - before) * (1e6 / ticksPerSecond)) / requests
}

function start(kind: string): Promise<{ pid: number; port: number; stop(): void }> {
  const child = spawn(process.execPath, ['--conditions=svc-src', import.meta.filename, kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${kind} ended`)))
    child.stdout.once('data', data =>
      resolve({ pid: child.pid as number, port: Number(data), stop: () => child.kill() }),
    )
  })
}

function median(figures: number[]): string {
  return figures.toSorted((a, b) => a - b)[figures.length >> 1].toFixed(2)
}

const kind = process.argv[2]
if (kind === 'bare' || kind === 'ours') {
  process.stdout.write(String(kind === 'bare' ? await serveBare() : await serveOurs()))
} else {
  const servers = await Promise.all([start('bare'), start('ours')])
  const [bare, ours] = servers
  const figures: { bare: number[]; ours: number[]; difference: number[] } = { bare: [], ours: [], difference: [] }
  load(bare.pid, bare.port)
  load(ours.pid, ours.port)
  for (let round = 0; round < Number(kind ?? 7); round++) {
    const first = load(bare.pid, bare.port)
    const second = load(ours.pid, ours.port)
    figures.bare.push(first)
    figures.ours.push(second)
    figures.difference.push(second - first)
  }
  for (const server of servers) server.stop()
  for (const [name, list] of Object.entries(figures)) process.stdout.write(`${name.padEnd(12)} ${median(list)} µs\n`)
  process.exit(0)
}
