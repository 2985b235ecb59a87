/** A real Mosquitto, on a random port of the loopback interface, in a folder of its own, ended by its process id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 90_000

// Where Debian has the broker.
process.env.PATH += `${delimiter}/usr/sbin`

// A test process that is ended by its runner must not leave a broker behind.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** False, or why tests that need these programs are skipped. */
export function skipWithout(...names: readonly string[]): string | false {
  const missing = names.filter(name => spawnSync('which', [name]).status !== 0)
  if (missing.length > 0 && process.env.CI) throw new Error(`${missing.join(', ')} is not installed, and CI is set`)
  return missing.length > 0 && `${missing.join(', ')} is not installed`
}

export interface Mosquitto {
  readonly port: number
  readonly folder: string
  start(): Promise<void>
  stop(): Promise<void>
  hang(): Promise<void>
  resume(): void
}

/** `configure` gets the folder and returns more lines of its configuration. */
export async function startMosquitto(t: Test, configure: (folder: string) => readonly string[]): Promise<Mosquitto> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mosquitto-'))
  const port = await findLastingPort()
  const file = join(folder, 'mosquitto.conf')
  const log = join(folder, 'log')
  // Started by root it would become another user, who may not read the folder.
  const fixed = ['user root', `log_dest file ${log}`, `listener ${port} 127.0.0.1`]
  writeFileSync(file, [...fixed, ...configure(folder), ''].join('\n'))
  let child: ChildProcess | undefined
  const kill = () => void child?.kill('SIGKILL')
  process.on('exit', kill)
  const broker: Mosquitto = {
    port,
    folder,
    async start() {
      child = spawn('mosquitto', ['-c', file], { stdio: 'ignore' })
      const deadlineMs = performance.now() + startDeadlineMs
      while (!(await answers(port))) {
        if (child.exitCode !== null || performance.now() > deadlineMs) {
          throw new Error(`Mosquitto does not start: ${readFileSync(log, 'utf8')}`)
        }
        await sleep(10)
      }
    },
    async stop() {
      const stopped = child
      if (stopped === undefined || stopped.exitCode !== null || stopped.signalCode !== null) return
      const ended = new Promise(done => stopped.once('exit', done))
      stopped.kill('SIGKILL')
      await ended
    },
    hang: () => hangProcesses([child!.pid!]),
    resume: () => void child!.kill('SIGCONT'),
  }
  t.teardown(async () => {
    process.off('exit', kill)
    await broker.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await broker.start()
  return broker
}

function answers(port: number): Promise<boolean> {
  return new Promise(done => {
    const socket = connect(port, '127.0.0.1', () => socket.destroy(done(true) as undefined))
    socket.once('error', () => done(false))
  })
}
