/**
 * Deletes of many small objects by DeleteObjects, 1000 keys a request, against unlinking as many files of the same size in
 * the same folders on the same drive, both in the order in which a listing names them. The files are unlinked from within one
 * process, without any protocol; after each 1000 the folders that they were in are synced, as a store must before it says that
 * they are gone for good.
 */
import { createHash } from 'node:crypto'
import { close, fsync, mkdirSync, open, unlink, writeFile } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Bench, measureCpu, planFor, type Scenario, sendAll } from '../bench.ts'
import { createBucket, request } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import type { ServerTarget } from '../targets.ts'

const BUCKET = 'bench-delete'
const BODY_SIZE_BYTES = 4096
const KEYS_PER_REQUEST = 1000
const REQUESTS_AT_ONCE = 4
const AT_ONCE = 64
const FILL_TIME_MS_MAX = 120_000
const FILL_BATCH_COUNT = 50_000

export const deleteSmall: Scenario = {
  name: 'delete-small',
  summary: 'DeleteObjects of 100 thousand (--quick: 20 thousand) objects of 4 KiB against unlinking as many files',
  async run(bench) {
    const count = bench.isQuick ? 20_000 : 100_000
    const roundCount = bench.isQuick ? 2 : 3
    const names = Array.from({ length: count }, (_, index) => targetOf(BUCKET, index).slice(BUCKET.length + 2)).sort()
    const rates = { server: [] as number[], files: [] as number[] }
    const cpus = { server: [] as number[], files: [] as number[] }
    for (let round = 0; round < roundCount; round++) {
      if (bench.server !== undefined) {
        bench.say(`round ${round + 1}: filling the bucket`)
        await fill(bench, bench.server, count)
        const { seconds, cpu } = await deleteObjects(bench.server, names)
        rates.server.push(count / seconds)
        cpus.server.push((cpu * 1e6) / count)
      }
      bench.say(`round ${round + 1}: filling the folder`)
      const root = join(bench.folder, `files-${round}`)
      await writeFiles(root, names)
      const before = process.cpuUsage()
      const began = performance.now()
      await unlinkFiles(root, names)
      const { user, system } = process.cpuUsage(before)
      rates.files.push((count * 1000) / (performance.now() - began))
      cpus.files.push((user + system) / count)
    }
    for (const subject of ['server', 'files'] as const) {
      if (rates[subject].length === 0) continue
      const name = subject === 'server' ? 'server' : 'files unlinked'
      bench.record({ subject: name, name: 'deletes', unit: 'objects/s', samples: rates[subject] })
      bench.record({ subject: name, name: 'CPU', unit: 'µs/object', samples: cpus[subject] })
    }
    if (rates.server.length === 0) return
    const samples = rates.server.map((rate, round) => rate / rates.files[round])
    const goal = { relation: '>=', value: 1 } as const
    bench.record({ subject: 'server / files unlinked', name: 'deletes', unit: 'ratio', samples, goal })
  },
}

async function fill(bench: Bench, server: ServerTarget, count: number): Promise<void> {
  await createBucket(server, BUCKET).catch(() => {
    // From the second round on it is there, and empty.
  })
  for (let first = 0; first < count; first += FILL_BATCH_COUNT) {
    const targets = { bucket: BUCKET, first, count: Math.min(FILL_BATCH_COUNT, count - first) }
    const plan = { method: 'PUT', targets, connectionCount: 64, bodySizeBytes: BODY_SIZE_BYTES } as const
    await sendAll(bench, planFor(bench, server, plan), FILL_TIME_MS_MAX)
  }
}

async function deleteObjects(
  server: ServerTarget,
  names: readonly string[],
): Promise<{ seconds: number; cpu: number }> {
  const bodies: string[] = []
  for (let first = 0; first < names.length; first += KEYS_PER_REQUEST) {
    const keys = names.slice(first, first + KEYS_PER_REQUEST).map(name => `<Object><Key>${name}</Key></Object>`)
    bodies.push(`<Delete><Quiet>true</Quiet>${keys.join('')}</Delete>`)
  }
  const began = performance.now()
  const { cpu } = await measureCpu(server, () =>
    together(bodies, REQUESTS_AT_ONCE, async body => {
      const md5 = createHash('md5').update(body).digest('base64')
      const { text } = await request(server, 'POST', `/${BUCKET}?delete=`, body, { 'content-md5': md5 })
      if (text.includes('<Error>')) throw new Error(`A delete failed: ${text.slice(0, 300)}`)
    }),
  )
  const seconds = (performance.now() - began) / 1000
  const { text } = await request(server, 'GET', `/${BUCKET}?list-type=2&max-keys=1`)
  if (!text.includes('<KeyCount>0<')) throw new Error('The bucket should be empty after all deletes.')
  return { seconds, cpu }
}

async function writeFiles(root: string, names: readonly string[]): Promise<void> {
  for (const folder of foldersOf(root, names)) mkdirSync(folder, { recursive: true })
  const body = Buffer.alloc(BODY_SIZE_BYTES, 1)
  const write = promisify(writeFile)
  await together(names, AT_ONCE, name => write(join(root, name), body))
  // Files that only the page cache knows would be deleted without the drive's taking part.
  await together(names, AT_ONCE, name => sync(join(root, name)))
}

async function unlinkFiles(root: string, names: readonly string[]): Promise<void> {
  const remove = promisify(unlink)
  const groups: (readonly string[])[] = []
  for (let first = 0; first < names.length; first += KEYS_PER_REQUEST) {
    groups.push(names.slice(first, first + KEYS_PER_REQUEST))
  }
  await together(groups, REQUESTS_AT_ONCE, async group => {
    await together(group, AT_ONCE, name => remove(join(root, name)))
    await together(foldersOf(root, group), AT_ONCE, sync)
  })
}

function foldersOf(root: string, names: readonly string[]): readonly string[] {
  return [...new Set(names.map(name => dirname(join(root, name))))]
}

async function sync(path: string): Promise<void> {
  const file = await promisify(open)(path, 'r')
  await promisify(fsync)(file)
  await promisify(close)(file)
}

/** Works through a list with so many under way at once. */
async function together<T>(list: readonly T[], atOnce: number, work: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < list.length) await work(list[next++])
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
