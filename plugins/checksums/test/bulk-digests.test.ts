/** Digests on a thread of their own, against those of this thread. SEED repeats a run. */
import { createHash, randomInt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { eventually, until } from 'svc/testing'
import t, { type Test } from 'tap'
import type { ChecksumAlgorithm, DigestsOptions, StreamDigests } from '../api.ts'
import { type BulkDigests, bulkBytesMin, createBulkDigests } from '../bulk-digests.ts'
import { createChecksums } from '../checksums.ts'
import { DigestMemory, isReadyAt, ringBytes, State, streamsMax, Word } from '../digest-memory.ts'
import { copyShared } from '../shared-copy.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
t.comment(`SEED=${seed}`)
let state = seed
/** A whole number below `max`. */
function below(max: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * max)
}
const bytes = Buffer.alloc(4_000_000)
for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(below(2 ** 32), at)
const here = createChecksums()
await here.start()
const algorithms = [undefined, ...here.algorithms]
const large: DigestsOptions = { md5: true, algorithm: 'CRC64NVME', sizeBytes: 1_000_000 }

function createBulk(t: Test, startThread?: (memory: SharedArrayBuffer) => Worker) {
  const threads: { memory: SharedArrayBuffer; worker: Worker }[] = []
  const bulk = createBulkDigests({
    processorCount: 2,
    startThread(memory) {
      const worker =
        startThread?.(memory) ?? new Worker(new URL('../digest-thread.ts', import.meta.url), { workerData: memory })
      threads.push({ memory, worker })
      return worker
    },
  })
  t.teardown(bulk.stop)
  return { bulk, threads }
}

/** As soon as there is a thread. */
async function begin(bulk: BulkDigests, options: DigestsOptions = large): Promise<StreamDigests> {
  const digests = await eventually(
    () => bulk.create(options),
    found => found !== undefined,
  )
  return digests!
}

/** A thread that takes nothing. */
function startIdle(memory: SharedArrayBuffer): Worker {
  const source = `const { workerData } = require('node:worker_threads')
    const words = new Int32Array(workerData)
    Atomics.store(words, ${isReadyAt}, 1)
    Atomics.wait(words, 15, 0)`
  return new Worker(source, { eval: true, workerData: memory })
}

t.test('bytes go between shared memory and other memory in any alignment', async t => {
  const shared = Buffer.from(new SharedArrayBuffer(1000))
  const back = Buffer.alloc(1000)
  for (let round = 0; round < 500; round++) {
    const size = below(300)
    const [from, at] = [below(1000), below(700)]
    const piece = bytes.subarray(from, from + size)
    copyShared(shared, at, piece)
    copyShared(back, from % 700, shared.subarray(at, at + size))
    if (!back.subarray(from % 700, (from % 700) + size).equals(piece)) t.fail(`SEED=${seed}`)
  }
  t.throws(() => copyShared(shared, 999, Buffer.alloc(2)), RangeError)
})

t.test('only large bodies of known length leave the thread, and only with a second processor', async t => {
  const { bulk, threads } = createBulk(t)
  t.equal(bulk.create({ ...large, sizeBytes: bulkBytesMin - 1 }), undefined)
  t.equal(bulk.create({ ...large, sizeBytes: undefined }), undefined)
  t.equal(bulk.create({ ...large, md5: false, algorithm: undefined }), undefined)
  t.equal(threads.length, 0, 'nothing of this makes a thread')
  const alone = createBulkDigests({
    processorCount: 1,
    startThread: () => {
      throw new Error('a thread was made')
    },
  })
  t.equal(alone.create(large), undefined)
  t.equal(bulk.create(large), undefined, 'nobody waits for the thread to begin')
  t.equal(threads.length, 1)
  const digests = await begin(bulk, { ...large, sizeBytes: bulkBytesMin })
  digests.release()
  t.equal(threads.length, 1)
})

t.test('any sizes and algorithms at the same time, in any pieces', async t => {
  const { bulk } = createBulk(t)
  ;(await begin(bulk)).release()
  let [ended, mistakes, elsewhere] = [0, 0, 0]
  const client = async (until: number) => {
    while (ended < until) {
      const algorithm = algorithms[below(algorithms.length)] as ChecksumAlgorithm | undefined
      const md5 = algorithm === undefined || below(4) > 0
      const digests = bulk.create({ md5, algorithm, sizeBytes: bulkBytesMin })
      ended++
      if (digests === undefined) {
        await setImmediate()
        continue
      }
      elsewhere++
      const size = [below(200), below(20_000), below(bytes.length), 65_536 * below(20)][below(4)]!
      const pieceMax = [70, 65_536, 1_500_000][below(3)]!
      let isGivenUp = false
      for (let at = 0; at < size && !isGivenUp; ) {
        const piece = bytes.subarray(at, Math.min(size, at + (size > 100_000 ? 5000 : 1) + below(pieceMax)))
        const taken = digests.update(piece)
        at += piece.length
        // Also while it waits for room, as where the client has gone.
        isGivenUp = below(200) === 0
        if (isGivenUp) digests.release()
        await (isGivenUp ? Promise.resolve(taken).catch(() => undefined) : taken)
        if (below(8) === 0) await setImmediate()
      }
      if (!isGivenUp) {
        const found = await digests.digest()
        const whole = bytes.subarray(0, size)
        const wanted = md5 ? createHash('md5').update(whole).digest() : undefined
        const checksum = algorithm === undefined ? undefined : here.compute(algorithm, whole)
        if (found.md5?.toString('hex') !== wanted?.toString('hex')) mistakes++
        if (found.checksum?.toString('hex') !== checksum?.toString('hex')) mistakes++
      }
      digests.release()
    }
  }
  // More than there is room for, then fewer and fewer.
  for (const [round, count] of [streamsMax + 8, 8, 3, 1].entries()) {
    await Promise.all(Array.from({ length: count }, () => client(150 * (round + 1))))
  }
  t.equal(mistakes, 0, `SEED=${seed}`)
  t.ok(elsewhere > 300, `${elsewhere} bodies`)
})

t.test('a body waits when its ring is full, and is told when it was given up', async t => {
  const { bulk, threads } = createBulk(t, startIdle)
  const digests = await begin(bulk)
  t.equal(digests.update(bytes.subarray(0, ringBytes)), undefined, 'there is room for that')
  let isTaken = false
  const taken = digests.update(bytes.subarray(0, 1)) as Promise<void>
  taken.then(
    () => {
      isTaken = true
    },
    () => undefined,
  )
  await setImmediate()
  t.notOk(isTaken)
  digests.release()
  await t.rejects(taken, /given up/)
  await t.rejects(digests.digest(), /given up/)
  // The thread has not forgotten the body, so the ring is nobody else's yet.
  const memory = new DigestMemory(threads[0]!.memory)
  t.equal(memory.words[memory.lineOf(0) + Word.state], State.givenUp)
  const others = Array.from({ length: streamsMax }, () => bulk.create(large))
  t.equal(others.filter(other => other !== undefined).length, streamsMax - 1)
  for (const other of others) other?.release()
})

t.test('when the thread ends its bodies fail, wherever they are, and a new one is made', async t => {
  const { bulk, threads } = createBulk(t)
  const [waiting, ending, ended] = [await begin(bulk), await begin(bulk), await begin(bulk)]
  // It sleeps until the end of this turn, so both wait for it.
  const taken = waiting.update(bytes.subarray(0, ringBytes + 1)) as Promise<void>
  ending.update(bytes.subarray(0, 1000))
  const digest = ending.digest()
  const failures = Promise.all([
    t.rejects(taken, /thread ended/),
    t.rejects(digest, /thread ended/),
    threads[0]!.worker.terminate(),
  ])
  await failures
  t.throws(() => ended.update(bytes.subarray(0, 10)), /thread ended/)
  await t.rejects(ended.digest(), /thread ended/)
  for (const one of [waiting, ending, ended]) one.release()

  const next = await begin(bulk)
  t.equal(threads.length, 2)
  await next.update(bytes.subarray(0, 300_000))
  const { md5 } = await next.digest()
  t.equal(md5?.toString('hex'), createHash('md5').update(bytes.subarray(0, 300_000)).digest('hex'))
  next.release()
})

t.test('a thread that cannot begin fails nothing', async t => {
  const { bulk, threads } = createBulk(
    t,
    memory => new Worker('throw new Error("no")', { eval: true, workerData: memory }),
  )
  t.equal(bulk.create(large), undefined)
  let hasEnded = false
  threads[0]!.worker.once('exit', () => {
    hasEnded = true
  })
  await until(() => hasEnded)
  t.equal(bulk.create(large), undefined)
  t.equal(threads.length, 1, 'the next attempt is not at once')
})
