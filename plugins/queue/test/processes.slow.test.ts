/** Real processes with threads: killed with SIGKILL while they put and deliver, several times; and the service in a worker. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { seeded, testRounds } from 'svc/testing'
import t from 'tap'

const rounds = testRounds({ laptop: 3, ci: 3, long: 6 })
const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/server.ts', import.meta.url).pathname
const folder = await mkdtemp(join(tmpdir(), 'svc-queue-'))
t.teardown(() => rm(folder, { recursive: true }))
const config = join(folder, 'config.json')
await writeFile(config, JSON.stringify({ plugins: ['svc/plugins/standard', fixture] }))

interface Fact {
  readonly put?: string
  readonly sent?: string
  readonly number: number
  readonly [name: string]: unknown
}

function start(drive: string, workers: number, scenario: string, from = 0): ChildProcess {
  const command = ['--conditions=svc-src', main, 'server', '--config', config, '--workers', String(workers), drive]
  return spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      SVC_KMS_SECRET_KEY: `test:${Buffer.alloc(32, 5).toString('base64')}`,
      SVC_ROOT_USER: 'rootaccess',
      SVC_ROOT_PASSWORD: 'root password',
      SVC_ADDRESS: '127.0.0.1:0',
      SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
      TEST_SCENARIO: scenario,
      TEST_FROM: String(from),
    },
  })
}

async function factsOf(child: ChildProcess, onFact?: (count: number) => void): Promise<Fact[]> {
  const facts: Fact[] = []
  let log = ''
  child.stderr!.on('data', data => {
    log += data
  })
  for await (const line of createInterface({ input: child.stdout! })) {
    // The last line may be cut off.
    if (!line.startsWith('{') || !line.endsWith('}')) continue
    const fact = JSON.parse(line)
    if (fact.level !== undefined) {
      log += `${line}\n`
      continue
    }
    facts.push(fact)
    onFact?.(facts.length)
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  if (child.exitCode !== null && child.exitCode !== 0) throw new Error(`it ended with ${child.exitCode}: ${log}`)
  return facts
}

t.test('entries that a killed server had acknowledged are delivered, in order', async t => {
  for (const workers of [0, 2]) {
    await seeded(t, async random => {
      const drive = join(folder, `drive-${workers}`)
      let acknowledged = 0
      /** By key: numbers of entries that were acknowledged and not sent. */
      const waiting = new Map<string, Set<number>>()
      const sent = new Set<string>()
      const faults: string[] = []
      let next = 1
      let again = 0
      for (let round = 0; round <= rounds; round++) {
        const isLast = round === rounds
        const child = start(drive, workers, isLast ? 'rest' : 'load', next)
        const enough = 300 + random.integer(3000)
        const facts = await factsOf(child, count => {
          // The process runs on until the signal reaches it; its output until then counts, too.
          if (!isLast && count === enough) setTimeout(() => child.kill('SIGKILL'), random.float() * 20)
        })
        const inThisRun = new Map<string, number>()
        for (const { put, sent: key, number, failed } of facts) {
          if (failed !== undefined) faults.push(String(failed))
          next = Math.max(next, number + 1)
          if (put !== undefined) {
            acknowledged++
            if (!waiting.has(put)) waiting.set(put, new Set())
            if (!sent.has(`${put}:${number}`)) waiting.get(put)!.add(number)
          }
          if (key === undefined) continue
          const before = inThisRun.get(key)
          if (before !== undefined && number <= before) faults.push(`${key}: ${number} after ${before}`)
          inThisRun.set(key, number)
          if (sent.has(`${key}:${number}`)) again++
          sent.add(`${key}:${number}`)
          const others = waiting.get(key)
          others?.delete(number)
          for (const other of others ?? []) if (other < number) faults.push(`${key}: ${number} before ${other}`)
        }
        // Numbers that were put but not acknowledged may come later.
        next += 100
      }
      t.same(faults, [])
      t.same(
        [...waiting.values()].flatMap(numbers => [...numbers]),
        [],
        'every entry was delivered',
      )
      t.ok(acknowledged > 500)
      t.comment(`${workers} workers: ${acknowledged} acknowledged, ${sent.size} sent, ${again} of them again`)
    })
  }
})

t.test('a worker can call the same methods as the main thread', async t => {
  const facts = await factsOf(start(join(folder, 'drive-threads'), 1, 'threads'))
  const full = { pending: 3, pendingBytes: 3, deadLetters: 0 }
  t.same(facts, [
    { pushed: 3, status: full, queues: ['asked'] },
    { letters: ['a', 'b', 'c'], queuedAgain: 3, status: full },
    {
      cleared: 3,
      status: { pending: 0, pendingBytes: 0, deadLetters: 0 },
      deliver: 'queue: only the main thread delivers',
    },
  ])
})
