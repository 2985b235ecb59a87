/** Consistency over threads, in real processes with workers: random histories against a model, contention, kill -9. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { seeded } from 'svc/testing'
import t from 'tap'

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/server.ts', import.meta.url).pathname
const folder = await mkdtemp(join(tmpdir(), 'svc-store-'))
t.teardown(() => rm(folder, { recursive: true }))
const config = join(folder, 'config.json')
await writeFile(config, JSON.stringify({ plugins: [fixture] }))

type Fact = Record<string, unknown>
let driveCount = 0
const newDrive = () => join(folder, `drive-${++driveCount}`)

function start(
  drive: string,
  workers: number,
  scenario: string,
  environment: Record<string, string> = {},
): ChildProcess {
  const command = ['--conditions=svc-src', main, 'server', '--config', config, '--workers', String(workers), drive]
  return spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      SVC_KMS_SECRET_KEY: `test:${Buffer.alloc(32, 5).toString('base64')}`,
      TEST_SCENARIO: scenario,
      ...environment,
    },
  })
}

/** All reports of the process until it ended, or until `onFact` killed it. */
async function factsOf(child: ChildProcess, onFact?: (facts: readonly Fact[]) => void): Promise<Fact[]> {
  const facts: Fact[] = []
  let log = ''
  child.stderr!.on('data', data => {
    log += data
  })
  for await (const line of createInterface({ input: child.stdout! })) {
    if (!line.endsWith('}')) break
    facts.push(JSON.parse(line))
    onFact?.(facts)
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  if (child.exitCode !== null && child.exitCode !== 0) throw new Error(`it ended with ${child.exitCode}: ${log}`)
  return facts
}

t.test('random operations in random threads behave like a simple model', async t => {
  for (const workers of [0, 2]) {
    await seeded(t, async random => {
      const drive = newDrive()
      const environment = { TEST_SEED: String(random.seed), TEST_STEPS: process.env.STEPS ?? '1500' }
      const [result] = await factsOf(start(drive, workers, 'history', environment))
      t.strictSame(result, { steps: Number(environment.TEST_STEPS) })
      const files = globSync('**', { cwd: drive, withFileTypes: true }).filter(file => file.isFile())
      t.ok(files.length > 3)
      for (const file of files) {
        t.notOk(readFileSync(join(file.parentPath, file.name)).includes('planted-'), `no secret lies in ${file.name}`)
      }
    })
  }
})

t.test('no addition of any thread is lost, readers never see an older state, watchers see all changes', async t => {
  for (const workers of [0, 2]) {
    const [{ results, sums, heard }] = (await factsOf(start(newDrive(), workers, 'additions'))) as [
      Record<string, unknown>,
    ]
    const threads = workers + 1
    t.strictSame(results, Array(threads).fill({ mistakes: 0, isRead: true }))
    t.strictSame(sums, [120 * threads, 60 * threads])
    t.strictSame(heard, Array(threads).fill({ x: 120 * threads, y: 60 * threads, gaps: 0 }))
  }
})

t.test('acknowledged writes survive kill -9, and transactions survive as a whole', async t => {
  const rounds = Number(process.env.ROUNDS ?? 4)
  await seeded(t, async random => {
    const drive = newDrive()
    const acknowledged = new Map<string, number>()
    let from = 1
    for (let round = 0; round < rounds; round++) {
      const child = start(drive, 2 * (round % 2), 'writing', { TEST_FROM: String(from) })
      const enough = 50 + random.integer(400)
      const facts = await factsOf(child, ({ length }) => {
        if (length === enough) setTimeout(() => child.kill('SIGKILL'), random.float() * 20)
      })
      t.ok(facts.length >= enough)
      for (const { id, n } of facts as { id: string; n: number }[]) {
        acknowledged.set(id, Math.max(n, acknowledged.get(id) ?? 0))
        from = Math.max(from, n + 2)
      }
      const [found] = (await factsOf(start(drive, 0, 'dump'))) as [Record<'left' | 'right', Record<string, number>>]
      t.strictSame(found.left, found.right, 'both documents of each transaction, or neither')
      for (const [id, n] of acknowledged) {
        const stored = found.left[id]!
        t.ok(stored === n || stored === n + 1, `${id}: ${n} was acknowledged, ${stored} is stored`)
      }
    }
  })
})
