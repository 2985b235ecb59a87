/** The tier `disk` in one thread. It reads and writes the files, and informs the keeper in the main thread. */
import type { FoundRecord, TierRecord, TierUsage } from 'svc/plugins/cache/api'
import type { Keeper } from './keeper.ts'
import { fileBytesOf, readRecord, writeRecord } from './record-file.ts'

export interface DiskFiles {
  get(id: Buffer): Promise<FoundRecord | undefined> | undefined
  put(id: Buffer, record: TierRecord): Promise<boolean>
}

export const noUsage: TierUsage = { entries: 0, bytes: 0, evictions: 0 }

/** `thread`: the number of this thread; it makes the names of temporary files unique. */
export function createDiskFiles(folder: string, keeper: Keeper, thread: number): DiskFiles {
  let writes = 0

  async function read(id: Buffer): Promise<FoundRecord | undefined> {
    const found = await readRecord(folder, id)
    if (found === undefined) {
      keeper.missing(id)
      return undefined
    }
    if (found === 'damaged') {
      // If another thread has replaced the damaged file meanwhile, this removes the good one. That costs a miss.
      await keeper.remove(id)
      return undefined
    }
    keeper.used(id)
    return found
  }

  return {
    get: id => (keeper.mayHave(id) ? read(id) : undefined),
    async put(id, record) {
      const bytes = fileBytesOf(record)
      if (!(await keeper.reserve(bytes))) return false
      try {
        await writeRecord(folder, `${thread}-${writes++}`, id, record)
      } catch (error) {
        keeper.written(id, bytes, (error as Error).message)
        return false
      }
      keeper.written(id, bytes)
      return true
    },
  }
}
