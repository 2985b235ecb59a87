/** Starts real name servers (bind9) on loopback addresses, for tests of plugins that publish in DNS. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

/** Value for the option `skip` of a test. With `CI` set, a missing program is a failure. */
export function skipWithoutNamed(): string | false {
  if (spawnSync('which', ['named', 'tsig-keygen']).status === 0) return false
  if (process.env.CI) throw new Error('named (bind9) is not installed, and CI is set')
  return 'named (bind9) is not installed'
}

export interface NamedOptions {
  /** Zones that the key may change, and lines of theirs in master format beside SOA and NS. */
  readonly zones: Readonly<Record<string, readonly string[]>>
  /** Lines for the name servers of each zone. Default: `ns.<zone>` at its address. */
  readonly nameservers?: readonly string[]
  /** Algorithm of the key; default hmac-sha256. */
  readonly algorithm?: string
  /** Zones that are there and that the key may not change. */
  readonly fixedZones?: readonly string[]
  /** Loopback address. Default 127.0.0.1. */
  readonly address?: string
  /** Default: a free one. */
  readonly port?: number
  /** Answers for every name, from other servers of the test: `{ 'example.test': '127.0.0.2:5353' }`. */
  readonly forwards?: Readonly<Record<string, string>>
}

export interface Named {
  readonly port: number
  /** `127.0.0.1:5353` */
  readonly server: string
  readonly pid: () => number
  readonly key: { readonly name: string; readonly algorithm: string; readonly secret: string }
  /** TXT values at a name. */
  values(name: string): Promise<readonly string[]>
  /** Takes requests and answers none, until `resume`. */
  hang(): Promise<void>
  resume(): void
  stop(): Promise<void>
  start(): Promise<void>
}

const address = '127.0.0.1'
const keyName = 'svc-key'
const readyMsMax = 20_000
/** The servers to which a server without the zone forwards queries. */
const anyName = 'version.bind'

// Where Debian has the server.
process.env.PATH += `${delimiter}/usr/sbin`

// A test process that is ended by its runner must not leave a server behind.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** Stopped, with its folder, when the test ends. */
export async function startNamed(t: Test, options: NamedOptions): Promise<Named> {
  const { zones, algorithm = 'hmac-sha256', fixedZones = [] } = options
  const port = await findLastingPort()
  const folder = mkdtempSync(join(tmpdir(), 'svc-named-'))
  const at = (name: string) => join(folder, name)
  const key = execFileSync('tsig-keygen', ['-a', algorithm, keyName], { encoding: 'utf8' })
  const secret = /secret "([^"]+)"/.exec(key)![1]!
  writeFileSync(at('key.conf'), key)
  const zoneOf = (zone: string, rights: string) =>
    `zone "${zone}" { type master; file "${at(`${zone}.zone`)}"; allow-update { ${rights}; }; };`
  const lines = [
    `include "${at('key.conf')}";`,
    `options { directory "${folder}"; pid-file "${at('pid')}"; session-keyfile "${at('session.key')}";`,
    `  listen-on port ${port} { ${address}; }; listen-on-v6 { none; };`,
    '  recursion no; dnssec-validation no; notify no; empty-zones-enable no; };',
    'controls { };',
    ...Object.keys(zones).map(zone => zoneOf(zone, `key ${keyName}`)),
    ...fixedZones.map(zone => zoneOf(zone, 'none')),
  ]
  writeFileSync(at('named.conf'), lines.join('\n'))
  for (const zone of [...Object.keys(zones), ...fixedZones]) {
    const servers = options.nameservers ?? [`@ IN NS ns.${zone}.`, `ns IN A ${address}`]
    const soa = `@ IN SOA ns.${zone}. root.${zone}. ( 1 60 60 600 1 )`
    writeFileSync(at(`${zone}.zone`), ['$TTL 1', soa, ...servers, ...(zones[zone] ?? []), ''].join('\n'))
  }

  let child: ChildProcess | undefined
  const resolver = new Resolver({ timeout: 500, tries: 1 })
  // On a machine that is busy with other tests an answer takes seconds.
  const patient = new Resolver({ timeout: 5000, tries: 4 })
  for (const one of [resolver, patient]) one.setServers([`${address}:${port}`])
  const named: Named = {
    port,
    server: `${address}:${port}`,
    pid: () => child!.pid!,
    key: { name: keyName, algorithm, secret },
    async values(name) {
      try {
        return (await patient.resolveTxt(name)).map(parts => parts.join(''))
      } catch (error) {
        const { code } = error as { code?: string }
        if (code === 'ENODATA' || code === 'ENOTFOUND') return []
        throw error
      }
    },
    hang: () => hangProcesses([child!.pid!]),
    resume: () => void child?.kill('SIGCONT'),
    async stop() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
    async start() {
      let output = ''
      child = spawn('named', ['-g', '-c', at('named.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
      child.stderr!.on('data', chunk => {
        output = `${output}${chunk}`.slice(-8000)
      })
      const deadlineMs = performance.now() + readyMsMax
      const [zone = anyName] = [...Object.keys(zones), ...fixedZones]
      for (;;) {
        const isReady = await resolver.resolveSoa(zone).then(
          () => true,
          error =>
            zone === anyName &&
            ['ENODATA', 'ENOTFOUND', 'EREFUSED', 'ESERVFAIL'].includes((error as { code: string }).code),
        )
        if (isReady) return
        if (child.exitCode !== null || performance.now() > deadlineMs)
          throw new Error(`named does not start: ${output}`)
        await sleep(50)
      }
    },
  }
  const kill = () => void child?.kill('SIGKILL')
  process.on('exit', kill)
  t.teardown(async () => {
    process.off('exit', kill)
    await named.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await named.start()
  return named
}
