/** A real bind9 on a random port of the loopback interface, in a folder of its own, ended by its process id. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 90_000

// Where Debian has the server.
process.env.PATH += `${delimiter}/usr/sbin`

// A test process that is ended by its runner must not leave a server behind.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** False, or why tests that need the server are skipped. */
export function skipWithoutNamed(): string | false {
  if (spawnSync('which', ['named', 'nsupdate', 'tsig-keygen']).status === 0) return false
  if (process.env.CI) throw new Error('named or nsupdate (bind9, bind9-dnsutils) is not installed, and CI is set')
  return 'named or nsupdate is not installed'
}

/** With one zone, which a key may change. Ended with the test. */
export async function startNamed(t: Test, zone: string) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-named-'))
  const at = (name: string) => join(folder, name)
  const port = await findLastingPort()
  const keyName = 'svc-key'
  const key = execFileSync('tsig-keygen', ['-a', 'hmac-sha256', keyName], { encoding: 'utf8' })
  const options = [
    `directory "${folder}"; pid-file "${at('pid')}"; session-keyfile "${at('session.key')}";`,
    `listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };`,
    'recursion no; dnssec-validation no; notify no; empty-zones-enable no;',
  ]
  const lines = [
    key,
    `options { ${options.join(' ')} };`,
    'controls { };',
    `zone "${zone}" { type master; file "${at('zone')}"; allow-update { key ${keyName}; }; };`,
  ]
  writeFileSync(at('named.conf'), lines.join('\n'))
  const soa = `@ IN SOA ns.${zone}. root.${zone}. ( 1 60 60 600 1 )`
  writeFileSync(at('zone'), ['$TTL 1', soa, `@ IN NS ns.${zone}.`, 'ns IN A 127.0.0.1', ''].join('\n'))

  const child = spawn('named', ['-g', '-c', at('named.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', text => {
    log = `${log}${text}`.slice(-8000)
  })
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  t.teardown(async () => {
    process.off('exit', kill)
    const ended = new Promise(done => child.once('exit', done))
    if (child.kill('SIGKILL')) await ended
    rmSync(folder, { recursive: true, force: true })
  })

  const resolver = new Resolver({ timeout: 500, tries: 1 })
  resolver.setServers([`127.0.0.1:${port}`])
  const deadlineMs = performance.now() + startDeadlineMs
  const isReady = () =>
    resolver.resolveSoa(zone).then(
      () => true,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error(`named does not start: ${log}`)
    await sleep(50)
  }
  return {
    port,
    keyName,
    secret: /secret "([^"]+)"/.exec(key)![1]!,
    /** TXT values at a name. */
    async values(name: string): Promise<readonly string[]> {
      try {
        return (await resolver.resolveTxt(name)).map(parts => parts.join(''))
      } catch (error) {
        const { code } = error as { code?: string }
        if (code === 'ENODATA' || code === 'ENOTFOUND') return []
        throw error
      }
    },
    /** Takes requests and answers none. */
    hang: () => hangProcesses([child.pid!]),
  }
}
