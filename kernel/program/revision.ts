/** Which revision of its sources this is, and when it was built. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Build } from '../kernel-service.ts'

const shownDigits = 12

let known: Build | undefined

interface BuildStamp {
  readonly commit?: string
  readonly date?: string
}

/** What the build wrote beside this module; nothing where the program runs from its sources. */
function buildStamp(): BuildStamp {
  try {
    return JSON.parse(readFileSync(new URL('build.json', import.meta.url), 'utf8'))
  } catch {
    return {}
  }
}

/**
 * The commit is SVC_COMMIT, what the build says, or what the clone is at that the program runs from; the date is SVC_BUILD_DATE, or when the
 * build ran. Read once, from small files.
 */
export function currentBuild(): Build {
  if (known !== undefined) return known
  const { SVC_COMMIT, SVC_BUILD_DATE } = process.env
  const manifest = new URL(import.meta.resolve('svc/package.json'))
  const { commit, date } = buildStamp()
  known = {
    version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    commit: SVC_COMMIT || commit || (revisionIn(fileURLToPath(new URL('.', manifest))) ?? 'unknown'),
    buildDate: SVC_BUILD_DATE || date || 'unknown',
  }
  return known
}

/** Undefined where the folder is no clone, or one that cannot be read. */
export function revisionIn(folder: string): string | undefined {
  const read = (...path: string[]) => readFileSync(join(...path), 'utf8').trim()
  try {
    // Of a linked work tree `.git` is a file that names its folder, and in this another one names the folder that all of them share.
    const place = join(folder, '.git')
    const own = statSync(place).isFile() ? resolve(folder, read(place).replace('gitdir: ', '')) : place
    const shared = existsSync(join(own, 'commondir')) ? resolve(own, read(own, 'commondir')) : own
    const [, name] = /^ref: (.+)$/.exec(read(own, 'HEAD')) ?? []
    const git = [own, shared].find(each => existsSync(join(each, name ?? 'HEAD')))
    const packed = () => read(shared, 'packed-refs').split('\n')
    const commit =
      git !== undefined
        ? read(git, name ?? 'HEAD')
        : packed()
            .find(line => line.endsWith(` ${name}`))
            ?.split(' ')[0]
    return /^[0-9a-f]{40,64}$/.test(commit ?? '') ? commit?.slice(0, shownDigits) : undefined
  } catch {
    return undefined // Nothing depends on it, and it may be anything: a package, an archive, somebody else's folder.
  }
}
