/**
 * Notices that the files of a directory have changed: at once through the file system's notices, and by looking at times
 * and sizes every so often where there are none (network file systems, mounted secrets swapped by symbolic link).
 */
import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from 'svc/kernel'

/** Certificate and key are written one after the other: look only when it has been quiet for this long. */
const settleMs = 200

export interface FileWatch {
  stop(): void
}

/** Calls `onChange` after a change has settled; never concurrently. Watching continues after errors of `onChange`. */
export async function watchFiles(
  directory: string,
  names: readonly string[],
  options: { readonly clock: Clock; readonly intervalMs: number },
  onChange: () => Promise<void>,
): Promise<FileWatch> {
  let seen = await stamp(directory, names)
  let stopped = false
  let checking = false
  let again = false
  let cancelSettle: (() => void) | undefined
  let cancelPoll: (() => void) | undefined
  let watcher: FSWatcher | undefined

  async function check(): Promise<void> {
    if (stopped) return
    if (checking) {
      again = true
      return
    }
    checking = true
    try {
      const now = await stamp(directory, names)
      if (now !== seen) {
        seen = now
        await onChange()
      }
    } finally {
      checking = false
    }
    if (again) {
      again = false
      await check()
    }
  }

  function settle(): void {
    cancelSettle?.()
    cancelSettle = options.clock.after(settleMs, () => void check())
  }

  function poll(): void {
    cancelPoll = options.clock.after(options.intervalMs, () => {
      void check().then(poll)
    })
  }

  try {
    watcher = watch(directory, { persistent: false }, settle)
    // A directory that goes away ends its notices; the poll below goes on.
    watcher.on('error', () => watcher?.close())
  } catch {
    // No notices on this file system or none left: the poll below is enough.
  }
  poll()

  return {
    stop() {
      stopped = true
      cancelSettle?.()
      cancelPoll?.()
      watcher?.close()
    },
  }
}

/** Changes whenever a file is replaced or written; a missing file counts as one more state. */
async function stamp(directory: string, names: readonly string[]): Promise<string> {
  const stamps = await Promise.all(
    names.map(async name => {
      try {
        const { ino, mtimeMs, size } = await stat(join(directory, name))
        return `${ino} ${mtimeMs} ${size}`
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? 'unreadable'
      }
    }),
  )
  return stamps.join('\n')
}
