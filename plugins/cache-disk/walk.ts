/** Reads every folder after a start. Adds records that the index lacks, and removes those whose files are gone. */
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { blocksOf, type DiskIndex } from './disk-index.ts'
import { fileBytesMax } from './record-file.ts'

export interface Walk {
  /** A record was stored during the walk. */
  entered(slot: number): void
  /** Resolves at the end, or after `stop`. */
  run(): Promise<void>
  stop(): void
}

const twoDigits = /^[0-9a-f]{2}$/
const recordName = /^[0-9a-f]{64}$/

/** `enter` adds a file to the index, and deletes the files that it evicts. */
export function createWalk(path: string, index: DiskIndex, enter: (id: Buffer, blocks: number) => Promise<void>): Walk {
  const seen = new Uint8Array(index.capacity + 1)
  let isStopped = false

  async function look(folder: string, name: string): Promise<void> {
    const file = join(folder, name)
    const found = await lstat(file).catch(() => undefined)
    if (found === undefined) return
    const id = Buffer.from(name, 'hex')
    const blocks = blocksOf(found.size)
    if (
      !found.isFile() ||
      blocks === 0 ||
      found.size > fileBytesMax ||
      !folder.endsWith(join(name.slice(0, 2), name.slice(2, 4)))
    ) {
      if (found.isFile()) await rm(file, { force: true })
      return
    }
    const slot = index.slotOf(id)
    if (slot === 0 || index.blocksOf(slot) !== blocks) return enter(id, blocks)
    seen[slot] = 1
  }

  return {
    entered(slot) {
      seen[slot] = 1
    },
    stop() {
      isStopped = true
    },
    async run() {
      for (const first of (await readdir(path)).filter(name => twoDigits.test(name))) {
        for (const second of (await namesOf(join(path, first))).filter(name => twoDigits.test(name))) {
          const folder = join(path, first, second)
          for (const name of (await namesOf(folder)).filter(one => recordName.test(one))) {
            if (isStopped) return
            await look(folder, name)
          }
        }
      }
      for (let slot = index.slotAfter(0); slot !== 0 && !isStopped; slot = index.slotAfter(slot)) {
        if (seen[slot] === 0) index.delete(index.idOf(slot))
      }
    },
  }
}

async function namesOf(path: string): Promise<readonly string[]> {
  return readdir(path).catch(() => [])
}
