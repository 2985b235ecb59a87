/**
 * A disk that fails under each file of a drive, in each way, at the first call and later: what is acknowledged stays, health tells the
 * truth, the process ends when it is asked to, and what it left can be read by the next one.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { bytesOf } from '../wire/clients.ts'
import { startServer, type TestServer, workerCount } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { createDiskFaults, type DiskFaults, type Fault, whyNoFaults } from './disk-faults.ts'
import { AnswerError, createOperations, type Operations } from './operations.ts'

// Servers start slowly on a busy machine.
t.setTimeout(1_200_000)
const skip = whyNoFaults()
// When a write fails, the package `lmdb` (3.5.6, mdb_page_flush) prints its reason into 100 bytes. Garbage of the stack decides whether they
// are too few. Where they are, the server ends: in order, or by the abort of a damaged heap when that is seen first. So it
// does after a failed write of the root, in 5 of 145 rounds.
const attemptsMax = 20
const folder = mkdtempSync(join(tmpdir(), 'svc-disk-faults-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** The root pages of the index. */
const rootBytes = 2 * 8192
const smallBytes = 5000
const largeBytes = 400_000

interface Health {
  readonly live: number
  readonly ready: number
  readonly cluster: number
}

class Rig {
  readonly server: TestServer
  readonly s3: Operations
  readonly stored = new Map<string, Buffer>()
  readonly #disconnect: () => void
  readonly #faults: DiskFaults
  #count = 0
  #startOfLife = 0

  constructor(server: TestServer, faults: DiskFaults) {
    this.server = server
    this.#faults = faults
    const client = createSignedClient(server.port)
    this.s3 = createOperations(client, 'faults')
    this.#disconnect = () => client.disconnect()
  }

  /** Whether it was acknowledged. Another error than an honest refusal is thrown. */
  async put(size: number): Promise<boolean> {
    const key = `k${this.#count++}`
    const body = bytesOf(key, size)
    try {
      await this.s3.put(key, body)
    } catch (error) {
      if (error instanceof AnswerError && [500, 503, 507].includes(error.status)) return false
      throw error
    }
    this.stored.set(key, body)
    return true
  }

  /** Keys that cannot be read, or are not what was stored. */
  async unreadable(): Promise<string[]> {
    const bad: string[] = []
    for (const [key, body] of this.stored) {
      const found = await this.s3.get(key).catch(error => {
        if (error instanceof AnswerError) return undefined
        throw error
      })
      if (!found?.equals(body)) bad.push(key)
    }
    return bad
  }

  async health(): Promise<Health> {
    const [live, ready, cluster] = await Promise.all(
      ['live', 'ready', 'cluster'].map(async name => {
        const answer = await fetch(`http://127.0.0.1:${this.server.port}/svc/health/${name}`)
        await answer.arrayBuffer()
        return answer.status
      }),
    )
    return { live: live!, ready: ready!, cluster: cluster! }
  }

  async until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      if (await isTrue()) return
      await sleep(100)
    }
    throw new Error(`never: ${what}\n${this.server.log().slice(-5000)}`)
  }

  /** Whether the server has ended because the library of the index has damaged its memory. Another end than that is thrown. */
  async hasDamagedHeap(error: unknown): Promise<boolean> {
    // The order to end comes at most one turn after the answer. Without an answer the process is ending, which takes as long as it takes.
    const isCutOff = (error as NodeJS.ErrnoException).code === 'ECONNRESET'
    const code = await Promise.race([this.server.ended, sleep(isCutOff ? 20_000 : 200, undefined, { ref: false })])
    if (code === undefined) return false
    const { endSignal } = this.server
    const isKnown = (endSignal === null ? /has damaged the memory/ : /malloc|free\(\)|corrupt/).test(this.log())
    if (!isKnown) throw new Error(`The server ended with ${code ?? endSignal}\n${this.log().slice(-5000)}`)
    return true
  }

  /** Everything that the server has logged in its present life. */
  log(): string {
    return this.server.log().slice(this.#startOfLife)
  }

  /** Ends the server, which must not need a signal that kills. */
  async stop(): Promise<void> {
    if ((await this.server.stop()) === null) throw new Error('The server did not end by itself')
  }

  async restart(): Promise<void> {
    this.#startOfLife = this.server.log().length
    await this.server.start()
  }

  /** Runs `scenario` until it ends otherwise than by a damaged heap, and reads everything after each such end. */
  async survive(t: Test, scenario: () => Promise<void>): Promise<void> {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      try {
        await scenario()
        return
      } catch (error) {
        if (!(await this.hasDamagedHeap(error))) throw error
      }
      this.#faults.end()
      await this.restart()
      t.strictSame(await this.unreadable(), [], 'nothing is lost by a damaged heap')
    }
    throw new Error(`The heap was damaged ${attemptsMax} times`)
  }

  async remove(): Promise<void> {
    this.#disconnect()
    await this.server.remove()
  }
}

async function start(
  t: Test,
  name: string,
  faults: DiskFaults,
  workers: number,
  environment: Record<string, string> = {},
): Promise<Rig> {
  const all = { ...faults.environment, SVC_WORKERS: String(workers), SVC_STOP_TIMEOUT: '5s', ...environment }
  const rig = new Rig(await startServer({ drives: [join(folder, name)], environment: all }), faults)
  t.teardown(() => rig.remove())
  await rig.s3.createBucket()
  for (const size of [smallBytes, largeBytes]) await rig.put(size)
  return rig
}

/** Each file of a drive that is written while a server serves. */
const files = ['/index/data.mdb', '/journal/00', '/blobs/', '/journal.reached', '/index.state'] as const
const allWays: readonly Omit<Fault, 'path'>[] = [
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'EIO', count: 1 },
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'EIO', count: 1, skipped: 2 },
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'EIO' },
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'ENOSPC', count: 3 },
  { kind: 'fail', calls: ['syncs'], error: 'EIO', count: 1 },
  { kind: 'short', calls: ['writes'], count: 1 },
  { kind: 'slow', calls: ['writes', 'syncs', 'reads'] },
]

// A drive that takes no more writes needs a restart after each of them: all of them take minutes.
const ways = process.env.TEST_LONG === undefined ? allWays.filter((_, i) => i % 3 === 0) : allWays
const workers = workerCount

t.test(`faults under each file, ${workers} workers`, { skip }, async t => {
  const faults = createDiskFaults(folder)
  const rig = await start(t, `each-${workers}`, faults, workers, { SVC_DRIVE_CHECKPOINT_INTERVAL_MS: '50ms' })
  for (const path of files) {
    for (const way of ways) {
      const what = `${path} ${JSON.stringify(way)}`
      await rig.survive(t, async () => {
        faults.inject({ ...way, path: `each-${workers}${path}` })
        for (let i = 0; i < 3; i++) for (const size of [smallBytes, largeBytes]) await rig.put(size)
        await sleep(300)
        const injected = faults.end()
        const { live, ready, cluster } = await rig.health()
        // What cannot be written is not said to be writable.
        const isWritable = await rig.put(smallBytes)
        if (cluster === 200 && !isWritable) {
          await rig.until(
            `${what}: the probe says so`,
            async () => (await rig.put(smallBytes)) || (await rig.health()).cluster === 503,
          )
        }
        if (ready === 200) t.equal(live, 200, what)
        if (live === 200) t.strictSame(await rig.unreadable(), [], `${what}: ${injected} faults`)
        if (cluster === 200 && isWritable) return
        await rig.stop()
        await rig.restart()
        t.strictSame(await rig.unreadable(), [], `${what}: and after a restart`)
        t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 }, what)
      })
      faults.end()
    }
  }
  t.not(await rig.server.stop(), null)
})

t.test(`a lost index of a single drive, ${workers} workers`, { skip }, async t => {
  const faults = createDiskFaults(folder)
  const rig = await start(t, `lost-${workers}`, faults, workers)
  const index: Fault = { kind: 'fail', calls: ['writes'], path: `lost-${workers}/index/data.mdb`, end: rootBytes }
  await rig.survive(t, async () => {
    faults.inject({ ...index, count: 1 })
    await rig.put(smallBytes)
    await rig.until('the drive is opened again', async () => rig.log().includes('the drive is open again'))
    t.equal(faults.end(), 1)
    t.strictSame(await rig.unreadable(), [])
    t.ok(await rig.put(largeBytes), 'and it is written')
    t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })

    // The second time within minutes it is left to the operator.
    faults.inject(index)
    await rig.put(smallBytes)
    await rig.until('health tells that only a restart helps', async () => (await rig.health()).live === 503)
    t.strictSame(await rig.health(), { live: 503, ready: 503, cluster: 503 })
    t.notOk(await rig.put(smallBytes))
    faults.end()
    await rig.stop()
  })
  await rig.restart()
  t.strictSame(await rig.unreadable(), [])
  t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })
})

t.test(`a lost index of a drive of a set, ${workers} workers`, { skip }, async t => {
  const faults = createDiskFaults(folder)
  const rig = await start(t, `set-${workers}-{1...4}`, faults, workers)
  const path = `set-${workers}-1/index/data.mdb`
  await rig.survive(t, async () => {
    faults.inject({ kind: 'fail', calls: ['writes'], path, end: rootBytes })
    await rig.put(smallBytes)
    await rig.until('the drive is offline', async () => rig.log().includes('a drive of the set has failed'))
    t.ok(await rig.put(largeBytes), 'the set goes on')
    t.strictSame(await rig.unreadable(), [])
    t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })
    faults.end()
    await rig.until('the drive is back', async () => rig.log().includes('all drives of the set have all records'))
    await rig.stop()
  })
})

for (const error of ['ENOSPC', 'EROFS'] as const) {
  const isReadOnly = error === 'EROFS'
  const kind = isReadOnly ? 'read-only' : 'full'
  t.test(`drives of a set that are ${kind}, ${workers} workers`, { skip }, async t => {
    const faults = createDiskFaults(folder)
    const name = `${kind}-${workers}-`
    const rig = await start(t, `${name}{1...4}`, faults, workers)
    const calls = isReadOnly ? (['writes', 'syncs', 'entries'] as const) : (['writes'] as const)
    await rig.survive(t, async () => {
      faults.inject({ kind: 'fail', calls, error, path: `${name}1/` })
      for (let i = 0; i < 4; i++)
        for (const size of [smallBytes, largeBytes]) t.ok(await rig.put(size), 'the set goes on')
      t.strictSame(await rig.unreadable(), [])
      t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })
      t.ok(faults.end() > 0)
      await rig.until('the drive is back', async () => rig.log().includes('all drives of the set have all records'))

      // All of them: nothing is acknowledged, health tells it, and the set comes back by itself.
      faults.inject({ kind: 'fail', calls, error, path: name })
      for (const size of [smallBytes, largeBytes]) t.notOk(await rig.put(size))
      await rig.until('health tells it', async () => (await rig.health()).cluster === 503)
      t.match(await rig.health(), { ready: 503, cluster: 503 })
      faults.end()
      await rig.until('it is written again', () => rig.put(largeBytes))
      t.strictSame(await rig.unreadable(), [])
      await rig.stop()
    })
    await rig.restart()
    t.strictSame(await rig.unreadable(), [])
    t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })
  })
}

t.test(`a missing blob, ${workers} workers`, { skip }, async t => {
  const faults = createDiskFaults(folder)
  const rig = await start(t, `missing-${workers}`, faults, workers)
  rmSync(join(folder, `missing-${workers}`, 'blobs'), { recursive: true })
  await t.rejects(rig.s3.get('k1'), { status: 500, code: 'InternalError' })
  await t.rejects(rig.s3.get('k1'), { status: 500, code: 'InternalError' })
  const told = () => rig.server.log().split('the body of an object is missing or damaged').length - 1
  await rig.until('it is told', async () => told() > 0)
  t.equal(told(), 1, 'told once')
})
