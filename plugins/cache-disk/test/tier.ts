/** A tier over a folder of its own, in one thread. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock, Threads } from 'svc/kernel'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import type { Test } from 'tap'
import { createDiskKind, type DiskTier } from '../kind.ts'

export const alone = {
  index: 0,
  workerCount: 0,
  isMain: true,
  isFront: true,
  handle() {},
  onExit() {},
} as unknown as Threads

export async function temporaryFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-cache-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))
  return folder
}

export interface TierOptions {
  readonly deploymentId?: string
  readonly clock?: Clock
  readonly logged?: string[]
}

export function tierIn(dir: string, budgetBytes: number, options: TierOptions = {}): DiskTier {
  const { deploymentId = 'one', clock = createFakeClock(), logged = [] } = options
  const say = (_facts: unknown, text: string) => logged.push(text)
  const log = { debug() {}, info() {}, warn: say, error: say } as never
  const kind = createDiskKind({ dir, size: budgetBytes }, alone)
  return kind.create({ log, clock, random: createSeededRandom(1), budgetBytes, deploymentId })
}

/** Absolute paths of all records. */
export async function recordFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir, { recursive: true })
  return names.filter(name => /(^|\/)[0-9a-f]{64}$/.test(name)).map(name => join(dir, name))
}

export async function storedBytes(dir: string): Promise<number> {
  const files = [...(await recordFiles(dir)), ...(await readdir(join(dir, 'tmp'))).map(name => join(dir, 'tmp', name))]
  let bytes = 0
  for (const file of files) bytes += (await stat(file).catch(() => ({ size: 0 }))).size
  return bytes
}
