/**
 * kill -9 at random moments of a server over four drives, of which one or two are harmed beside: taken away, emptied, damaged in
 * places. A set of four bears the loss of two, and what is acknowledged is on three drives at least. So after everything was
 * redundant one drive may be harmed at a crash, or two while nothing is written, or one of them before and one at a crash; then
 * nobody harms anything before everything is redundant again. Whatever happens, the set reads everything that was acknowledged.
 *
 * Objects of the class REDUCED_REDUNDANCY bear the loss of one drive, and those that were written at a crash not even that: there are none.
 * SEED repeats the choices of a run (not its timing), ROUNDS its length.
 */
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { testRounds } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { startServer } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { createHarmedDrives, type Harm } from './harmed-drives.ts'
import { createKillRounds, createRandom, loadMsMaxOf } from './kill-rounds.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const roundCount = testRounds({ laptop: 6, ci: 60, long: 60 })
/** A slow machine makes fewer rounds, unless their number was asked for. */
const loadMsMax = loadMsMaxOf(process.env, process.env.CI ? 240_000 : 60_000)
/** For drives to come back and to be given all that they lack: what could not be healed is tried again after a while. */
const repairMsMax = 120_000
/** Writes may be refused for as long as a drive is harmed: then the crash is not waited for until many were acknowledged. */
const harmedLoadMsMax = 1000
const driveCount = 4

t.setTimeout(process.env.ROUNDS === undefined ? 900_000 : roundCount * 60_000 + 300_000)
t.comment(`SEED=${seed} ROUNDS=${roundCount}`)
const folder = mkdtempSync(join(tmpdir(), 'svc-kill-set-'))
// Small segments: several of them are there, and compaction has something to do.
const environment = { SVC_DRIVE_SEGMENT_BYTES: '4MiB' }
const server = await startServer({ drive: join(folder, `d{1...${driveCount}}`), environment })
t.teardown(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})
const client = createSignedClient(server.port)
t.teardown(() => client.disconnect())
const random = createRandom(seed)
const drives = createHarmedDrives(folder, random)
const { harmed } = drives
const isRefusalAllowed = () => harmed.size > 0
const rounds = createKillRounds({ server, client, seed, random, isRefusalAllowed })
const { s3, journal, problems, counts } = rounds
const call = (method: string, path: string, body?: object) => createAdminClient(server).call(method, path, body)
const harms: readonly Harm[] = [
  'away',
  'emptied',
  'blobs flipped',
  'journal flipped',
  // Root writes all the same.
  ...(process.getuid?.() === 0 ? [] : ['read-only' as const]),
]

/** What happened, where it happened: between the results of the test that runs. */
let running: Test = t
const note = (text: string) => running.comment(text)

function chance(of: number): boolean {
  return random() < of
}

/** A drive that was not harmed yet. Everything but `away` only while no server runs. */
function harmOne(harm = harms[Math.floor(random() * harms.length)]!): void {
  const whole = Array.from({ length: driveCount }, (_, i) => i + 1).filter(number => !harmed.has(number))
  note(`${drives.harm(whole[Math.floor(random() * whole.length)]!, harm)}`)
}

interface Disk {
  readonly path: string
  readonly state: string
  readonly error: string
}

async function disks(): Promise<readonly Disk[]> {
  return (await call('GET', '/info')).nodes[0].disks
}

/** What the server has said last that is worth a warning. */
function complaints(): string[] {
  const isOne = (line: string) => /^\{"level":"(warn|error|fatal)"/.test(line)
  return server.log().split('\n').filter(isOne).slice(-20)
}

async function waitUntilFull(what: string): Promise<void> {
  const deadline = Date.now() + repairMsMax
  for (;;) {
    const redundancy = await call('GET', '/redundancy')
    if (redundancy.isFull) return
    if (Date.now() > deadline) {
      const state = JSON.stringify({ ...redundancy, disks: await disks() }, undefined, 1)
      throw new Error(`${what}: ${redundancy.summary} ${state}\n${complaints().join('\n')}`)
    }
    await sleep(100)
  }
}

/** Empty drives in the places of these, as an operator would put them there. */
async function replace(numbers: readonly number[]): Promise<void> {
  if (numbers.length === 0) return
  note(`replaced: ${numbers.map(number => `d${number}`).join(', ')}`)
  await server.kill()
  for (const number of numbers) drives.replace(number)
  await server.start()
  await waitUntilFull('replaced drives are filled')
}

/** Drives whose journals were damaged; `refused`: those that cannot be opened any more, and that no waiting brings back. */
async function withDamagedJournals(which: 'all' | 'refused'): Promise<number[]> {
  const flipped = [...harmed].filter(([, harm]) => harm === 'journal flipped').map(([number]) => number)
  if (which === 'all') return flipped
  const found = await disks()
  const disk = (number: number) => found.find(({ path }) => path === drives.path(number))!
  return flipped.filter(number => disk(number).state !== 'online' && disk(number).error.includes('journal is damaged'))
}

/** Ends with everything redundant: whatever was lost is there again, and what nobody has read is read. */
async function repair(): Promise<void> {
  if (chance(0.5)) drives.giveBack()
  else {
    await server.kill()
    drives.giveBack()
    await server.start()
  }
  const refused = await withDamagedJournals('refused')
  await replace(refused)
  await waitUntilFull('all drives are there again')
  const { id } = await call('POST', '/heal', { recursive: true, deep: true })
  let job = await call('GET', `/heal/${id}`)
  for (const deadline = Date.now() + repairMsMax; !job.finished; job = await call('GET', `/heal/${id}`)) {
    if (Date.now() > deadline) throw new Error(`the heal job does not end: ${JSON.stringify(job)}`)
    await sleep(100)
  }
  if (job.state !== 'completed' || job.failed > 0 || job.dangling > 0) problems.push(`heal job: ${JSON.stringify(job)}`)
  await waitUntilFull('all shards were read')
  // Bodies were read. Damage of what is in the index shows only when that is built again: with others harmed, it would be one too many.
  await replace((await withDamagedJournals('all')).filter(number => !refused.includes(number)))
  await rounds.verify('all')
  drives.forget()
}

/** How many drives are harmed before the load, and at the crash. */
const plans = [
  { before: 0, atCrash: 1 },
  { before: 2, atCrash: 0 },
  { before: 1, atCrash: 1 },
] as const

/** Load and a crash, with drives that are harmed. */
async function harmLoadAndCrash(plan: { readonly before: number; readonly atCrash: number }): Promise<void> {
  if (plan.before > 0) {
    await server.kill()
    client.disconnect()
    for (let count = 0; count < plan.before; count++) harmOne()
    await rounds.startAgain()
  }
  const isEarly = plan.atCrash > 0 && chance(0.3)
  let left: number = plan.atCrash
  await rounds.loadAndCrash({
    waitMsMax: plan.before > 0 ? harmedLoadMsMax : undefined,
    halfway() {
      if (!isEarly) return
      harmOne('away')
      left--
    },
  })
  for (; left > 0; left--) harmOne()
}

/** On a machine of any speed. */
const roundsMin = 2

t.test('crashes and harmed drives lose nothing that was acknowledged', async t => {
  running = t
  const began = Date.now()
  await rounds.begin()
  await waitUntilFull('a new set')
  let round = 0
  const isTime = () => round < roundsMin || Date.now() - began < loadMsMax
  for (; round < roundCount && problems.length === 0 && isTime(); round++) {
    const plan = harmed.size === 0 ? plans[Math.floor(random() * plans.length)]! : { before: 0, atCrash: 0 }
    note(`round ${round}: ${JSON.stringify(plan)} ${[...harmed]}`)
    await harmLoadAndCrash(plan)
    await rounds.startAgain()
    await rounds.verifyUploads()
    await rounds.verify('all')
    if (chance(0.6)) await repair()
  }
  t.same(problems, [], `SEED=${seed}`)
  t.ok(round >= Math.min(roundCount, roundsMin), `${round} crashes`)
  t.ok(counts.acknowledged > round, `${counts.acknowledged} writes were acknowledged, ${counts.refused} refused`)
  t.ok(counts.unanswered > round, `${counts.unanswered} were cut off: the crashes came while it was busy`)
  t.equal(counts.brokenOff, 0, 'while it ran, every request was answered')
})

t.test('in the end all data is redundant, and an emptied bucket leaves no data', async t => {
  running = t
  await repair()
  await rounds.verifyUploads()
  t.same(problems, [])
  for (const key of journal.present().certain) await s3.remove(key)
  // Refused unless the counters of objects, versions and uploads are exactly zero.
  await s3.deleteBucket()
  t.equal(await server.stop(), 0)
  await server.start()
  await waitUntilFull('an emptied set')
  t.match(await call('GET', '/redundancy'), { isFull: true, records: 0, bytes: 0, belowRecords: 0, belowBytes: 0 })
  let left = drives.blobs()
  for (let attempt = 0; left.length > 0 && attempt < 450; attempt++) {
    await sleep(200)
    left = drives.blobs()
  }
  t.same(left, [], 'bodies without a record are collected')
})
