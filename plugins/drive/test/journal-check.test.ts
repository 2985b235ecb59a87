/** Damage in the journal while the index is intact: found by the background check, and repaired from the index. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, open, readdir, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { type SeededRandom, seeded } from 'svc/testing'
import t, { type Test } from 'tap'
import type { Disk } from '../disk.ts'
import { Drive } from '../drive.ts'
import { lmdbIndexFolder } from '../index-folder.ts'
import { lockDrive } from '../lock.ts'
import { systemDrivePorts } from '../testing.ts'
import { defaults } from './fixtures/config.ts'
import { countKey, deriveCount, procedures, recordKey } from './fixtures/table.ts'

const segmentBytes = 1024 * 1024
const day = 24 * 3600 * 1000
const signal = new AbortController().signal
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

interface Kept {
  readonly folder: string
  readonly bodies: Map<string, Buffer | undefined>
  drive: Drive
  /** Byte ranges of a file that cannot be read. */
  unreadable: { readonly path: string; readonly from: number; readonly to: number } | undefined
  readonly lines: { msg: string; [field: string]: unknown }[]
  /** Lets a day pass for the background check. */
  day(): void
  /** By default without its index. */
  reopen(meanwhile?: () => Promise<void>): Promise<void>
}

async function keep(t: Test): Promise<Kept> {
  const folder = await mkdtemp(join(process.platform === 'linux' ? '/dev/shm' : tmpdir(), 'svc-journal-check-'))
  const lines: Kept['lines'] = []
  const ports = systemDrivePorts()
  let days = 0
  let bad: Kept['unreadable']
  const clock = { ...ports.clock, monotonicNs: () => ports.clock.monotonicNs() + BigInt(days * day) * 1_000_000n }
  const disk: Disk = {
    ...ports.disk,
    async open(path, options) {
      const file = await ports.disk.open(path, options)
      return new Proxy(file, {
        get(target, name) {
          if (name !== 'read')
            return typeof target[name as 'read'] === 'function'
              ? target[name as 'read'].bind(target)
              : Reflect.get(target, name)
          return (buffer: Uint8Array, offset: number, length: number, position: number) => {
            const isBad = bad?.path === path && position < bad.to && position + length > bad.from
            if (isBad) return Promise.reject(Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' }))
            return target.read(buffer, offset, length, position)
          }
        },
      })
    },
  }
  const openDrive = () =>
    Drive.open({
      path: join(folder, 'drive'),
      // So many days that one is enough for each segment.
      config: {
        ...defaults,
        segmentBytes,
        compactionBytesPerSecond: 2 ** 40,
        cacheBytes: 0,
        journalCheckIntervalMs: day,
      },
      batchBytes: 64 * 1024,
      readWindowMs: 1,
      procedures,
      derive: deriveCount,
      ports: { ...ports, clock, disk },
      log: pino({ level: 'warn' }, { write: line => lines.push(JSON.parse(line)) }),
      index: lmdbIndexFolder,
      lock: lockDrive,
    })
  const kept: Kept = {
    folder,
    lines,
    bodies: new Map(),
    set unreadable(bytes: Kept['unreadable']) {
      bad = bytes
    },
    drive: await openDrive(),
    day: () => days++,
    async reopen(meanwhile = () => rm(join(folder, 'drive/index'), { recursive: true })) {
      await kept.drive.close()
      await meanwhile()
      kept.drive = await openDrive()
    },
  }
  t.teardown(async () => {
    await kept.drive.close()
    await rm(folder, { recursive: true, force: true })
  })
  return kept
}

async function fill({ drive, bodies }: Kept, count: number, sizes = [0, 1500, 6000]): Promise<void> {
  for (let i = 0; i < count; i++) {
    const name = `name-${i}`
    const size = sizes[i % sizes.length]!
    const body = size === 0 ? undefined : randomBytes(size)
    bodies.set(name, body)
    await drive.execute('table.put', { name, value: `value of ${i}` }, body)
  }
}

/** Compares every record. Resolves with the names of bodies that are reported as damaged. */
async function verify(t: Test, { drive, bodies }: Kept): Promise<string[]> {
  const damaged: string[] = []
  for (const [name, body] of bodies) {
    const record = drive.get(recordKey(name))
    if (record === undefined) {
      t.fail(`${name} is gone`)
      continue
    }
    if (String(record.value) !== `value of ${name.slice(5)}`) t.fail(`${name} has another value`)
    if (body === undefined) continue
    try {
      if (!(await drive.readBody(record.body!)).equals(body)) t.fail(`${name} has another body`)
    } catch (error) {
      t.match(error, { code: /^(corrupt|gone|EIO)$/ })
      damaged.push(name)
    }
  }
  t.equal(drive.counter(countKey)[0], bodies.size)
  return damaged
}

/** Flips a bit in as many places of finished segments. */
async function flip({ folder, drive }: Kept, random: SeededRandom, count: number): Promise<number> {
  const journal = join(folder, 'drive/journal')
  const names = (await readdir(journal)).sort()
  const sealed = [...drive.journal.segments.keys()].filter(segment => segment < drive.journal.tail.segment)
  const touched = new Set<number>()
  for (let i = 0; i < count; i++) {
    const segment = sealed[random.integer(sealed.length)]!
    const path = drive.journal.pathOf(segment)
    if (!names.includes(path.split('/').at(-1)!)) throw new Error(`no file ${path}`)
    const file = await open(path, 'r+')
    const at = random.integer(drive.journal.segments.get(segment)!)
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, at)
    byte[0]! ^= 1 << random.integer(8)
    await file.write(byte, 0, 1, at)
    await file.close()
    touched.add(segment)
  }
  return touched.size
}

/** Until each segment has been checked and the damage found has been handled. */
async function checkAll(kept: Kept): Promise<void> {
  const { drive } = kept
  const rounds = 2 * drive.journal.segments.size
  for (let i = 0; i < rounds; i++) {
    kept.day()
    await drive.journalCheck.work(signal)
    await settle(kept)
  }
}

/** Until compaction has no work. */
async function settle({ drive }: Kept): Promise<void> {
  for (let idle = 0; idle < 2; ) {
    idle = (await drive.compaction.work(signal)) === 'idle' ? idle + 1 : 0
    await new Promise(resolve => setTimeout(resolve, 3))
  }
}

t.test('an intact journal is left unchanged', async t => {
  const kept = await keep(t)
  await fill(kept, 1500)
  await settle(kept)
  const before = kept.drive.journal.bytesWritten
  await kept.drive.journalCheck.work(signal)
  await kept.drive.journalCheck.work(signal)
  t.equal(kept.drive.journalCheck.segmentsChecked, 1, 'one segment per share of the interval')
  await checkAll(kept)
  t.ok(kept.drive.journalCheck.segmentsChecked > 5)
  t.equal(kept.drive.journal.bytesWritten, before)
  t.equal(kept.drive.status().error, undefined)
  t.strictSame(kept.lines, [])
})

t.test('the records of a damaged segment are written again, and the journal is intact afterwards', t =>
  seeded(t, async random => {
    const kept = await keep(t)
    await fill(kept, 1500)
    const count = await flip(kept, random, 6)
    t.strictSame(kept.lines, [], 'the damage is not known yet')
    await checkAll(kept)
    const said = kept.lines.filter(({ msg }) => msg === 'a journal segment is damaged')
    // A flipped bit may lie in unused space.
    t.ok(said.length <= count)
    const damaged = await verify(t, kept)
    t.comment(`${said.length} segments, ${damaged.length} bodies`)
    for (const name of damaged) {
      const body = randomBytes(2000)
      kept.bodies.set(name, body)
      await kept.drive.execute('table.put', { name, value: `value of ${name.slice(5)}` }, body)
    }
    t.equal(kept.drive.status().error === undefined, damaged.length === 0, 'unreadable bodies are reported')
    await checkAll(kept)
    t.equal(
      kept.drive.compaction.segmentsDamaged,
      0,
      'the segment is removed with the last body that could not be read',
    )
    t.equal(kept.drive.status().error, undefined)
    await kept.reopen()
    t.strictSame(await verify(t, kept), [], 'the index can be rebuilt')
  }),
)

t.test('a damaged segment stays while its deletes are needed', async t => {
  const kept = await keep(t)
  // Nearly full blocks: an older segment that is mostly padding would be compacted, and then need no deletes.
  await fill(kept, 600, [8000])
  // Few, so that the records they guard against stay.
  const gone = [...kept.bodies.keys()].filter((_, i) => i % 20 === 0)
  const { segment } = kept.drive.journal.tail
  for (const name of gone) {
    await kept.drive.execute('table.delete', { name }, undefined)
    kept.bodies.delete(name)
  }
  while (kept.drive.journal.tail.segment <= segment + 1) {
    await kept.drive.execute('table.put', { name: 'name-0', value: 'value of 0' }, Buffer.alloc(60_000))
  }
  kept.bodies.set('name-0', Buffer.alloc(60_000))
  for (const path of [segment, segment + 1].map(each => kept.drive.journal.pathOf(each))) {
    const file = await open(path, 'r+')
    // The header of a batch, which makes everything behind it unreadable.
    await file.write(Buffer.alloc(16, 0xa5), 0, 16, 8192)
    await file.close()
  }
  await checkAll(kept)
  t.strictSame(await verify(t, kept), [])
  for (const name of gone.slice(1)) t.equal(kept.drive.get(recordKey(name)), undefined)
  t.ok(kept.drive.compaction.segmentsDamaged > 0)
  t.match(kept.drive.status().error, /cannot be rebuilt from them/)
  await t.rejects(
    kept.reopen(),
    { code: 'journal_damaged' },
    'the start is refused, because deleted records would come back',
  )
})

t.test('unreadable bytes and missing files count as damage, too', async t => {
  const kept = await keep(t)
  await fill(kept, 1500)
  const [first, second, third] = [...kept.drive.journal.segments.keys()].sort((a, b) => a - b)
  // These bytes cannot be read; all others can.
  kept.unreadable = { path: kept.drive.journal.pathOf(first!), from: 200_000, to: 204_096 }
  await unlink(kept.drive.journal.pathOf(third!))
  await checkAll(kept)
  t.match(
    kept.lines
      .filter(({ msg }) => msg === 'a journal segment is damaged')
      .map(({ segment }) => segment)
      .sort(),
    [first, third],
    'in any order',
  )
  const lost = await verify(t, kept)
  t.ok(lost.length > 0)
  const { body } = kept.drive.get(recordKey(lost[0]!))!
  t.ok(body!.segment === first || body!.segment === third)
  t.notOk(kept.drive.compaction.isDamaged(second!))
  for (const name of lost) {
    const bytes = randomBytes(100)
    kept.bodies.set(name, bytes)
    await kept.drive.execute('table.put', { name, value: `value of ${name.slice(5)}` }, bytes)
  }
  await checkAll(kept)
  t.equal(kept.drive.status().error, undefined, 'no record needs them any more')
  await kept.reopen()
  t.strictSame(await verify(t, kept), [])
})

t.test('a file removed while the drive was closed is reported at its start', async t => {
  const kept = await keep(t)
  await fill(kept, 1500)
  const [, second] = [...kept.drive.journal.segments.keys()].sort((a, b) => a - b)
  await kept.reopen(() => unlink(kept.drive.journal.pathOf(second!)))
  t.match(
    kept.lines.filter(({ msg }) => msg === 'a journal segment is damaged'),
    [{ segment: second, reason: /missing/ }],
  )
  t.match(kept.drive.status().error, /1 segments of the journal are damaged/)
  await checkAll(kept)
  const lost = await verify(t, kept)
  t.ok(lost.length > 0)
  t.ok(lost.every(name => kept.drive.get(recordKey(name))!.body!.segment === second))
  for (const name of lost) {
    kept.bodies.set(name, undefined)
    await kept.drive.execute('table.put', { name, value: `value of ${name.slice(5)}` }, undefined)
  }
  await checkAll(kept)
  t.equal(kept.drive.status().error, undefined, 'no record needs it any more')
  await kept.reopen()
  t.strictSame(await verify(t, kept), [])
})
