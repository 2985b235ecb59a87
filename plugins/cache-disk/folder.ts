/** Checks that the folder belongs to the cache of this deployment, and locks it. An unfit folder is refused with an error for the operator. */
import { accessSync, constants, existsSync } from 'node:fs'
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const formatName = 'svc-cache'
const formatVersion = 1
/** Names that file systems, operators and an interrupted first start leave in an otherwise empty folder. */
const ignorable = new Set(['lost+found', '.DS_Store', 'lock', 'lock-journal', 'tmp'])

export interface Folder {
  readonly path: string
  /** The folder was empty. */
  readonly isNew: boolean
  /** Idempotent. */
  release(): void
}

/** Has a code: errors with a code are shown without their stack. */
const refused = (problem: string) => Object.assign(new Error(`SVC_CACHE_DIR: ${problem}`), { code: 'cache_folder' })

/** Throws if the folder cannot be the cache of this deployment. Changes nothing. `deploymentId`: undefined if it is not known yet. */
export async function checkFolder(dir: string, deploymentId: string | undefined): Promise<'new' | 'ours'> {
  const path = resolve(dir)
  const real = await realOf(path)
  for (let one = real; ; one = dirname(one)) {
    const format = await formatOf(one)
    if (format?.format === 'svc-drive') {
      const place = one === real ? `${path} is` : `${path} lies in ${one}, which is`
      throw refused(`${place} the folder of a drive. Name a folder of its own.`)
    }
    if (one === dirname(one)) break
  }
  const format = await formatOf(path)
  if (format === undefined) {
    const names = (await namesOf(path)).filter(name => !ignorable.has(name))
    if (names.length === 0) return 'new'
    throw refused(
      `${path} has no format.json and is not empty (found ${names.slice(0, 3).join(', ')}). Name an empty folder.`,
    )
  }
  if (format.format !== formatName)
    throw refused(`${path} has a format.json that is none of a cache. Name an empty folder.`)
  if (format.version !== formatVersion) {
    throw refused(
      `${path} was written by another release (version ${format.version}). Empty it, or name another folder.`,
    )
  }
  if (deploymentId !== undefined && format.deploymentId !== deploymentId) {
    throw refused(
      `${path} is the cache of deployment ${format.deploymentId}, and this one is ${deploymentId}. Empty it, or name another folder.`,
    )
  }
  return 'ours'
}

/** Creates the folder if it is missing, and locks it against other processes. Throws if it is unfit. */
export async function openFolder(dir: string, deploymentId: string): Promise<Folder> {
  const path = resolve(dir)
  await checkFolder(path, deploymentId)
  try {
    await mkdir(join(path, 'tmp'), { recursive: true, mode: 0o700 })
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw refused(`${path} cannot be used: ${(error as Error).message}.`)
  }
  if (!(await lstat(join(path, 'tmp'))).isDirectory())
    throw refused(`${join(path, 'tmp')} is a link, and what is behind it is none of the cache. Remove it.`)
  const lock = lockFolder(path)
  let isNew: boolean
  try {
    // Checked again, because another process may have changed it before the lock.
    isNew = (await checkFolder(path, deploymentId)) === 'new'
    if (isNew) await writeFormat(path, deploymentId)
    for (const name of await namesOf(join(path, 'tmp'))) await rm(join(path, 'tmp', name), { force: true })
  } catch (error) {
    lock.close()
    throw error
  }
  let isOpen = true
  return {
    path,
    isNew,
    release() {
      if (isOpen) lock.close()
      isOpen = false
    },
  }
}

/** The path with its links resolved, as far as its folders exist. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realOf(parent), basename(path))
  }
}

async function writeFormat(path: string, deploymentId: string): Promise<void> {
  const format = { format: formatName, version: formatVersion, deploymentId, node: hostname() }
  const file = join(path, 'tmp', 'format.json')
  await writeFile(file, `${JSON.stringify(format)}\n`, { mode: 0o600 })
  await rename(file, join(path, 'format.json'))
}

interface Format {
  readonly format?: unknown
  readonly version?: unknown
  readonly deploymentId?: unknown
}

/** Undefined if the file is missing, an empty object if it cannot be read. */
async function formatOf(path: string): Promise<Format | undefined> {
  try {
    const found: unknown = JSON.parse(await readFile(join(path, 'format.json'), 'utf8'))
    return typeof found === 'object' && found !== null ? found : {}
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '') ? undefined : {}
  }
}

async function namesOf(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    throw refused(`${path} cannot be read: ${message}.`)
  }
}

/** The operating system releases the lock however the process ends. */
function lockFolder(path: string): DatabaseSync {
  const file = join(path, 'lock')
  let database: DatabaseSync | undefined
  try {
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database?.close()
    const { message } = error as Error
    if (/locked|busy/i.test(message)) {
      throw refused(`${path} is in use by another server process. \`fuser -v ${file}\` names it.`)
    }
    throw refused(`${path} cannot be locked: ${message}.`)
  }
}
