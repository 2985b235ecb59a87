/**
 * A long queue: memory is bounded by the window, whatever the length of the queue. Prints the rate; ENTRIES in the environment makes the
 * queue longer.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { until } from 'svc/testing'
import t from 'tap'
import { newFolder, startQueue } from './start.ts'

const count = Number(process.env.ENTRIES ?? 100_000)
const payloadBytes = 4000
/**
 * The window has at most 8 MiB. The rest is memory of the drive: its caches, and changes that are not in its index yet (20 to 75 MiB
 * measured, depending on the disk), most of which the test waits for. All waiting entries would be 400 MB.
 */
const growthBytesMax = 160 * 1024 * 1024
/** Commits of the drive that go on during the measurement. */
const overlayRecordsMax = 4000

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')
const usedBytes = () => {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

t.test('a long queue drains in the memory of its window', async t => {
  const { news, storage, stop } = await startQueue(await newFolder(t))
  // On a busy machine the index lags behind, and the drive keeps up to its limit in memory, which is not memory of the queue.
  const indexed = () =>
    until(async () => ((await storage.drives())[0]!.metrics!.overlayRecords ?? 0) < overlayRecordsMax)
  t.teardown(stop)
  const payload = Buffer.alloc(payloadBytes, 'x')
  const beganPutting = performance.now()
  const before = usedBytes()
  for (let at = 0; at < count; at += 1000) {
    const entries = Array.from({ length: 1000 }, (_, i) => ({ key: `key-${(at + i) % 700}`, payload }))
    t.equal(await news.push('long', entries, count), 1000)
  }
  const putMs = performance.now() - beganPutting
  t.same(await news.status('long'), { pending: count, pendingBytes: count * payloadBytes, deadLetters: 0 })
  await indexed()
  t.ok(usedBytes() - before < growthBytesMax, 'what waits is not in memory')
  for (const { batchMax, concurrency, share } of [
    { batchMax: 1, concurrency: 1, share: 0.2 },
    { batchMax: 100, concurrency: 4, share: 1 },
  ]) {
    let sent = 0
    let nextLook = 0
    let most = 0
    let lookMs = 0
    const began = performance.now()
    const delivery = news.deliver('long', {
      batchMax,
      concurrency,
      async send(entries) {
        sent += entries.length
        if (sent < nextLook) return
        nextLook += count / 10
        const beganLook = performance.now()
        await indexed()
        most = Math.max(most, usedBytes() - before)
        lookMs += performance.now() - beganLook
      },
    })
    const left = count * (1 - share)
    await until(async () => (await news.status('long')).pending <= left)
    const seconds = (performance.now() - began - lookMs) / 1000
    await delivery.stop()
    t.ok(most < growthBytesMax, `memory grew by ${most} bytes`)
    t.comment(
      `batches of ${batchMax}, ${concurrency} at once: ${Math.round(sent / seconds)} entries a second, ` +
        `${(most / 2 ** 20).toFixed(1)} MiB more memory`,
    )
  }
  t.comment(`put: ${Math.round((count / putMs) * 1000)} entries a second, 1000 in a commit`)
  t.same(await news.status('long'), { pending: 0, pendingBytes: 0, deadLetters: 0 })
  t.same(await news.queues(), [])
})
