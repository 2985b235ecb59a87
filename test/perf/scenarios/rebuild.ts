/**
 * How long it takes until a drive that was replaced has everything again: many small objects, and some large ones, on 4+2. Against
 * reading with plain file reads what has to be read at least. Afterwards the ledger is at zero, and everything is read with as many other
 * drives away as there is parity.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, measureCpu, type Scenario } from '../bench.ts'
import { removeFolder } from '../processes.ts'
import {
  fillSet,
  proveRebuilt,
  readShardFiles,
  rebuildBeganMs,
  restartWithEmptyDrive,
  SHAPE,
  type Stock,
  stocksOf,
  waitUntilWhole,
} from '../replacement.ts'
import { nameOf, readRedundancy } from '../sets.ts'

const SETTLE_MS = 300

export const rebuild: Scenario = {
  name: 'rebuild',
  summary: 'a replaced drive of 4+2: 100 thousand objects of 4 KiB (--quick: 5000), 20 GiB of large ones (1 GiB)',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return bench.say('nothing to compare with: left out')
    for (const [index, stock] of stocksOf(bench).entries()) await measure(bench, stock, `stock-${index}`)
  },
}

async function measure(bench: Bench, stock: Stock, name: string): Promise<void> {
  const set = await fillSet(bench, name, stock)
  const plain = readShardFiles(set)
  const server = await restartWithEmptyDrive(bench, set)
  const beganMs = rebuildBeganMs(server)
  const servedMs = Date.now()
  const { below } = await readRedundancy(server)
  bench.say(
    `serves ${Math.round(servedMs - beganMs)} ms after the empty drive was found; ${below} records lack a shard`,
  )
  const { cpu } = await measureCpu(server, () => waitUntilWhole(bench, server))
  const seconds = (Date.now() - beganMs) / 1000
  // Nothing is left to come.
  await sleep(SETTLE_MS)
  const after = await readRedundancy(server)
  if (after.below !== 0) throw new Error(`${after.below} records lack a shard although there were none before.`)
  await server.stop()
  await proveRebuilt(bench, set)
  removeFolder(set.folder)

  const { label, count, sizeBytes } = stock
  const isSmall = sizeBytes < 2 ** 20
  const amount = isSmall ? count : (count * sizeBytes) / 1e6
  const unit = isSmall ? 'objects/s' : 'MB/s'
  const subject = nameOf(SHAPE)
  const record = (subject: string, name: string, unit: string, value: number, note?: string): void =>
    bench.record({ subject, name: `${label}: ${name}`, unit, samples: [value], note })
  record(subject, 'until it serves', 's', (servedMs - beganMs) / 1000, 'from when the empty drive was found')
  record(subject, 'until nothing lacks a shard', 's', seconds, 'from when the empty drive was found')
  record(subject, 'rebuild', unit, amount / seconds, isSmall ? undefined : 'of data, without parity')
  record(
    subject,
    'CPU while serving',
    isSmall ? 'µs/object' : 's/GiB',
    isSmall ? (cpu * 1e6) / count : (cpu * 2 ** 30) / (count * sizeBytes),
  )
  record(subject, 'records below their redundancy afterwards', 'records', after.below)
  record('plain file reads', 'read', unit, amount / plain.seconds, `${Math.round(plain.bytes / 1e6)} MB of four drives`)
  record(`${subject} / plain file reads`, 'rebuild', 'ratio', plain.seconds / seconds)
}
