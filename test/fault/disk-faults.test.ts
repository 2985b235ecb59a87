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
import { startServer, type TestServer } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { createDiskFaults, type DiskFaults, type Fault, whyNoFaults } from './disk-faults.ts'
import { AnswerError, createOperations, type Operations } from './operations.ts'

// Servers start slowly on a busy machine.
t.setTimeout(1_200_000)
const skip = whyNoFaults()
// When a write fails, the package `lmdb` (3.5.6, mdb_page_flush) prints its reason into 100 bytes, which are too few: about every third such
// fault ends the server by an abort. Nothing is lost, but which run it hits is chance: these are for `npm run test:long`.
const skipIndex = skip || (process.env.TEST_LONG === undefined && 'faults under an index: npm run test:long')
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
  #count = 0

  constructor(server: TestServer) {
    this.server = server
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
      const found = await this.s3.get(key).catch(() => undefined)
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
  const rig = new Rig(await startServer({ drives: [join(folder, name)], environment: all }))
  t.teardown(() => rig.remove())
  await rig.s3.createBucket()
  for (const size of [smallBytes, largeBytes]) await rig.put(size)
  return rig
}

/** Each file of a drive that is written while a server serves. */
const files = ['/index/data.mdb', '/journal/00', '/blobs/', '/journal.reached', '/index.state'] as const
const ways: readonly Omit<Fault, 'path'>[] = [
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'EIO', count: 1 },
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'EIO', count: 1, skipped: 2 },
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'EIO' },
  { kind: 'fail', calls: ['writes', 'syncs'], error: 'ENOSPC', count: 3 },
  { kind: 'fail', calls: ['syncs'], error: 'EIO', count: 1 },
  { kind: 'short', calls: ['writes'], count: 1 },
  { kind: 'slow', calls: ['writes', 'syncs', 'reads'] },
]

for (const workers of [0, 2]) {
  t.test(`faults under each file, ${workers} workers`, { skip: skipIndex }, async t => {
    const faults = createDiskFaults(folder)
    const rig = await start(t, `each-${workers}`, faults, workers, { SVC_DRIVE_CHECKPOINT_INTERVAL_MS: '50ms' })
    for (const path of files) {
      for (const way of ways) {
        const what = `${path} ${JSON.stringify(way)}`
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
        if (cluster === 200 && isWritable) continue
        t.not(await rig.server.stop(), null, `${what}: it ends by itself`)
        await rig.server.start()
        t.strictSame(await rig.unreadable(), [], `${what}: and after a restart`)
        t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 }, what)
      }
    }
    t.not(await rig.server.stop(), null)
  })

  t.test(`a lost index of a single drive, ${workers} workers`, { skip: skipIndex }, async t => {
    const faults = createDiskFaults(folder)
    const rig = await start(t, `lost-${workers}`, faults, workers)
    const index: Fault = { kind: 'fail', calls: ['writes'], path: `lost-${workers}/index/data.mdb`, end: rootBytes }
    faults.inject({ ...index, count: 1 })
    await rig.put(smallBytes)
    await rig.until('the drive is opened again', async () => rig.server.log().includes('the drive is open again'))
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
    t.equal(typeof (await rig.server.stop()), 'number', 'it ends by itself')
    await rig.server.start()
    t.strictSame(await rig.unreadable(), [])
    t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })
  })

  t.test(`a lost index of a drive of a set, ${workers} workers`, { skip: skipIndex }, async t => {
    const faults = createDiskFaults(folder)
    const rig = await start(t, `set-${workers}-{1...4}`, faults, workers)
    const path = `set-${workers}-1/index/data.mdb`
    faults.inject({ kind: 'fail', calls: ['writes'], path, end: rootBytes })
    await rig.put(smallBytes)
    await rig.until('the drive is offline', async () => rig.server.log().includes('a drive of the set has failed'))
    t.ok(await rig.put(largeBytes), 'the set goes on')
    t.strictSame(await rig.unreadable(), [])
    t.strictSame(await rig.health(), { live: 200, ready: 200, cluster: 200 })
    faults.end()
    await rig.until('the drive is back', async () =>
      rig.server.log().includes('all drives of the set have all records'),
    )
    t.equal(typeof (await rig.server.stop()), 'number', 'it ends by itself')
  })

  t.test(`a missing blob, ${workers} workers`, { skip }, async t => {
    const faults = createDiskFaults(folder)
    const rig = await start(t, `missing-${workers}`, faults, workers)
    rmSync(join(folder, `missing-${workers}`, 'blobs'), { recursive: true })
    await t.rejects(rig.s3.get('k1'), { status: 500, code: 'InternalError' })
    await t.rejects(rig.s3.get('k1'), { status: 500, code: 'InternalError' })
    t.equal(rig.server.log().split('the body of an object is missing or damaged').length, 2, 'told once')
  })
}
