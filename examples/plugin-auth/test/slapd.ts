/** A real OpenLDAP server, on a random port of the loopback interface, in a folder of its own, ended by its process id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'ldapts'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 90_000

// Where Debian has the server.
process.env.PATH += `${delimiter}/usr/sbin`

// A test process that is ended by its runner must not leave a server behind.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** False, or why tests that need the server are skipped. */
export function skipWithoutSlapd(): string | false {
  if (spawnSync('which', ['slapd']).status === 0) return false
  if (process.env.CI) throw new Error('slapd is not installed, and CI is set')
  return 'slapd is not installed'
}

export const base = 'dc=example,dc=org'
export const userDn = `uid={user},ou=people,${base}`
export const groupBase = `ou=groups,${base}`
export const passwords: Readonly<Record<string, string>> = { ada: 's3cret of ada', bob: 's3cret of bob' }
/** Members by group. */
const groups: Readonly<Record<string, readonly string[]>> = { readers: ['ada', 'bob'], operators: ['ada'] }

export interface Slapd {
  readonly url: string
  /** As its administrator. */
  change(run: (client: Client) => Promise<void>): Promise<void>
  hang(): Promise<void>
  resume(): void
  stop(): Promise<void>
}

export async function startSlapd(t: Test): Promise<Slapd> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-slapd-'))
  const port = await findLastingPort()
  const url = `ldap://127.0.0.1:${port}`
  mkdirSync(join(folder, 'db'))
  const lines = [
    ...['core', 'cosine', 'inetorgperson'].map(name => `include /etc/ldap/schema/${name}.schema`),
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    `pidfile ${folder}/pid`,
    'database mdb',
    `suffix "${base}"`,
    `directory ${folder}/db`,
    `rootdn "cn=admin,${base}"`,
    'rootpw admin-password',
    // Passwords can be tried and not read, and only users see the groups.
    'access to attrs=userPassword by anonymous auth by * none',
    'access to * by users read by * none',
    '',
  ]
  writeFileSync(join(folder, 'slapd.conf'), lines.join('\n'))
  let log = ''
  const child: ChildProcess = spawn('slapd', ['-f', join(folder, 'slapd.conf'), '-h', url, '-d', '0'])
  child.stderr!.on('data', text => (log += text))
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  const slapd: Slapd = {
    url,
    async change(run) {
      const client = new Client({ url })
      await client.bind(`cn=admin,${base}`, 'admin-password')
      await run(client)
      await client.unbind()
    },
    hang: () => hangProcesses([child.pid!]),
    resume: () => void child.kill('SIGCONT'),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise(done => child.once('exit', done))
      child.kill('SIGKILL')
      await ended
    },
  }
  t.teardown(async () => {
    process.off('exit', kill)
    await slapd.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const deadlineMs = performance.now() + startDeadlineMs
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error(`slapd does not start: ${log}`)
    await sleep(10)
  }
  await slapd.change(fill)
  return slapd
}

async function fill(client: Client): Promise<void> {
  await client.add(base, { objectClass: ['dcObject', 'organization'], dc: 'example', o: 'Example' })
  for (const ou of ['people', 'groups']) {
    await client.add(`ou=${ou},${base}`, { objectClass: ['organizationalUnit'], ou })
  }
  for (const [uid, userPassword] of Object.entries(passwords)) {
    await client.add(userDn.replace('{user}', uid), { objectClass: ['inetOrgPerson'], cn: uid, sn: uid, userPassword })
  }
  for (const [cn, members] of Object.entries(groups)) {
    const member = members.map(uid => userDn.replace('{user}', uid))
    await client.add(`cn=${cn},${groupBase}`, { objectClass: ['groupOfNames'], cn, member })
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise(done => {
    const socket = connect(port, '127.0.0.1', () => socket.destroy(done(true) as undefined))
    socket.once('error', () => done(false))
  })
}
