/**
 * What many records in the folder of the cache cost: `node --expose-gc --conditions=svc-src test/perf/cache-disk.ts [records] [folder]`. Fills
 * a folder with records of 1 KiB, starts over it in processes of their own with and without the snapshot, reads records at random, and then
 * reads and writes blocks of 1 MiB. The folder is removed. A million records are 4 GiB.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSeededRandom, createSystemPorts } from 'svc/testing'
import { createDiskKind } from '../../plugins/cache-disk/kind.ts'
import { alone } from '../../plugins/cache-disk/test/tier.ts'

const [countText = '1000000', given, phase = 'all'] = process.argv.slice(2)
const count = Number(countText)
const dir = given ?? mkdtempSync(join(tmpdir(), 'svc-cache-disk-'))
const budgetBytes = 64 * 1024 ** 3
const blockCount = 512
const { clock } = createSystemPorts()
const log = { debug() {}, info() {}, warn: console.error, error: console.error } as never

const openTier = () =>
  createDiskKind({ dir, size: budgetBytes }, alone).create({
    log,
    clock,
    random: createSeededRandom(1),
    budgetBytes,
    deploymentId: 'one',
  })
const idOf = (name: string | number) => createHash('sha256').update(String(name)).digest()
const head = Buffer.alloc(400, 'h')
const small = { head, body: Buffer.alloc(1024, 'x') }
const large = { head: Buffer.alloc(60, 'h'), body: Buffer.alloc(1024 * 1024, 'x') }

/** Runs `work` for each number, so many at once; says what one costs. */
async function measure(what: string, total: number, atOnce: number, work: (index: number) => Promise<unknown>) {
  let next = 0
  const began = performance.now()
  const cpu = process.cpuUsage()
  const lane = async () => {
    for (let index = next++; index < total; index = next++) await work(index)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  const { user, system } = process.cpuUsage(cpu)
  const perSecond = Math.round((total * 1000) / (performance.now() - began))
  console.log(`${what}: ${perSecond}/s, ${((user + system) / total).toFixed(1)} µs CPU each`)
}

const collect = (globalThis as { gc?: () => void }).gc
/** Resident: the tables are of the largest number of records, and taken from the system as they are used. */
function memory(): number {
  collect?.()
  collect?.()
  return process.memoryUsage().rss
}

async function start(): Promise<void> {
  const before = memory()
  const tier = openTier()
  const began = performance.now()
  const cpu = process.cpuUsage()
  await tier.start()
  const startMs = performance.now() - began
  const own = process.cpuUsage(cpu)
  await tier.walked()
  const { user, system } = process.cpuUsage(cpu)
  const { entries } = tier.usage()
  const cpuMs = (user + system) / 1000
  const bytes = (memory() - before) / entries
  console.log(
    `start: ${startMs.toFixed(0)} ms (${((own.user + own.system) / 1000).toFixed(0)} ms CPU), all known after ${(performance.now() - began).toFixed(0)} ms with ${cpuMs.toFixed(0)} ms CPU, ` +
      `${entries} records, ${bytes.toFixed(1)} B of memory each`,
  )
  const random = createSeededRandom(2)
  await measure('get of 1 KiB', Math.min(count, 50_000), 16, () =>
    Promise.resolve(tier.get(idOf(random.integer(count)))),
  )
  await tier.stop()
}

async function all(): Promise<void> {
  const tier = openTier()
  await tier.start()
  await measure('put of 1 KiB', count, 16, index => Promise.resolve(tier.put(idOf(index), small)))
  await tier.stop()
  const again = (what: string, phase = 'start') => {
    console.log(what)
    const own = [...process.execArgv, import.meta.filename, countText, dir, phase]
    spawnSync(process.execPath, own, { stdio: 'inherit' })
  }
  again('with the snapshot')
  rmSync(join(dir, 'index'), { force: true })
  again('without it')
  again('blocks', 'blocks')
}

async function blocks(): Promise<void> {
  const tier = openTier()
  await tier.start()
  await measure('put of 1 MiB', blockCount, 16, index => Promise.resolve(tier.put(idOf(`block ${index}`), large)))
  await measure('get of 1 MiB', 4 * blockCount, 16, index =>
    Promise.resolve(tier.get(idOf(`block ${(index * 7) % blockCount}`))),
  )
  await tier.stop()
}

try {
  await { start, blocks, all }[phase as 'all']()
} finally {
  if (phase === 'all') rmSync(dir, { recursive: true, force: true })
}
