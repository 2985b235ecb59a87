/**
 * kill -9 at random moments under mixed load. What was acknowledged is there, whole; what was not acknowledged is wholly
 * there or not at all; listings, uploads and usage agree with it. SEED repeats the choices of a run (not its timing),
 * ROUNDS its length.
 */
import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { testRounds } from 'svc/testing'
import t from 'tap'
import { startServer } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { createKillRounds, createRandom, loadMsMaxOf } from './kill-rounds.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const roundCount = testRounds({ laptop: 20, ci: 200, long: 200 })
/** A slow machine makes fewer rounds, unless their number was asked for. */
const loadMsMax = loadMsMaxOf(process.env, 900_000)
const roundCountMin = Math.min(roundCount, 10)
/** Every so many rounds all keys are read again, not only those that were written since. */
const fullRoundInterval = 10

t.setTimeout(process.env.ROUNDS === undefined ? 1_150_000 : roundCount * 20_000 + 120_000)
t.comment(`SEED=${seed} ROUNDS=${roundCount}`)
const server = await startServer()
t.teardown(() => server.remove())
const client = createSignedClient(server.port)
t.teardown(() => client.disconnect())
const rounds = createKillRounds({ server, client, seed, random: createRandom(seed) })
const { s3, journal, problems, counts } = rounds
await rounds.begin()

t.test('crashes lose nothing that was acknowledged and tear nothing that was not', async t => {
  const began = Date.now()
  let round = 0
  // A slow machine takes longer for the least number of crashes.
  const isTime = () => round < roundCountMin || Date.now() - began < loadMsMax
  for (; round < roundCount && problems.length === 0 && isTime(); round++) {
    await rounds.loadAndCrash()
    await rounds.startAgain()
    await rounds.verifyUploads()
    await rounds.verify(round % fullRoundInterval === fullRoundInterval - 1 ? 'all' : 'touched')
  }
  t.same(problems, [], `SEED=${seed}`)
  t.ok(round >= roundCountMin, `${round} crashes`)
  t.ok(counts.acknowledged > round * 5, `${counts.acknowledged} writes were acknowledged`)
  const cutOff = counts.unanswered + counts.brokenOff
  t.ok(cutOff > round, `${cutOff} were cut off: the crashes came while it was busy`)
})

t.test('in the end the bucket can be emptied, and no data remains on the drive', async t => {
  await rounds.verify('all')
  t.same(problems, [])
  for (const key of journal.present().certain) await s3.remove(key)
  // Refused unless the counters of objects, versions and uploads are exactly zero.
  await s3.deleteBucket()
  t.equal(await server.stop(), 0)
  await server.start()
  let left: string[] = []
  for (let attempt = 0; attempt < 450; attempt++) {
    left = readdirSync(join(server.drive, 'blobs'), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name)
    if (left.length === 0) break
    await sleep(200)
  }
  t.same(left, [], 'bodies without a record are collected')
})
