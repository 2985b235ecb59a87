/**
 * Invariants 1, 2 and 6 with a real process and a real disk: a server reports its acknowledged writes and is killed with SIGKILL
 * at a random moment; the drive is then opened and compared. ROUNDS sets the number of rounds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import { type SeededRandom, seeded, testRounds } from 'svc/testing'
import t, { type Test } from 'tap'
import { Drive } from '../drive.ts'
import { lmdbIndexFolder } from '../index-folder.ts'
import { lockDrive } from '../lock.ts'
import { systemDrivePorts } from '../testing.ts'
import { defaults } from './fixtures/config.ts'
import { countKey, deriveCount, procedures, recordKey } from './fixtures/table.ts'

const rounds = testRounds({ laptop: 2, ci: 5, long: 50 })
const fixture = new URL('./fixtures/killed-writer.ts', import.meta.url).pathname

interface Fact {
  readonly number: number
  readonly put?: string
  readonly deleted?: string
}

/** Runs the writer until it has reported enough, kills it, and returns all its reports. */
async function runAndKill(path: string, from: number, random: SeededRandom): Promise<Fact[]> {
  const child = spawn(process.execPath, ['--conditions=svc-src', fixture, path, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Stripping types again in each round would take longer than the round.
    env: { ...process.env, NODE_COMPILE_CACHE: `${path}-cache` },
  })
  const facts: Fact[] = []
  const enough = 20 + random.integer(600)
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.endsWith('}')) break
    facts.push(JSON.parse(line))
    // It goes on writing until it is dead; those reports count, too.
    if (facts.length === enough) setTimeout(() => child.kill('SIGKILL'), random.float() * 20)
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return facts
}

function openDrive(path: string): Promise<Drive> {
  return Drive.open({
    path,
    config: defaults,
    procedures,
    derive: deriveCount,
    ports: systemDrivePorts(),
    log: pino({ level: 'silent' }),
    index: lmdbIndexFolder,
    lock: lockDrive,
  })
}

/** The newest acknowledged number per name, and its change. */
function acknowledged(known: Map<string, Fact>, facts: readonly Fact[]): void {
  for (const fact of facts) {
    const name = (fact.put ?? fact.deleted)!
    if ((known.get(name)?.number ?? -1) < fact.number) known.set(name, fact)
  }
}

async function verify(t: Test, drive: Drive, known: ReadonlyMap<string, Fact>): Promise<void> {
  let mistakes = 0
  for (const [name, fact] of known) {
    const record = drive.get(recordKey(name))
    if (record === undefined) {
      // Deleted by the acknowledged delete, or by a later one that was not acknowledged.
      const later = drive.get(recordKey(`deleted-${name}`))
      const deletedBy = later === undefined ? -1 : Number(Buffer.from(later.value))
      if (fact.put !== undefined && deletedBy <= fact.number) mistakes++
      continue
    }
    const { number, size, ref } = JSON.parse(Buffer.from(record.value).toString())
    if (number < fact.number || (fact.deleted !== undefined && number === fact.number)) mistakes++
    const expected = Buffer.alloc(size, number)
    if (ref === undefined) {
      if (!(await drive.readBody(record.body!)).equals(expected)) mistakes++
      continue
    }
    const reader = drive.readBlob(ref, 0, ref.size)
    const chunk = await reader.next()
    if (!chunk!.bytes.equals(expected)) mistakes++
    chunk!.release()
    reader.close()
  }
  t.equal(mistakes, 0, `${known.size} acknowledged names have their acknowledged or a newer state`)
  const sums = drive.scan(recordKey(''), Buffer.from('u'), cursor => {
    let count = 0
    let bytes = 0
    while (cursor.next()) {
      count++
      bytes += cursor.value.length
    }
    return [count, bytes]
  })
  t.strictSame(drive.counter(countKey), sums, 'invariant 6: the counters equal the sums over the records')
}

// Takes minutes on a busy machine; a file that exceeds the limit ends the whole run.
t.setTimeout(600_000)

t.test(`acknowledged writes survive SIGKILL, ${rounds} times`, t =>
  seeded(t, async random => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-kill-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'drive')
    const known = new Map<string, Fact>()
    let next = 0
    for (let round = 0; round < rounds; round++) {
      const facts = await runAndKill(path, next, random)
      t.ok(facts.length > 0, `round ${round}: ${facts.length} acknowledgements`)
      acknowledged(known, facts)
      // Numbers that were in flight at the kill are not reused.
      next = Math.max(next, ...facts.map(({ number }) => number)) + 100
      if (round % 4 === 3 || round === rounds - 1) {
        const drive = await openDrive(path)
        await verify(t, drive, known)
        await drive.close()
      }
    }
  }),
)
