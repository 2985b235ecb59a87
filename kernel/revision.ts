/** Which revision of its sources this is. */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const shownDigits = 12

let known: string | undefined

/** SVC_COMMIT, or what the clone is at that the program runs from; `unknown` otherwise. Read once, from a few small files. */
export function revision(): string {
  known ??=
    process.env.SVC_COMMIT ||
    (revisionIn(fileURLToPath(new URL('.', import.meta.resolve('svc/package.json')))) ?? 'unknown')
  return known
}

/** Undefined where the folder is no clone, or one that cannot be read. */
export function revisionIn(folder: string): string | undefined {
  try {
    const git = gitFolder(join(folder, '.git'))
    const head = readFileSync(join(git, 'HEAD'), 'utf8').trim()
    const name = /^ref: (.+)$/.exec(head)?.[1]
    const commit = name === undefined ? head : commitOf(git, name)
    return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit.slice(0, shownDigits) : undefined
  } catch {
    return undefined // Nothing depends on it, and it may be anything: a package, an archive, somebody else's folder.
  }
}

/** Of a linked work tree `.git` is a file that names it. */
function gitFolder(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return path // A folder cannot be read as a file.
  }
  return resolve(dirname(path), text.replace(/^gitdir: /, '').trim())
}

function commitOf(git: string, name: string): string | undefined {
  const read = (path: string): string | undefined => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined // It may be in another of these places.
    }
  }
  const common = resolve(git, read(join(git, 'commondir'))?.trim() ?? '.')
  const loose = read(join(git, name)) ?? read(join(common, name))
  if (loose !== undefined) return loose.trim()
  const packed = read(join(common, 'packed-refs'))?.split('\n')
  return packed?.find(line => line.endsWith(` ${name}`))?.split(' ')[0]
}
