/** The files that somebody dropped or chose, with the keys that they get. */
import type { Chosen } from './queue.ts'

/** Of an input element: a chosen folder gives its files with their paths. */
export function filesOfInput(files: FileList, prefix: string): Chosen[] {
  return Array.from(files, file => ({ key: prefix + (file.webkitRelativePath || file.name), file }))
}

/** Of a drop, folders included. The entries have to be taken before anything is awaited. */
export async function filesOfDrop(items: DataTransferItemList, prefix: string): Promise<Chosen[]> {
  const entries = Array.from(items, item => item.webkitGetAsEntry()).filter(entry => entry !== null)
  const chosen: Chosen[] = []
  for (const entry of entries) await collect(entry, prefix, chosen)
  return chosen
}

async function collect(entry: FileSystemEntry, prefix: string, chosen: Chosen[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    chosen.push({ key: prefix + entry.name, file })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  for (;;) {
    const found = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (found.length === 0) return
    for (const each of found) await collect(each, `${prefix}${entry.name}/`, chosen)
  }
}
