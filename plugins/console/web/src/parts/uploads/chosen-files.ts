/** The files that somebody dropped or chose, with the keys that they get. */
import type { Chosen } from './queue.ts'

/** Files of an input element. A chosen folder gives its files with their paths. */
export function filesOfInput(files: FileList, prefix: string): Chosen[] {
  return Array.from(files, file => ({ key: prefix + pathOf(file), file }))
}

/** Browsers make slashes of the backslashes in the path within a folder; the name is as it is. */
function pathOf({ webkitRelativePath, name }: File): string {
  return webkitRelativePath.slice(0, -name.length) + name
}

/** Files of a drop, including those in folders. The entries must be taken before the first await. */
export async function filesOfDrop(items: DataTransferItemList, prefix: string): Promise<Drop> {
  const entries = Array.from(items, item => item.webkitGetAsEntry()).filter(entry => entry !== null)
  const drop: Drop = { chosen: [], unreadable: [] }
  for (const entry of entries) await collect(entry, prefix, drop)
  return drop
}

export interface Drop {
  readonly chosen: Chosen[]
  /** Paths of what the browser could not read. */
  readonly unreadable: string[]
}

async function collect(entry: FileSystemEntry, prefix: string, drop: Drop): Promise<void> {
  try {
    await read(entry, prefix, drop)
  } catch {
    drop.unreadable.push(prefix + entry.name)
  }
}

async function read(entry: FileSystemEntry, prefix: string, drop: Drop): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    drop.chosen.push({ key: prefix + entry.name, file })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  for (;;) {
    const found = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (found.length === 0) return
    for (const each of found) await collect(each, `${prefix}${entry.name}/`, drop)
  }
}
