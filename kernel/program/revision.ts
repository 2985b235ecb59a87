/** The revision of the sources, and the build time. */
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

/** The file that the build wrote beside this module; undefined if the program runs from its sources. */
function buildStamp(): BuildStamp {
  try {
    return JSON.parse(readFileSync(new URL('build.json', import.meta.url), 'utf8'))
  } catch {
    return {}
  }
}

/**
 * The commit is SVC_COMMIT, that of the build, or the current one of the clone from which the program runs; the date is SVC_BUILD_DATE, or when the
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

/** Undefined if the folder is not a clone, or cannot be read. */
export function revisionIn(folder: string): string | undefined {
  const read = (...path: string[]) => readFileSync(join(...path), 'utf8').trim()
  try {
    // In a linked work tree `.git` is a file that names its folder, and a file in that folder names the folder that all of them share.
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
    return undefined // The result is optional, and the folder may be anything: a package, an archive, a folder of another project.
  }
}
