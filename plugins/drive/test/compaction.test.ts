/**
 * Compaction terminates: what it writes is bounded by what clients wrote, for any mix of changes, and it finds no more work soon
 * after the last change. Prints the write amplification of a long mixed run. SEED and ROUNDS repeat or extend it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { seeded } from 'svc/testing'
import t, { type Test } from 'tap'
import { Drive } from '../drive.ts'
import { checkIndex } from '../index-check.ts'
import { lmdbIndexFolder } from '../index-folder.ts'
import { lockDrive } from '../lock.ts'
import { systemDrivePorts } from '../testing.ts'
import { defaults } from './fixtures/config.ts'
import { countKey, deriveCount, procedures, recordKey } from './fixtures/table.ts'

const roundCount = Number(process.env.ROUNDS ?? 12)
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
t.setTimeout(300_000)
const segmentBytes = 1024 * 1024
const config = {
  ...defaults,
  segmentBytes,
  compactionBytesPerSecond: 2 ** 40,
}

async function openDrive(t: Test): Promise<Drive> {
  const folder = await newFolder()
  const drive = await openAt(folder)
  t.teardown(async () => {
    await drive.close()
    await rm(folder, { recursive: true, force: true })
  })
  return drive
}

/** In memory where such a folder exists: thousands of single writes each wait for a sync. */
function newFolder(): Promise<string> {
  return mkdtemp(join(process.platform === 'linux' ? '/dev/shm' : tmpdir(), 'svc-compaction-'))
}

function openAt(folder: string): Promise<Drive> {
  return Drive.open({
    path: join(folder, 'drive'),
    config,
    batchBytes: 64 * 1024,
    readWindowMs: 1,
    procedures,
    derive: deriveCount,
    ports: systemDrivePorts(),
    log: pino({ level: 'silent' }),
    index: lmdbIndexFolder,
    lock: lockDrive,
  })
}

/** Compacts until two steps in a row find no work, segments that wait for readers included. Returns the number of steps. */
async function settle(drive: Drive, stepsMax: number): Promise<number> {
  const signal = new AbortController().signal
  let idle = 0
  let steps = 0
  for (; idle < 2 && steps < stepsMax; steps++) {
    idle = (await drive.compaction.work(signal)) === 'idle' ? idle + 1 : 0
    await new Promise(resolve => setTimeout(resolve, 3))
  }
  return steps
}

/** Bytes of entries and bodies that records still need. */
function neededBytes(drive: Drive): number {
  let bytes = 0
  for (const use of drive.state.segments.values()) bytes += use.liveBytes + use.tombstoneBytes
  return bytes
}

function journalBytes(drive: Drive): number {
  let bytes = 0
  for (const size of drive.journal.segments.values()) bytes += size
  return bytes
}

t.test('single deletes needed because of an old segment are packed once, not again and again', async t => {
  const drive = await openDrive(t)
  const nameOf = (i: number) => `victim-${i}`
  // The first segments: mostly records that stay, mixed with all the records that are deleted below.
  for (let i = 0; i < 1000; i++) {
    const changes = [drive.execute('table.put', { name: `kept-${i}`, value: 'kept' }, Buffer.alloc(2000, i))]
    changes.push(drive.execute('table.put', { name: nameOf(i), value: 'gone' }, undefined))
    await Promise.all(changes)
  }
  await settle(drive, 1000)
  const before = drive.journal.bytesWritten
  // One by one: each takes a batch of 4 KiB.
  for (let i = 0; i < 1000; i++) await drive.execute('table.delete', { name: nameOf(i) }, undefined)
  const deletesWritten = drive.journal.bytesWritten - before
  t.ok(deletesWritten >= 1000 * 4096, `${deletesWritten} bytes of deletes`)
  const movedBefore = drive.journal.bytesWritten
  const steps = await settle(drive, 200)
  t.ok(steps < 200, `at rest after ${steps} steps`)
  const written = drive.journal.bytesWritten - movedBefore
  t.ok(written < deletesWritten / 4, `compaction wrote ${written} bytes for them`)
  t.ok(journalBytes(drive) < 2 * neededBytes(drive) + 2 * segmentBytes, 'and the space has come back')
  const again = drive.journal.bytesWritten
  await settle(drive, 200)
  t.equal(drive.journal.bytesWritten, again, 'and nothing is written when nothing changes')
  t.equal(drive.get(recordKey(nameOf(7))), undefined)
  t.equal(drive.counter(countKey)[0], 1000)
})

t.test('overwrites and deletes among records that stay, for long', t =>
  seeded(t, async random => {
    const drive = await openDrive(t)
    let clientBytes = 0
    let changes = 0
    const put = (name: string, size: number) => {
      clientBytes += size
      changes++
      return drive.execute('table.put', { name, value: `${size}` }, Buffer.alloc(size, changes))
    }
    for (let i = 0; i < 1500; i++) await Promise.all([0, 1, 2].map(part => put(`cold-${i}-${part}`, 1000)))
    const loadedBytes = drive.journal.bytesWritten
    let compacted = 0
    for (let round = 0; round < roundCount; round++) {
      for (let i = 0; i < 150; i++) {
        const burst = 1 + random.integer(4)
        await Promise.all(
          Array.from({ length: burst }, () => {
            const name = `hot-${random.integer(400)}`
            const luck = random.float()
            if (luck < 0.4) return put(name, random.integer(3000))
            if (luck < 0.42) return put(`cold-${random.integer(1500)}-1`, 1000)
            changes++
            return drive.execute('table.delete', { name }, undefined)
          }),
        )
      }
      const before = drive.journal.bytesWritten
      t.ok((await settle(drive, 400)) < 400, `round ${round}: it comes to rest`)
      compacted += drive.journal.bytesWritten - before
    }
    const { bytesWritten } = drive.journal
    const mixedBytes = bytesWritten - loadedBytes - compacted
    t.comment(
      `${changes} changes, ${clientBytes} bytes of clients, journal ${bytesWritten}, of it by compaction ${compacted}: ` +
        `amplification ${(bytesWritten / clientBytes).toFixed(2)} in all, ` +
        `${(1 + compacted / mixedBytes).toFixed(2)} by compaction`,
    )
    t.ok(compacted > 0, 'there was something to compact')
    t.ok(compacted < 2 * mixedBytes, 'compaction writes at most twice what the changes wrote')
    const again = drive.journal.bytesWritten
    await settle(drive, 200)
    t.equal(drive.journal.bytesWritten, again)
  }),
)

t.test('bodies that other records have taken over, once and again, in their segment and in later ones', t =>
  seeded(t, async random => {
    const folder = await newFolder()
    let drive = await openAt(folder)
    t.teardown(async () => {
      await drive.close()
      await rm(folder, { recursive: true, force: true })
    })
    /** Fill byte and size of the body of each record. */
    const expected = new Map<string, readonly [byte: number, size: number]>()
    let number = 0
    const execute = (procedure: string, args: object, body?: Buffer) => drive.execute(procedure, args, body)
    const put = async (name: string) => {
      const [byte, size] = [number++ % 251, 500 + random.integer(3000)]
      expected.set(name, [byte, size])
      await execute('table.put', { name, value: name }, Buffer.alloc(size, byte))
    }
    const move = async (from: string, to: string) => {
      const body = expected.get(from)
      if (body === undefined || from === to) return
      expected.set(to, body)
      expected.delete(from)
      await execute('table.move', { from, to })
    }
    const remove = async (name: string) => {
      expected.delete(name)
      await execute('table.delete', { name })
    }
    /** As a shard that is staged: nearly all are moved within their segment, and at once. */
    const putStaged = async (name: string) => {
      const staged = `staged-${number}`
      await put(staged)
      await move(staged, name)
    }
    const nameOf = () => `${random.integer(300)}`
    const change = () => {
      const luck = random.float()
      if (luck < 0.6) return putStaged(nameOf())
      if (luck < 0.8) return move(nameOf(), nameOf())
      return luck < 0.85 ? put(nameOf()) : remove(nameOf())
    }
    const check = async (when: string) => {
      let wrong = 0
      for (const [name, [byte, size]] of expected) {
        const body = drive.get(recordKey(name))?.body
        if (body === undefined || !(await drive.bodies.readUncached(body)).equals(Buffer.alloc(size, byte))) wrong++
      }
      t.equal(wrong, 0, `${when}: all ${expected.size} bodies are right`)
      t.equal(drive.counter(countKey)[0], expected.size, when)
      await drive.checkpoints.flush()
      t.equal(checkIndex(drive.state.index), undefined, `${when}: the index is that of its digest`)
    }
    for (let round = 0; round < roundCount; round++) {
      // Changes go on while it compacts: a body may change hands between the look at an entry and its move.
      const signal = new AbortController().signal
      let isDone = false
      const compacting = (async () => {
        while (!isDone) {
          await drive.compaction.work(signal)
          await new Promise(resolve => setTimeout(resolve, 1))
        }
      })()
      for (let i = 0; i < 120; i++) await change()
      for (let i = 0; i < 60; i++) await Promise.all([0, 1, 2].map(part => putStaged(`part-${part}-${nameOf()}`)))
      isDone = true
      await compacting
      t.ok((await settle(drive, 400)) < 400, `round ${round}: it comes to rest`)
      t.equal(drive.compaction.segmentsDamaged, 0, 'no segment keeps anything that is needed')
      await check(`round ${round}`)
    }
    t.ok(drive.compaction.segmentsRemoved > 0, `${drive.compaction.segmentsRemoved} segments were compacted`)
    await drive.close()
    await rm(join(folder, 'drive/index'), { recursive: true })
    drive = await openAt(folder)
    await check('with an index that was made anew')
  }),
)
