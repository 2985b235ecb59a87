/** Starts pebble, the test server of Let's Encrypt, and its DNS server for challenges, on loopback ports. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request as requestPlain } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { findLastingPort, temporaryFolder } from 'svc/testing'
import type { Test } from 'tap'

export interface PebbleOptions {
  /** The ports on 127.0.0.1 where it validates http-01 and tls-alpn-01, for any name. */
  readonly httpPort: number
  readonly tlsPort: number
  /** Seconds; default 90 days. */
  readonly validitySeconds?: number
  /** Per cent of nonces that are refused; default 5: the library gives up after six in a row, which 20 are too often in a thousand requests. */
  readonly nonceRejects?: number
  /** Accounts need an external account: its key id and its key. */
  readonly externalAccount?: { readonly keyId: string; readonly key: string }
  /** A DNS server in the place of its own. */
  readonly dnsServer?: string
}

export interface Pebble {
  readonly directory: string
  readonly port: number
  /** The DNS server that it asks: `127.0.0.1:8053`. */
  readonly dnsServer: string
  /** PEM file of the CA of its API. */
  readonly caFile: string
  /** PEM file of that certificate's key, for a server in front. */
  readonly keyFile: string
  /** PEM of the root of its certificates, of this run. */
  root(): Promise<string>
  /** Makes the DNS server answer with this address for the name. */
  setAddress(name: string, address: string): Promise<void>
  /** Everything that it has written. */
  log(): string
  stop(): Promise<void>
  /** Again, on the same ports; it forgets everything when it stops. */
  start(): Promise<void>
}

const startDeadlineMs = 20_000

/** Stopped when the test ends. */
export async function startPebble(t: Test, options: PebbleOptions): Promise<Pebble> {
  const folder = temporaryFolder(t)
  const [port, managementPort, dnsPort, dnsManagementPort] = [
    await findLastingPort(),
    await findLastingPort(),
    await findLastingPort(),
    await findLastingPort(),
  ]
  const [keyFile, caFile, configFile] = ['key.pem', 'cert.pem', 'config.json'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
      ],
      ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', keyFile, '-out', caFile],
    ],
    { stdio: 'ignore' },
  )
  const { httpPort, tlsPort, validitySeconds = 90 * 86_400, externalAccount, nonceRejects = 5 } = options
  writeFileSync(
    configFile,
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: caFile,
        privateKey: keyFile,
        httpPort,
        tlsPort,
        ocspResponderURL: '',
        certificateValidityPeriod: validitySeconds,
        externalAccountBindingRequired: externalAccount !== undefined,
        ...(externalAccount && { externalAccountMACKeys: { [externalAccount.keyId]: externalAccount.key } }),
      },
    }),
  )
  const output: string[] = []
  const children = new Set<ChildProcess>()
  const run = (program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => output.push(String(data)))
    children.add(child)
    child.on('close', () => children.delete(child))
    return child
  }
  const dnsArguments = ['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsManagementPort}`]
  const none = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv4', '127.0.0.1', '-defaultIPv6', '']
  run('pebble-challtestsrv', [...dnsArguments, ...none])
  let child: ChildProcess

  const dnsServer = options.dnsServer ?? `127.0.0.1:${dnsPort}`

  async function start(): Promise<void> {
    child = run('pebble', ['-config', configFile, '-strict', '-dnsserver', dnsServer], {
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_AUTHZREUSE: '0',
      PEBBLE_WFE_NONCEREJECT: String(nonceRejects),
    })
    for (const each of [port, managementPort]) await opened(each)
  }

  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const closed = new Promise(done => child.once('close', done))
    child.kill('SIGKILL')
    await closed
  }

  const manageDns = (path: string, body: object) =>
    new Promise<void>((done, fail) => {
      requestPlain({ host: '127.0.0.1', port: dnsManagementPort, path, method: 'POST' }, answer => {
        answer.resume()
        answer.on('end', () => done())
      })
        .on('error', fail)
        .end(JSON.stringify(body))
    })

  t.teardown(() => {
    for (const each of children) each.kill('SIGKILL')
  })
  await opened(dnsManagementPort)
  await start()
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    port,
    dnsServer,
    caFile,
    keyFile,
    root: () =>
      new Promise((done, fail) => {
        const ca = readFileSync(caFile)
        request({ host: '127.0.0.1', port: managementPort, path: '/roots/0', ca }, answer =>
          text(answer).then(done, fail),
        )
          .on('error', fail)
          .end()
      }),
    async setAddress(name, address) {
      await manageDns('/clear-a', { host: name })
      await manageDns('/add-a', { host: name, addresses: [address] })
    },
    log: () => output.join(''),
    stop,
    start,
  }
}

async function opened(port: number): Promise<void> {
  const deadlineMs = Date.now() + startDeadlineMs
  for (;;) {
    const isOpen = await new Promise<boolean>(done => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy()
        done(true)
      })
      socket.on('error', () => done(false))
    })
    if (isOpen) return
    if (Date.now() > deadlineMs) throw new Error(`nothing listens on port ${port}`)
    await new Promise(done => setTimeout(done, 50))
  }
}
