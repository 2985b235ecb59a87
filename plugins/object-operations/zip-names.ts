/**
 * Names in an archive. Keys are arbitrary text, and programs that unpack an archive use names as paths. A path must stay below the
 * folder into which the archive is unpacked, on every system. Unsafe parts are replaced, so that no object is left out:
 *
 * | In a key | In the archive |
 * |---|---|
 * | `.` and `..` as a folder or name, an empty folder or name (`//`, a `/` at the beginning or end) | `_`, `__`, `_` |
 * | `\`, `:`, NUL and other control characters, and those that turn the direction of text | `_` |
 * | `<`, `>`, `"`, `|`, `?`, `*`, and a dot or space at the end of a part, which Windows refuses | `_` |
 * | devices of Windows, with any extension: `CON`, `nul.txt` | `CON_`, `nul_.txt` |
 * | lone surrogates | U+FFFD |
 * | a part of more than 240 bytes, which with a number no file system would take | its beginning, with its extension |
 *
 * A number distinguishes keys with the same name, versions of one key, and a file from a folder of the same name: `a (2).txt`. Names are the same
 * if they differ only by case or by the composition of their letters: so do macOS and Windows compare them.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not reach a file name
const unsafe = /[\\:<>"|?*\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
/** Source: Microsoft, "Naming Files, Paths, and Namespaces". */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?= *(?:\.|$))/i

/** The safe name of the key without its first `skip` characters. */
export function safeName(key: string, skip: number): string {
  return key.slice(skip).toWellFormed().replace(unsafe, '_').split('/').map(safePart).join('/')
}

function safePart(part: string): string {
  if (part === '' || part === '.') return '_'
  if (part === '..') return '__'
  const short = Buffer.byteLength(part) > partBytesMax ? shortened(part) : part
  return short.replace(/[. ]$/, '_').replace(device, name => `${name}_`)
}

/** Linux, macOS and Windows take 255; a number needs some. */
const partBytesMax = 240
const extensionBytesMax = 16

function shortened(part: string): string {
  const dot = part.lastIndexOf('.')
  const own = dot > 0 ? part.slice(dot) : ''
  const extension = Buffer.byteLength(own) > extensionBytesMax ? '' : own
  const bytes = Buffer.from(part).subarray(0, partBytesMax - Buffer.byteLength(extension))
  // A character that was cut in the middle is left out.
  return bytes.toString().replace(/\ufffd+$/, '') + extension
}

/** Length of the longest folder that contains all of these: keys count with their folder, prefixes with themselves. */
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

/** Maximum number of files and folders of an archive, because their names stay in memory. */
const placesMax = 1_000_000
const file = 0

/**
 * Returns each name once, and never the name of a folder: keys may be both, `a` and `a/b`, which a file system cannot store. The later name
 * gets the number. The cost of a name is proportional to its length, even if many names collide.
 */
export function createNames(): (wanted: string) => string {
  /** By `placeOf`: `file`, or the number of that folder; the root has 0. */
  const taken = new Map<string, number>()
  /** Other names of folders whose name a file already had, by the same key. */
  const moved = new Map<string, string>()
  /** The next number to try, by the same key. */
  const nextNumbers = new Map<string, number>()
  let folderCount = 0

  const take = (place: string, what: number) => {
    if (taken.size >= placesMax) throw new Error('the archive has too many files and folders')
    taken.set(place, what)
  }

  const freePart = (folder: number, wanted: string): string => {
    const place = placeOf(folder, wanted)
    if (!taken.has(place)) return wanted
    let number = nextNumbers.get(place) ?? 2
    let part = numbered(wanted, number++)
    while (taken.has(placeOf(folder, part))) part = numbered(wanted, number++)
    nextNumbers.set(place, number)
    return part
  }

  const enter = (folder: number, wanted: string): { readonly part: string; readonly entered: number } => {
    const place = placeOf(folder, wanted)
    let part = moved.get(place) ?? wanted
    const known = taken.get(placeOf(folder, part))
    if (known !== undefined && known !== file) return { part, entered: known }
    if (known === file) {
      part = freePart(folder, wanted)
      moved.set(place, part)
    }
    take(placeOf(folder, part), ++folderCount)
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
    take(placeOf(folder, part), file)
    return path + part
  }
}

/** Parts of one folder that some system takes for the same have the same place. */
const placeOf = (folder: number, part: string): string => `${folder}/${part.normalize('NFC').toLowerCase()}`

/** The part with a number, in front of its extension. */
function numbered(part: string, number: number): string {
  const dot = part.lastIndexOf('.')
  return dot > 0 ? `${part.slice(0, dot)} (${number})${part.slice(dot)}` : `${part} (${number})`
}
