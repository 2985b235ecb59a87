/**
 * An index whose file is corrupted: a start never fails, never ends the process, and never leaves a key missing or wrong. SEED
 * and ROUNDS repeat or extend it.
 */
import { copyFile, mkdtemp, open, readFile, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { type SeededRandom, seeded, testRounds } from 'svc/testing'
import t from 'tap'
import { Drive, type DriveOptions } from '../drive.ts'
import { lmdbIndexFolder } from '../index-folder.ts'
import { lockDrive } from '../lock.ts'
import { systemDrivePorts } from '../testing.ts'
import { defaults } from './fixtures/config.ts'
import { countKey, deriveCount, derivedKey, procedures, recordKey } from './fixtures/table.ts'

const rounds = testRounds({ laptop: 40, ci: 40, long: 200 })
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const config = defaults
let warnings: string[] = []
const log = Object.assign(pino({ level: 'silent' }), {
  warn: (facts: { problem?: string }, message: string) => {
    warnings.push(`${message}: ${facts.problem}`)
  },
})

function openDrive(path: string, options: Partial<DriveOptions> = {}): Promise<Drive> {
  return Drive.open({
    path,
    config: { ...config, segmentBytes: 1024 * 1024 },
    batchBytes: 64 * 1024,
    procedures,
    derive: deriveCount,
    ports: systemDrivePorts(),
    log,
    index: lmdbIndexFolder,
    lock: lockDrive,
    ...options,
  })
}

/** Values of all sizes: LMDB keeps the larger ones on overflow pages. */
const valueFor = (name: string, round: number) => `${name}-${round}-`.repeat(1 + ((name.length * round) % 7) * 120)

async function damage(random: SeededRandom, file: string, pages: number): Promise<string> {
  const pageBytes = 8192
  const handle = await open(file, 'r+')
  try {
    const page = random.integer(pages)
    const flip = async (at: number) => {
      const byte = Buffer.alloc(1)
      await handle.read(byte, 0, 1, at)
      byte[0]! ^= 1 << random.integer(8)
      await handle.write(byte, 0, 1, at)
    }
    const luck = random.float()
    if (luck < 0.4) {
      const at = page * pageBytes + random.integer(pageBytes)
      await flip(at)
      return `one bit at ${at}`
    }
    if (luck < 0.65) {
      // Bytes that LMDB trusts: a page's head and its table of offsets.
      const at = page * pageBytes + random.integer(64)
      await flip(at)
      return `one bit at ${at}, in a head`
    }
    if (luck < 0.75) {
      for (let i = 0; i < 200; i++) await flip(random.integer(pages * pageBytes))
      return '200 bits'
    }
    if (luck < 0.85) {
      await handle.write(Buffer.alloc(pageBytes, random.pick([0, 0xff])), 0, pageBytes, page * pageBytes)
      return `page ${page} overwritten`
    }
    if (luck < 0.95) {
      const other = Buffer.alloc(pageBytes)
      await handle.read(other, 0, pageBytes, random.integer(pages) * pageBytes)
      await handle.write(other, 0, pageBytes, page * pageBytes)
      return `page ${page} is another`
    }
    await handle.truncate(page * pageBytes)
    return `cut before page ${page}`
  } finally {
    await handle.close()
  }
}

// Takes minutes on a busy machine; a file that exceeds the limit ends the whole run.
// Only a hang takes so long, also of the long runs.
const deadlineMs = 7_200_000
t.setTimeout(deadlineMs)

t.test(`${rounds} kinds of corruption`, { timeout: deadlineMs }, t =>
  seeded(t, async random => {
    const path = await mkdtemp(join(tmpdir(), 'svc-rot-'))
    t.teardown(() => rm(path, { recursive: true, force: true }))
    const expected = new Map<string, string>()
    const change = async (drive: Drive, round: number, count: number) => {
      const changes: Promise<unknown>[] = []
      for (let i = 0; i < count; i++) {
        const name = `key-${random.integer(3000)}`
        if (random.float() < 0.2) {
          changes.push(drive.execute('table.delete', { name }, undefined))
          expected.delete(name)
        } else {
          const value = valueFor(name, round)
          changes.push(
            drive.execute('table.put', { name, value }, random.float() < 0.3 ? Buffer.from(value) : undefined),
          )
          expected.set(name, value)
        }
      }
      await Promise.all(changes)
      await drive.checkpoints.flush()
    }
    const verify = (drive: Drive, what: string) => {
      let wrong = 0
      let bytes = 0
      for (const [name, value] of expected) {
        bytes += value.length
        const record = drive.get(recordKey(name))
        if (record === undefined || Buffer.from(record.value).toString() !== value) wrong++
      }
      const found = drive.scan(recordKey(''), Buffer.from('u'), cursor => {
        const names: string[] = []
        while (cursor.next()) names.push(cursor.key.latin1Slice(1))
        return names
      })
      const derived = drive.scanDerived(derivedKey(''), Buffer.from('e'), cursor => {
        let count = 0
        while (cursor.next()) count++
        return count
      })
      const isRight =
        wrong === 0 &&
        found.length === expected.size &&
        derived === expected.size &&
        drive.counter(countKey)[0] === expected.size &&
        drive.counter(countKey)[1] === bytes
      if (!isRight) t.fail(`${what}: ${wrong} wrong, ${found.length} listed of ${expected.size}`)
    }

    let drive = await openDrive(path)
    for (let round = 0; round < 8; round++) await change(drive, round, 800)
    await drive.close()
    const data = join(path, 'index', 'data.mdb')
    let rebuilt = 0
    for (let round = 0; round < rounds; round++) {
      const pages = Math.floor((await stat(data)).size / 8192)
      const what = await damage(random, data, pages)
      warnings = []
      drive = await openDrive(path)
      if (warnings.some(warning => warning.includes('being rebuilt'))) rebuilt++
      else if (warnings.length > 0) t.fail(warnings.join())
      verify(drive, what)
      await change(drive, round, 40)
      verify(drive, `${what}, then written to`)
      await drive.close()
    }
    t.ok(rebuilt > rounds / 5, `${rebuilt} of ${rounds} were rebuilt, the others were damaged in unused space`)
    t.equal(await stat(join(path, 'index.damaged')).catch(() => undefined), undefined, 'no aside index is left')
  }),
)

t.test('an index that is corrupted while in use is noticed, and rebuilt at the next start', async t => {
  const path = await mkdtemp(join(tmpdir(), 'svc-rot-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  let scopes: string[] = []
  let waitedNs = 0n
  const ports = systemDrivePorts()
  const clock = { ...ports.clock, monotonicNs: () => ports.clock.monotonicNs() + waitedNs }
  const openChecked = () => openDrive(path, { index, ports: { ...ports, clock } })
  // As if the index were too large to be checked in full at a start.
  const index = {
    ...lmdbIndexFolder,
    async check(folder: string, scope: 'all' | 'start', use: 'free' | 'live') {
      scopes.push(`${scope} ${use}`)
      const { problem } = await lmdbIndexFolder.check(folder, scope, use)
      return { problem, isWhole: scope === 'all' }
    },
  }
  let drive = await openChecked()
  for (let i = 0; i < 500; i++) await drive.execute('table.put', { name: `${i}`, value: 'x' }, undefined)
  await drive.checkIndex()
  await drive.close()
  t.strictSame(scopes, ['all free'], 'without a marker the first check is a full one, and is not repeated')
  scopes = []
  drive = await openChecked()
  await drive.checkIndex()
  await drive.checkIndex()
  t.strictSame(scopes, ['start free', 'all live'], 'after a clean stop the full check comes later, once')
  t.equal(drive.status().state, 'online')
  const data = join(path, 'index', 'data.mdb')
  const at = (await readFile(data)).lastIndexOf(recordKey('77'))
  const handle = await open(data, 'r+')
  await handle.write(Buffer.from('tX'), 0, 2, at)
  await handle.close()
  waitedNs += 86_400_000_000_000n
  await drive.checkIndex()
  t.equal(drive.status().state, 'faulty')
  t.match(drive.status().error, /index is damaged/)
  await t.rejects(drive.execute('table.put', { name: 'n', value: 'x' }, undefined), { code: 'faulty' })
  await drive.close()
  scopes = []
  drive = await openChecked()
  t.strictSame(scopes, ['all free'])
  t.equal(drive.counter(countKey)[0], 500)
  t.ok(drive.get(recordKey('77')))
  await drive.close()
})

t.test('the index that was set aside stays until the new one is complete', async t => {
  const path = await mkdtemp(join(tmpdir(), 'svc-rot-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  let drive = await openDrive(path)
  for (let i = 0; i < 50; i++) await drive.execute('table.put', { name: `${i}`, value: 'x' }, undefined)
  await drive.close()
  const data = join(path, 'index', 'data.mdb')
  const journal = join(path, 'journal', '0000000001')
  await copyFile(journal, join(path, 'saved'))
  const before = await stat(data)
  await truncate(data, 20_000)
  const handle = await open(journal, 'r+')
  await handle.write(Buffer.alloc(4), 0, 4, 4096)
  await handle.close()
  for (let tries = 0; tries < 2; tries++) await t.rejects(openDrive(path), { code: 'journal_damaged' })
  t.equal((await stat(join(path, 'index.damaged', 'data.mdb'))).ino, before.ino, 'it is the same file')
  await copyFile(join(path, 'saved'), journal)
  drive = await openDrive(path)
  t.equal(drive.counter(countKey)[0], 50)
  await drive.close()
  await t.rejects(stat(join(path, 'index.damaged')), { code: 'ENOENT' })
  await truncate(data, 20_000)
  await truncate(journal, 0)
  for (let tries = 0; tries < 2; tries++) {
    await t.rejects(
      openDrive(path),
      { code: 'journal_damaged' },
      'a drive that had an index is not taken for a new one',
    )
  }
})
