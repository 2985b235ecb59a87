/**
 * Checks for `server --dry-run` whether a set could be opened, and says what a start would do. Reads only, and no journals: after an unclean
 * stop, what a drive knows about the set (its members, and how far each is) may still be in its journal, so the other drives are asked. If
 * no drive can say, the drives that are named count as the members. Called by `index.ts`.
 */
import type { DriveLook, DrivesService } from 'svc/plugins/drive/api'
import type { Cursor, RecordKey, StoredRecord } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { copiesProblem, deploymentsProblem, isMount, missingMounts, notMounted, sharedFileSystems } from './mounts.ts'
import { compareProgress, decodeProgress, decodeSetDocument, noProgress, type SetDocument } from './set-document.ts'
import { progressKey, setKey } from './set-keys.ts'
import { userValueOf } from './set-record.ts'

export interface PreflightOptions {
  readonly drives: DrivesService
  readonly paths: readonly string[]
  readonly parityCount: number
}

/** A sentence for each reason why a start would be refused, and for each probable missing mount. */
export async function checkSet(options: PreflightOptions): Promise<string[]> {
  const { drives, paths } = options
  const looks = await Promise.all(paths.map(path => drives.look(path)))
  const formatted = looks.filter(({ state }) => state === 'formatted')
  if (formatted.length === 0) return (await Promise.all(paths.map(path => drives.check(path)))).flat()
  const copies = copiesProblem(formatted)
  if (copies !== undefined) return [copies]
  const deployments = deploymentsProblem(formatted)
  if (deployments !== undefined) return [deployments]
  const openable: DriveLook[] = []
  const problems: string[] = []
  for (const look of looks) {
    const found = look.state === 'formatted' ? await drives.check(look.path) : []
    if (look.state === 'formatted' && found.length === 0) openable.push(look)
    problems.push(...found)
  }
  const documents = (await Promise.all(openable.map(look => peekDocument(options, look)))).filter(
    found => found !== undefined,
  )
  const setIds = new Set(documents.map(({ setId }) => setId))
  if (setIds.size > 1) return ['The drives belong to different sets.']
  const document = documents[0]
  const needed = document === undefined ? paths.length - options.parityCount : dataCountOf(document)
  if (document !== undefined && document.slots.length !== paths.length) {
    return [`The set has ${document.slots.length} drives, but ${paths.length} are named. Name all of them.`]
  }
  // Folders that do not exist are no missing mounts: a start goes on without them, and creates nothing.
  const isThere = await Promise.all(looks.map(({ path }) => drives.disk.exists(path)))
  const there = looks.filter((_, index) => isThere[index])
  const missing = (await missingMounts(there, isMount)).map(notMounted)
  if (openable.length >= needed) return missing
  const away = looks.filter(look => !openable.includes(look)).map(({ path }) => path)
  const count = `${openable.length} of ${paths.length} drives can be opened; ${needed} are needed to read.`
  // The reasons first, then what follows from them.
  return [...problems, `${count} These cannot: ${away.join(', ')}.`, ...missing]
}

/** What a start would create, and which drives it would go without. To be called if `checkSet` found no problem. */
export async function planSet({ drives, paths, parityCount }: PreflightOptions): Promise<string[]> {
  const looks = await Promise.all(paths.map(path => drives.look(path)))
  const name = `${paths[0]} to ${paths.at(-1)}`
  if (!looks.some(({ state }) => state === 'formatted')) {
    const data = paths.length - parityCount
    const loss =
      parityCount === 0 ? 'none may fail' : parityCount === 1 ? 'any one may fail' : `any ${parityCount} may fail`
    const room = `${Math.round((data / paths.length) * 100)} % of their room is for data`
    const plan = [
      `A new set of ${paths.length} drives is made, ${name}, for ever: ${data} shards of data and ${parityCount} of parity. Of the drives ${loss}; ${room}.`,
    ]
    const shared = await sharedFileSystems(paths)
    if (shared.length > 0) {
      plan.push(`${shared.join(', ')} share a file system: if it is lost, all of them are lost.`)
    }
    return plan
  }
  const plan: string[] = []
  for (const { path, state, problem } of looks) {
    if (state === 'formatted') {
      for (const why of await drives.check(path)) plan.push(`The set ${name} starts without ${path}: ${why}`)
      continue
    }
    if (problem === undefined && (await drives.disk.exists(path))) {
      plan.push(
        `${path} is empty: it replaces a missing drive of the set ${name}, and its records and shards are rebuilt.`,
      )
    } else
      plan.push(
        `The set ${name} starts without ${path}, which ${problem === undefined ? 'is not there' : 'cannot be used'}.`,
      )
  }
  return plan
}

/** What was not checked: the journals of drives that were not stopped cleanly. */
export async function notLookedAtInSet({ drives, paths }: PreflightOptions): Promise<string[]> {
  const silent: string[] = []
  for (const path of paths) {
    if ((await drives.look(path)).state !== 'formatted') continue
    await drives.peek(path, setKey).catch(() => silent.push(path))
  }
  if (silent.length === 0) return []
  return [
    `to which set ${silent.join(', ')} belong: they were not stopped cleanly, and only a start reads their journals`,
  ]
}

function dataCountOf({ slots, parityCount }: SetDocument): number {
  return slots.length - parityCount
}

async function peekDocument({ drives }: PreflightOptions, { path }: DriveLook): Promise<SetDocument | undefined> {
  try {
    const record = await drives.peek(path, setKey)
    return record && decodeSetDocument(record.value)
  } catch {
    // Only a start can tell. The other drives are asked; if none can tell, this is not checked.
    return undefined
  }
}

/** A record of the most advanced drive. Rejects if no drive can be read. */
export async function peekSet(options: PreflightOptions, key: RecordKey): Promise<StoredRecord | undefined> {
  const path = await furthestDrive(options)
  const record = path === undefined ? undefined : await options.drives.peek(path, key)
  return record && { value: userValueOf(record.value), body: undefined }
}

/** As `peekSet`, for the records from `start` to before `end`. */
export async function peekScanSet<T>(
  options: PreflightOptions,
  start: RecordKey,
  end: RecordKey,
  visit: (cursor: Cursor) => T,
): Promise<T | undefined> {
  const path = await furthestDrive(options)
  if (path === undefined) return undefined
  return options.drives.peekScan(path, start, end, cursor => visit(userCursor(cursor)))
}

/** The records of users of the storage; where the bytes of their bodies lie is not looked at. */
function userCursor(cursor: Cursor): Cursor {
  return {
    seek: key => cursor.seek(key),
    next: () => cursor.next(),
    get key() {
      return cursor.key
    },
    get value() {
      return userValueOf(cursor.value)
    },
    body: undefined,
  }
}

/** Path of the drive that has come furthest; undefined where none is formatted. Rejects where none can be looked at. */
async function furthestDrive({ drives, paths }: PreflightOptions): Promise<string | undefined> {
  let best: { readonly path: string; readonly progress: typeof noProgress } | undefined
  let reason: unknown
  let formatted = 0
  for (const path of paths) {
    if ((await drives.look(path)).state !== 'formatted') continue
    formatted++
    try {
      const record = await drives.peek(path, progressKey)
      const progress = record === undefined ? noProgress : decodeProgress(record.value)
      if (best === undefined || compareProgress(progress, best.progress) > 0) best = { path, progress }
    } catch (error) {
      reason = error
    }
  }
  if (formatted > 0 && best === undefined) throw reason ?? storageErrors.unavailable('none of the drives')
  return best?.path
}
