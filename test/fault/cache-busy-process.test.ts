/** A busy process above a fast disk of the cache: the tier is not left alone for what is not its fault. */
import { pbkdf2 } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSeededRandom, createSystemPorts } from 'svc/testing'
import t from 'tap'
import { guardTier } from '../../plugins/cache/tiers/guarded-tier.ts'
import { createDiskKind } from '../../plugins/cache-disk/kind.ts'
import { alone } from '../../plugins/cache-disk/test/tier.ts'

const MiB = 1024 * 1024
const log = { debug() {}, info() {}, warn() {}, error() {} } as never

t.test('a busy process leaves a fast disk switched on', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-busy-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const { clock } = createSystemPorts()
  const random = createSeededRandom(1)
  const budgetBytes = 256 * MiB
  const context = { log, clock, random, budgetBytes, deploymentId: 'one' }
  const tier = createDiskKind({ dir, size: budgetBytes }, alone).create(context)
  await tier.start()
  t.teardown(() => tier.stop())
  const ids = Array.from({ length: 8 }, () => random.bytes(32))
  const body = random.bytes(MiB)
  for (const one of ids) t.ok(await tier.put(one, { head: Buffer.from('head'), body }))
  const warnings: string[] = []
  const hears = { ...(log as object), warn: (_facts: object, text: string) => void warnings.push(text) } as never
  const guarded = guardTier({ name: 'disk', tier, budgetBytes, clock, log: hears, onFailure() {} })
  const origin = join(dir, 'tmp', 'origin')
  writeFileSync(origin, body)

  const derive = promisify(pbkdf2)
  const began = performance.now()
  await derive('x', 'y', 10_000, 32, 'sha256')
  const iterations = Math.ceil((10_000 * 10) / Math.max(1, performance.now() - began))
  let isBusy = true
  /** Twice as much as the pool has threads. */
  const fillPool = async () => {
    while (isBusy) await derive('x', 'y', iterations, 32, 'sha256')
  }
  const pool = Promise.all(Array.from({ length: 8 }, fillPool))
  let late = 0
  for (let round = 0; round < 10; round++) {
    const visits = ids.map(async one => {
      if ((await guarded.get(one)) !== undefined) return
      late++
      // As a request does that misses.
      await readFile(origin)
    })
    const asked = Promise.all(visits)
    // Now and then the event loop does something else, too.
    if (round % 2 === 0) for (const until = performance.now() + 80; performance.now() < until; );
    await asked
  }
  isBusy = false
  await pool
  t.comment(`${late} of ${10 * ids.length} were late`)
  t.ok(late > 10, 'so busy that answers are late')
  t.same(warnings, [], 'it is not left alone')
  let isThere = false
  for (let i = 0; i < 50 && !isThere; i++) isThere = (await guarded.get(ids[0] as Buffer)) !== undefined
  t.ok(isThere, 'and it answers')
})
