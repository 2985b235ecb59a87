/** A real collector that takes OTLP over gRPC and HTTP and answers what it has: Phoenix (PyPI `arize-phoenix`), on random ports of the loopback interface. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort, temporaryFolder } from 'svc/testing'
import type { Test } from 'tap'

/** Python loads some hundred modules. */
const startDeadlineMs = 180_000
const program = process.env.PHOENIX ?? 'phoenix'

// If the runner ends the test process, the service must end, too.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** Why tests that need it are skipped. Debian does not have it, so CI may lack it as well. */
export const skip: string | false =
  spawnSync('which', [program]).status !== 0 &&
  `${program} is not installed: \`python3 -m venv DIR && DIR/bin/pip install arize-phoenix\`, and PHOENIX=DIR/bin/phoenix`

export interface PhoenixSpan {
  readonly name: string
  readonly span_kind: string
  readonly status_code: string
  readonly context: { readonly trace_id: string; readonly span_id: string }
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface Phoenix {
  /** By the protocol that it takes. */
  readonly endpoints: { readonly grpc: string; readonly 'http/protobuf': string }
  /** Of a project, as its own API answers them; traces name it by the resource attribute `openinference.project.name`. */
  spans(project: string): Promise<readonly PhoenixSpan[]>
}

export async function startPhoenix(t: Test): Promise<Phoenix> {
  const folder = temporaryFolder(t)
  const [port, grpcPort] = [await findLastingPort(), await findLastingPort()]
  const env = {
    ...process.env,
    PHOENIX_WORKING_DIR: folder,
    PHOENIX_HOST: '127.0.0.1',
    PHOENIX_PORT: String(port),
    PHOENIX_GRPC_PORT: String(grpcPort),
    PHOENIX_TELEMETRY_ENABLED: 'false',
  }
  const child: ChildProcess = spawn(program, ['serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', text => {
      log = (log + text).slice(-10_000)
    })
  }
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const ended = new Promise(done => child.once('close', done))
  t.teardown(async () => {
    kill()
    await ended
    process.off('exit', kill)
  })
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
  const deadlineMs = performance.now() + startDeadlineMs
  for (;;) {
    const isReady = await ask('/healthz').then(
      answer => answer.ok,
      () => false,
    )
    if (isReady) break
    if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error(`phoenix does not start: ${log}`)
    await sleep(100)
  }
  return {
    endpoints: { grpc: `http://127.0.0.1:${grpcPort}`, 'http/protobuf': `http://127.0.0.1:${port}` },
    async spans(project) {
      const answer = await ask(`/v1/projects/${project}/spans?limit=1000`)
      // Before its first span there is no project.
      if (!answer.ok) return []
      return ((await answer.json()) as { readonly data: readonly PhoenixSpan[] }).data
    },
  }
}
