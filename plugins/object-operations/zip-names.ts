/**
 * Names in an archive. Keys are any text; what unpacks an archive makes paths of its names, and a path must stay below the folder that
 * it is unpacked into, on every system. What could lead elsewhere is replaced, character by character, so that nothing is left out:
 *
 * | In a key | In the archive |
 * |---|---|
 * | `.` and `..` as a folder or name, an empty folder (`//`, a leading `/`) | `_`, `__`, `_` |
 * | `\`, `:`, NUL and other control characters | `_` |
 * | lone surrogates | U+FFFD |
 *
 * Two keys that come to the same name, two versions of one key, and a name that is an object and a folder are told apart by a number:
 * `a (2).txt`.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not reach a file name
const unsafe = /[\\:\u0000-\u001f\u007f]/g

/** `key` behind the first `skip` characters. */
export function safeName(key: string, skip: number): string {
  return key
    .slice(skip)
    .toWellFormed()
    .replace(unsafe, '_')
    .split('/')
    .map(part => (part === '' || part === '.' ? '_' : part === '..' ? '__' : part))
    .join('/')
}

/** Length of the longest folder that all of these are in: keys count with the folder that they are in, prefixes with themselves. */
export function commonFolderLength(keys: readonly string[], prefixes: readonly string[]): number {
  const folders = [...keys.map(key => key.slice(0, key.lastIndexOf('/') + 1)), ...prefixes.map(folderOf)]
  let [common = ''] = folders
  for (const folder of folders) {
    while (!folder.startsWith(common)) common = common.slice(0, common.lastIndexOf('/', common.length - 2) + 1)
  }
  return common.length
}

function folderOf(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf('/') + 1)
}

/** Files and folders of an archive: their places are all that is held of an entry beside its record in the directory. */
const placesMax = 1_000_000
const file = 0

/**
 * Gives out each name once, and none that is a folder, too: keys may be both, `a` and `a/b`, in archives that cannot be unpacked. What
 * comes second gets the number. Each name costs as much as it is long, however many come to the same.
 */
export function createNames(): (wanted: string) => string {
  /** By `<number of the folder>/<part>`: `file`, or the number of that folder; the outermost has 0. */
  const taken = new Map<string, number>()
  /** Parts of folders that a file had before, by the same. */
  const moved = new Map<string, string>()
  /** Where to go on counting, by the same. */
  const nextNumbers = new Map<string, number>()
  let folderCount = 0

  const take = (place: string, what: number) => {
    if (taken.size >= placesMax) throw new Error('an archive has more files and folders than their names may be held')
    taken.set(place, what)
  }

  const freePart = (folder: number, wanted: string): string => {
    const place = `${folder}/${wanted}`
    if (!taken.has(place)) return wanted
    let number = nextNumbers.get(place) ?? 2
    let part = numbered(wanted, number++)
    while (taken.has(`${folder}/${part}`)) part = numbered(wanted, number++)
    nextNumbers.set(place, number)
    return part
  }

  const enter = (folder: number, wanted: string): { readonly part: string; readonly entered: number } => {
    const place = `${folder}/${wanted}`
    let part = moved.get(place) ?? wanted
    const known = taken.get(`${folder}/${part}`)
    if (known !== undefined && known !== file) return { part, entered: known }
    if (known === file) {
      part = freePart(folder, wanted)
      moved.set(place, part)
    }
    take(`${folder}/${part}`, ++folderCount)
    return { part, entered: folderCount }
  }

  return wanted => {
    const parts = wanted.split('/')
    const last = parts.pop()!
    let folder = 0
    let path = ''
    for (const wantedPart of parts) {
      const { part, entered } = enter(folder, wantedPart)
      path += `${part}/`
      folder = entered
    }
    const part = freePart(folder, last)
    take(`${folder}/${part}`, file)
    return path + part
  }
}

/** `part` of a path; what is behind its last dot stays behind the number. */
function numbered(part: string, number: number): string {
  const dot = part.lastIndexOf('.')
  return dot > 0 ? `${part.slice(0, dot)} (${number})${part.slice(dot)}` : `${part} (${number})`
}
