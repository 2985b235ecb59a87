/** A thread that rests gives back the memory that it no longer uses, and one that works is not stopped for it. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'

/** Fills pages of the heap, of which one object in a hundred stays; then it rests, or works for half of the time. Sends the size of its heap. */
const program = (isBusy: boolean) => `
  import { parentPort } from 'node:worker_threads'
  import { getHeapStatistics } from 'node:v8'
  import { returnMemoryAtRest } from ${JSON.stringify(new URL('../program/memory-at-rest.ts', import.meta.url).href)}
  const all = Array.from({ length: 500_000 }, (_, index) => ({ index, text: [index] }))
  globalThis.kept = all.filter(({ index }) => index % 100 === 0)
  all.length = 0
  returnMemoryAtRest(200)
  const work = () => { for (const end = performance.now() + 50; performance.now() < end; ); }
  if (${isBusy}) setInterval(work, 100)
  setInterval(() => parentPort.postMessage(getHeapStatistics().total_physical_size), 250)
`

/** Runs ten thousand functions once, with a heap that is worth a collection. Sends the size of its bytecode. */
const programOfStart = `
  import { parentPort } from 'node:worker_threads'
  import { getHeapCodeStatistics } from 'node:v8'
  import { returnMemoryAtRest } from ${JSON.stringify(new URL('../program/memory-at-rest.ts', import.meta.url).href)}
  globalThis.steps = Array.from({ length: 10_000 }, (_, index) => new Function('a', 'return a.length + a.at(' + index + ')'))
  for (const step of steps) step('abc')
  globalThis.kept = Array.from({ length: 500_000 }, (_, index) => ({ index, text: [index] }))
  returnMemoryAtRest(200)
  setInterval(() => parentPort.postMessage(getHeapCodeStatistics().bytecode_and_metadata_size), 250)
`

/** The sizes that a thread with this program says, in their order, MiB. */
async function sizes(t: Test, program: string, count: number, until: (size: number) => boolean): Promise<number[]> {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  t.teardown(() => worker.terminate())
  const found: number[] = []
  while (found.length < count && !until(found.at(-1) ?? Number.POSITIVE_INFINITY)) {
    const [bytes] = await once(worker, 'message')
    found.push(Math.round(bytes / 2 ** 20))
  }
  return found
}

t.test('a thread that rests', async t => {
  const found = await sizes(t, program(false), 100, size => size <= 40)
  t.ok(found.at(-1)! <= 40, `${found} MiB`)
})

t.test('a thread that works', async t => {
  const found = await sizes(t, program(true), 12, () => false)
  t.ok(Math.min(...found) > 50, `${found} MiB`)
})

t.test('code that ran in the start alone', async t => {
  const found = await sizes(t, programOfStart, 100, size => size === 0)
  t.ok(found[0]! >= 1 && found.at(-1) === 0, `${found} MiB`)
})
