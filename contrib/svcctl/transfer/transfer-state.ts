/** State of unfinished transfers, with which the same command resumes them: small files in the configuration folder. */
import { hash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from '../private-file.ts'

export interface StateFile<T> {
  /** 16 hexadecimal digits, a hash of the transfer's source and target. */
  readonly id: string
  /** Undefined: there is none, or none that can be read. */
  load(): Promise<T | undefined>
  save(state: T): Promise<void>
  remove(): Promise<void>
}

export interface TransferStates {
  /** `identity` is everything that has to be the same for a transfer to go on. */
  open<T>(kind: 'uploads' | 'downloads', identity: readonly unknown[]): StateFile<T>
}

/** State that was not used for so long is deleted. */
const keptMs = 14 * 86_400_000

export function createTransferStates(folder: string): TransferStates {
  const pruned = new Set<string>()

  async function prune(kind: string): Promise<void> {
    if (pruned.has(kind)) return
    pruned.add(kind)
    const names = await readdir(join(folder, kind)).catch(() => []) // The first transfer makes the folder.
    for (const name of names) {
      const path = join(folder, kind, name)
      const found = await stat(path).catch(() => undefined) // Another svcctl may be done with it.
      if (found !== undefined && Date.now() - found.mtimeMs > keptMs) await rm(path, { force: true })
    }
  }

  return {
    open<T>(kind: 'uploads' | 'downloads', identity: readonly unknown[]): StateFile<T> {
      const id = hash('sha256', JSON.stringify(identity)).slice(0, 16)
      const path = join(folder, kind, `${id}.json`)
      return {
        id,
        async load() {
          await prune(kind)
          const text = await readPrivateFile(path)
          if (text === undefined) return undefined
          try {
            const { identity: found, state } = JSON.parse(text) as { identity: unknown; state: T }
            return JSON.stringify(found) === JSON.stringify(identity) ? state : undefined
          } catch {
            return undefined // Not ours any more: the transfer starts again.
          }
        },
        save: state => writePrivateFile(path, JSON.stringify({ identity, state })),
        remove: () => rm(path, { force: true }),
      }
    },
  }
}
