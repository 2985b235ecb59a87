/**
 * Runs one schedule after another over simulated hardware: as a worker of simulation.test.ts, where no test runner watches each
 * promise, or by hand with `node --conditions=svc-src plugins/drive/test/simulate.ts SEED ROUNDS`.
 */
import assert from 'node:assert/strict'
import { runSchedules, type SeededRandom } from 'svc/testing'
import { SimulatedDrive } from './simulated-drive.ts'

export interface Totals {
  acknowledged: number
  rejected: number
  compacted: number
  recovered: number
  rebuilt: number
  rotten: number
  operations: number
  refusals: number
  squeezed: number
}

async function runSchedule(random: SeededRandom, totals: Totals): Promise<void> {
  const drive = new SimulatedDrive(random, random.float() < 0.2 ? 600_000 + random.integer(2_000_000) : undefined)
  const lives = 2 + random.integer(3)
  await drive.start()
  for (let life = 0; life < lives; life++) {
    if (random.float() < 0.1) drive.disk.errorRate = 0.01
    if (random.float() < 0.2) drive.index.failureRate = 0.3
    let isSqueezed = false
    const clients = new Set<Promise<void>>()
    let compaction: Promise<void> | undefined
    for (let step = random.integer(80); step > 0; step--) {
      const luck = random.float()
      if (luck < 0.6 && clients.size < 24) {
        const client = drive.change().finally(() => clients.delete(client))
        clients.add(client)
      } else if (luck < 0.65 && compaction === undefined) {
        compaction = drive.compact().finally(() => {
          compaction = undefined
        })
      } else if (luck < 0.7) drive.look()
      else if (luck < 0.75) drive.housekeep()
      else if (luck < 0.77 && isSqueezed === luck < 0.763) {
        isSqueezed = !isSqueezed
        drive.squeeze(isSqueezed)
        if (isSqueezed) totals.squeezed++
      }
      await drive.tick()
    }
    drive.disk.errorRate = 0
    if (!isSqueezed) drive.index.failureRate = 0
    const ending = random.float()
    if (ending < 0.45) drive.crash('power')
    else if (ending < 0.75) drive.crash('process')
    else {
      while (clients.size > 0 || compaction !== undefined) await drive.tick()
      await drive.stop()
      if (random.float() < 0.5) drive.crash('power')
    }
    const luck = random.float()
    if (luck < 0.15) {
      drive.index.remove()
      totals.rebuilt++
    } else if (luck < 0.3) {
      drive.index.rot()
      if (drive.index.isRotten) totals.rotten++
    }
    await drive.start()
    await drive.verify()
    if (isSqueezed) drive.squeeze(false)
  }
  await checkReplay(drive)
  totals.acknowledged += drive.counts.acknowledged
  totals.rejected += drive.counts.rejected
  totals.compacted += drive.counts.compacted
  totals.recovered += drive.counts.recovered
  totals.operations += drive.disk.operations
  totals.refusals += drive.disk.refusals
}

/** Invariant 3: an index rebuilt from nothing equals the one that was kept. */
async function checkReplay(drive: SimulatedDrive): Promise<void> {
  await drive.flush()
  const kept = drive.dump()
  drive.crash('process')
  drive.index.remove()
  await drive.start()
  await drive.flush()
  assert.deepEqual(drive.dump(), kept, 'invariant 3: the index is the replay of the journal')
  await drive.verify()
}

const totals: Totals = {
  acknowledged: 0,
  rejected: 0,
  compacted: 0,
  recovered: 0,
  rebuilt: 0,
  rotten: 0,
  operations: 0,
  refusals: 0,
  squeezed: 0,
}

await runSchedules(totals, random => runSchedule(random, totals))
