/**
 * The cost of the engine without HTTP, compared with the usual way to store small objects: one file each, fdatasync, rename.
 *
 *     node --conditions=svc-src plugins/drive/test/perf/engine.ts [FOLDER] [SECONDS]
 *
 * CPU time is that of the whole process, LMDB's threads included; wall-clock figures depend on the load of the machine.
 */
import { close, closeSync, fdatasync, fsync, mkdirSync, open, openSync, rename, write } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { Drive } from '../../drive.ts'
import { lmdbIndexFolder } from '../../index-folder.ts'
import { lockDrive } from '../../lock.ts'
import { systemDrivePorts } from '../../testing.ts'
import { defaults } from '../fixtures/config.ts'

const [parent = tmpdir(), seconds = '2'] = process.argv.slice(2)
const folder = await mkdtemp(join(parent, 'svc-engine-'))
const spanMs = Number(seconds) * 1000
const body = Buffer.alloc(4096, 0x5a)
const value = Buffer.alloc(300, 0x41)
const countKey = Buffer.from('count')

interface Figures {
  readonly name: string
  readonly perSecond: number
  readonly cpuMicros: number
  readonly p50Micros: number | undefined
  readonly p99Micros: number | undefined
}

const figures: Figures[] = []

/** Runs `work` with so many concurrent writers for the given time. */
async function measure(name: string, writers: number, work: (i: number) => Promise<unknown> | unknown): Promise<void> {
  const latencies: number[] = []
  let count = 0
  const cpu = process.cpuUsage()
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (performance.now() - begin < spanMs) {
        const start = performance.now()
        await work(count++)
        latencies.push(performance.now() - start)
      }
    }),
  )
  note(name, count, performance.now() - begin, process.cpuUsage(cpu), latencies)
}

/** The same for work that completes synchronously. */
function measureNow(name: string, perCall: number, work: (i: number) => void): void {
  const cpu = process.cpuUsage()
  const begin = performance.now()
  let calls = 0
  while (performance.now() - begin < spanMs / 2) for (let i = 0; i < 64; i++) work(calls++)
  note(name, calls * perCall, performance.now() - begin, process.cpuUsage(cpu), undefined)
}

function note(
  name: string,
  count: number,
  elapsedMs: number,
  cpu: NodeJS.CpuUsage,
  latencies: number[] | undefined,
): void {
  latencies?.sort((a, b) => a - b)
  const at = (share: number) =>
    latencies === undefined ? undefined : latencies[Math.floor(latencies.length * share)]! * 1000
  figures.push({
    name,
    perSecond: (count / elapsedMs) * 1000,
    cpuMicros: (cpu.user + cpu.system) / count,
    p50Micros: at(0.5),
    p99Micros: at(0.99),
  })
}

async function measureFiles(): Promise<void> {
  const target = join(folder, 'files')
  mkdirSync(target)
  const directory = openSync(target, 'r')
  const [openFile, writeFile, sync, move, shut, syncAll] = [open, write, fdatasync, rename, close, fsync].map(call =>
    promisify(call as (...args: unknown[]) => void),
  ) as unknown as ((...args: unknown[]) => Promise<unknown>)[]
  const put = async (i: number) => {
    const temporary = join(target, `.tmp-${i}`)
    const fd = await openFile!(temporary, 'w')
    await writeFile!(fd, body, 0, body.length, 0)
    await sync!(fd)
    await shut!(fd)
    await move!(temporary, join(target, `object-${i}`))
    await syncAll!(directory)
  }
  await measure('file per object, 1 writer', 1, put)
  await measure('file per object, 64 writers', 64, i => put(i + 1_000_000))
  closeSync(directory)
}

async function measureRaw(): Promise<void> {
  const fd = openSync(join(folder, 'raw'), 'w')
  const writeFile = promisify(write)
  const sync = promisify(fdatasync)
  await measure('raw 4 KiB write + fdatasync', 1, async i => {
    await writeFile(fd, body, 0, body.length, i * 4096)
    await sync(fd)
  })
  closeSync(fd)
}

async function measureDrive(): Promise<void> {
  const drive = await Drive.open({
    path: join(folder, 'drive'),
    config: defaults,
    procedures: {
      put: (tx, key: Buffer, bytes) => {
        tx.put(key, value, { body: bytes })
      },
    },
    derive: (key, before, after, emit) => {
      if (key[0] === 0x6f) emit.add(countKey, [(after ? 1 : 0) - (before ? 1 : 0), 4096])
    },
    ports: systemDrivePorts(),
    log: pino({ level: 'silent' }),
    index: lmdbIndexFolder,
    lock: lockDrive,
  })
  // Spread over the tree, as clients' names are.
  const keyOf = (i: number) =>
    Buffer.from(`obucket\0${((i * 2_654_435_761) >>> 0).toString(16).padStart(8, '0')}/object\0`, 'latin1')
  drive.prepareJournal()
  await new Promise(resolve => setTimeout(resolve, 300))
  await measure('drive: put 4 KiB, 1 writer', 1, i => drive.execute('put', keyOf(i), body))
  let puts = 0
  await measure('drive: put 4 KiB, 64 writers', 64, i => {
    puts = i
    return drive.execute('put', keyOf(i), body)
  })
  const { journalWrittenBytes } = drive.status().metrics!
  await drive.checkpoints.flush()
  measureNow('drive: get 300 B record', 1, i => {
    if (drive.get(keyOf(i % puts)) === undefined) throw new Error('lost')
  })
  measureNow('drive: scan, per key of 1000', 1000, i => {
    drive.scan(keyOf(i % puts), Buffer.from('p'), cursor => {
      let bytes = 0
      for (let count = 0; count < 1000 && cursor.next(); count++) bytes += cursor.value.length
      return bytes
    })
  })
  measureNow('drive: seek', 1, i => {
    drive.scan(keyOf(i % puts), Buffer.from('p'), cursor => cursor.next())
  })
  const record = drive.get(keyOf(puts))!
  measureNow('drive: read cached 4 KiB body', 1, () => {
    drive.readBody(record.body!)
  })
  const begin = performance.now()
  await drive.close()
  console.log(
    `journal ${(journalWrittenBytes! / 2 ** 20).toFixed(0)} MiB, closed in ${(performance.now() - begin).toFixed(0)} ms`,
  )
}

try {
  await measureRaw()
  await measureFiles()
  await measureDrive()
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log(
  `${'work'.padEnd(34)}${'per s'.padStart(10)}${'CPU µs'.padStart(10)}${'p50 µs'.padStart(10)}${'p99 µs'.padStart(10)}`,
)
for (const { name, perSecond, cpuMicros, p50Micros, p99Micros } of figures) {
  const columns = [perSecond.toFixed(0), cpuMicros.toFixed(2), p50Micros?.toFixed(0) ?? '', p99Micros?.toFixed(0) ?? '']
  console.log(name.padEnd(34) + columns.map(column => column.padStart(10)).join(''))
}
