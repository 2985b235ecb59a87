/** Every place where a server tells of requests, read as bytes: streams, logs, audit records, spans, metrics, a report of a bug. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { Test } from 'tap'
import { startGrpcCollector } from '../../plugins/tracing/test/collector.ts'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { accessKey, region, secretKey, type TestServer } from './server.ts'

const run = promisify(execFile)

/** Before the server starts: a collector of spans, and a receiver of audit records and of events, of which the records alone are kept. */
export async function startReceivers(t: Test) {
  const collector = await startGrpcCollector(t)
  const bodies: string[] = []
  const receiver = createServer(async (request, response) => {
    const body = await text(request)
    if (request.url === '/audit') bodies.push(body)
    response.writeHead(204).end()
  })
  await new Promise<void>(done => receiver.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  return {
    collector,
    auditUrl: `${url}/audit`,
    eventsUrl: `${url}/events`,
    audited: () => bodies.join('\n'),
  }
}

export interface OpenStream {
  /** All of it, until now. */
  seen(): string
  close(): void
}

/** A stream of server-sent events, as root. Resolves when it is open. */
export function openStream(t: Test, server: TestServer, path: string, query = ''): Promise<OpenStream> {
  const host = String(server.startup.console)
  const [hostname, port] = host.split(':')
  const target = `/api/v1${path}`
  const request = { method: 'GET', host, path: target, query, headers: {}, nowMs: Date.now() }
  const { headers } = signRequest({ accessKey, secret: secretKey, region }, request)
  let seen = ''
  return new Promise((done, fail) => {
    const sent = get({ hostname, port, path: `${target}?${query}`, headers, agent: false }, answer => {
      if (answer.statusCode !== 200) return fail(new Error(`${path}: ${answer.statusCode}`))
      answer.setEncoding('utf8')
      answer.on('data', chunk => {
        seen += chunk
      })
      answer.on('error', () => {})
      const close = () => sent.destroy()
      t.teardown(close)
      done({ seen: () => seen, close })
    })
    sent.on('error', fail)
  })
}

/** What can be asked for afterwards. */
export async function askAfterwards(server: TestServer): Promise<Record<string, string>> {
  const admin = createAdminClient(server)
  const pages: unknown[] = []
  for (let cursor = ''; ; ) {
    const page = await admin.call('GET', `/audit?limit=1000${cursor}`)
    pages.push(page)
    if (!page.nextCursor) break
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
  const { token } = await admin.call('POST', '/metrics/prometheus-token', {})
  const scrapes = await Promise.all(
    ['node', 'cluster', 'bucket'].map(scope =>
      fetch(`${server.endpoint}/svc/metrics/v1/${scope}`, { headers: { authorization: `Bearer ${token}` } }).then(
        answer => answer.text(),
      ),
    ),
  )
  return {
    'audit search': JSON.stringify(pages),
    metrics: scrapes.join('\n'),
    configuration: JSON.stringify(await admin.call('GET', '/config')),
    'exported configuration': JSON.stringify(await admin.call('GET', '/config/export')),
    'report of a bug': await diagnose(server),
  }
}

async function diagnose(server: TestServer): Promise<string> {
  const report = join(server.folder, 'report.zip')
  const env = {
    PATH: process.env.PATH,
    SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'),
    SVCCTL_SECRET_KEY: secretKey,
  }
  const call = (...args: string[]) =>
    run(process.execPath, [svcctlProgram, '--admin-url', `http://${server.startup.console}`, ...args], {
      env,
    })
  await call('alias', 'set', 'home', server.endpoint, accessKey)
  const { stdout, stderr } = await call('--debug', 'admin', 'diagnose', 'home', '--output', report)
  const folder = join(server.folder, 'report')
  execFileSync('unzip', ['-q', report, '-d', folder])
  const files = execFileSync('ls', [folder], { encoding: 'utf8' }).trim().split('\n')
  return [stdout, stderr, ...files.map(file => readFileSync(join(folder, file), 'latin1'))].join('\n')
}
