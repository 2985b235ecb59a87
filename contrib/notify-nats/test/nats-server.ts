/** A real nats-server, on a random port of the loopback interface, in its own folder, ended by its process id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NodeConnectionOptions } from '@nats-io/transport-node'
import { findLastingPort, hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 90_000

/** Why tests that need it are skipped; false if it is installed. */
export const skip = findSkip()

function findSkip(): string | false {
  const missing = ['nats-server', 'openssl'].filter(name => spawnSync('which', [name]).status !== 0)
  if (missing.length > 0 && process.env.CI) throw new Error(`${missing.join(', ')} is not installed, and CI is set`)
  return missing.length > 0 && `${missing.join(', ')} is not installed`
}

export interface StoredMessage {
  readonly subject: string
  readonly body: string
  readonly id: string
}

export interface NatsServer {
  readonly port: number
  readonly address: string
  readonly folder: string
  /** Creates a stream with the subjects. `change`: further configuration. */
  addStream(name: string, subjects: readonly string[], change?: Readonly<Record<string, unknown>>): Promise<void>
  /** The messages of a stream, oldest first. */
  read(stream: string): Promise<readonly StoredMessage[]>
  start(): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<void>
  hang(): Promise<void>
  resume(): void
}

/** `configuration` is added to that of ports and storage; `asTest` has the credentials of the test itself. */
export async function startNats(
  t: Test,
  configuration: string,
  asTest: NodeConnectionOptions = {},
): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-nats-'))
  const port = await findLastingPort()
  const file = join(folder, 'nats.conf')
  writeFileSync(
    file,
    `listen: 127.0.0.1:${port}
jetstream { store_dir: "${folder}/js", max_mem: 64MB, max_file: 256MB }
${configuration}
`,
  )
  let child: ChildProcess | undefined
  const kill = () => void child?.kill('SIGKILL')
  process.on('exit', kill)

  const withManager = async <T>(
    work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
  ): Promise<T> => {
    const connection = await connect({ servers: `127.0.0.1:${port}`, reconnect: false, ...asTest })
    try {
      return await work(await jetstreamManager(connection))
    } finally {
      await connection.close()
    }
  }

  const server: NatsServer = {
    port,
    address: `127.0.0.1:${port}`,
    folder,
    addStream: (name, subjects, change) =>
      withManager(async manager => void (await manager.streams.add({ name, subjects: [...subjects], ...change }))),
    read: stream =>
      withManager(async manager => {
        const { state } = await manager.streams.info(stream)
        const messages: StoredMessage[] = []
        for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq++) {
          const message = await manager.streams.getMessage(stream, { seq })
          if (message === null) continue
          messages.push({
            subject: message.subject,
            body: message.string(),
            id: message.header?.get('Nats-Msg-Id') ?? '',
          })
        }
        return messages
      }),
    async start() {
      child = spawn('nats-server', ['-c', file, '-l', join(folder, 'log')], { stdio: 'ignore' })
      const deadlineMs = performance.now() + startDeadlineMs
      while (!(await answers(port))) {
        if (child.exitCode !== null || performance.now() > deadlineMs) {
          throw new Error(`nats-server does not start: ${readFileSync(join(folder, 'log'), 'utf8')}`)
        }
        await sleep(10)
      }
    },
    async stop(signal = 'SIGTERM') {
      const stopped = child
      if (stopped === undefined || stopped.exitCode !== null || stopped.signalCode !== null) return
      const ended = new Promise(resolve => stopped.once('exit', resolve))
      stopped.kill(signal)
      await ended
    },
    hang: () => hangProcesses([child!.pid!]),
    resume: () => void child!.kill('SIGCONT'),
  }
  t.teardown(async () => {
    process.off('exit', kill)
    await server.stop('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await server.start()
  return server
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connectSocket(port, '127.0.0.1')
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
