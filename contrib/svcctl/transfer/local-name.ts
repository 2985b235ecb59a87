/**
 * Maps keys to files of a folder. Keys come from the server and are not trusted: for any key, no file is written outside of
 * the folder, and no two keys become one file. A key that is not a valid name is refused, never changed.
 */
import { lstat, mkdir, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { CliError, exitCodes } from '../errors.ts'

const nameBytesMax = 255
const checkedFoldersMax = 50_000

/** The names of our unfinished files. Keys of this form are refused, so that no object can replace them. */
export const unfinishedPattern = /^\.svcctl-[0-9a-f]{16}\.part$/

const refused = (key: string, reason: string): CliError =>
  new CliError('unsafe_name', exitCodes.failure, `${JSON.stringify(key)} is not written: ${reason}.`)

/** The elements of the path. Throws `unsafe_name`. */
export function nameElements(key: string): string[] {
  const elements = key.split('/')
  for (const element of elements) {
    if (element === '') throw refused(key, 'a file cannot have an empty name in its path')
    if (element === '.' || element === '..') throw refused(key, 'it would lead out of the folder')
    if (element.includes('\0')) throw refused(key, 'a file name cannot hold a zero byte')
    if (sep === '\\' && /[\\:<>"|?*]|[. ]$/.test(element)) throw refused(key, 'this system has no such file names')
    if (Buffer.byteLength(element) > nameBytesMax) throw refused(key, `a file name has at most ${nameBytesMax} bytes`)
    if (unfinishedPattern.test(element)) throw refused(key, 'that is a name of unfinished downloads')
  }
  return elements
}

export interface LocalFolder {
  readonly path: string
  /** The path for a key below this folder; makes the folders on the way. Throws `unsafe_name` or a system error. */
  place(key: string): Promise<string>
}

/** Makes the folder where it is missing. */
export async function createLocalFolder(path: string): Promise<LocalFolder> {
  await mkdir(path, { recursive: true })
  const root = await realpath(path)
  const checked = new Set<string>([root])

  /** Element by element, because `mkdir -p` would follow a link that leads out. */
  async function enter(folder: string, key: string): Promise<void> {
    try {
      await mkdir(folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const found = await lstat(folder)
      if (found.isSymbolicLink()) {
        const target = await realpath(folder)
        if (target !== root && !target.startsWith(root.endsWith(sep) ? root : root + sep)) {
          throw refused(key, `${folder} is a link that leads out of the folder`)
        }
      } else if (!found.isDirectory()) throw refused(key, `${folder} is a file, and would have to be a folder`)
    }
    if (checked.size >= checkedFoldersMax) checked.clear()
    checked.add(folder)
  }

  return {
    path: root,
    async place(key) {
      const elements = nameElements(key)
      const folder = elements.length === 1 ? root : join(root, ...elements.slice(0, -1))
      if (!checked.has(folder)) {
        let at = root
        for (const element of elements.slice(0, -1)) {
          at = join(at, element)
          if (!checked.has(at)) await enter(at, key)
        }
      }
      return join(folder, elements.at(-1)!)
    },
  }
}
