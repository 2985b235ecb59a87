/**
 * Opens the drives of a set at a start, and decides which drive has which slot, which one leads, and which ones must catch up. A drive is
 * identified by its format and the set document on it, never by its path: drives may be moved between folders. No drive is formatted
 * before all formatted drives are known to belong together. Called by `backend.ts`.
 *
 * 1. `drives.look` reads what each folder says; the drives must belong to one deployment, and none may be a copy of another.
 * 2. Formatted drives, and empty folders that may be new drives, are opened. The start waits a bounded time for slow ones.
 * 3. The drive that is most advanced leads (`compareCandidates`); its document says which drive has which slot.
 * 4. Empty drives take the slots of drives that are missing, with the next generation. Drives unlike the leader are `behind`.
 */
import type { Logger, Ports } from 'svc/kernel'
import type { DriveLook, DrivesService } from 'svc/plugins/drive/api'
import { type AnswerWatch, waitForQuorum } from './answer-watch.ts'
import { erasureErrors } from './errors.ts'
import { decodeLeastParity, leastParityKey } from './least-parity.ts'
import { Member } from './member.ts'
import {
  copiesProblem,
  deploymentsProblem,
  type IsMount,
  missingMounts,
  notMounted,
  type sharedFileSystems,
} from './mounts.ts'
import { defaultReducedParity, writeQuorumOf } from './parity.ts'
import {
  compareCandidates,
  compareProgress,
  decodeProgress,
  decodeSetDocument,
  nextGeneration,
  noProgress,
  type Progress,
  type SetDocument,
} from './set-document.ts'
import { progressKey, setKey, unfinishedKey } from './set-keys.ts'
import type { WatchedDrive } from './watched-drive.ts'

export interface OpeningOptions {
  readonly drives: DrivesService
  readonly ports: Ports
  readonly log: Logger
  readonly paths: readonly string[]
  readonly parityCount: number
  readonly unitBytes: number
  readonly watch: AnswerWatch
  readonly isMount: IsMount
  readonly sharedFileSystems: typeof sharedFileSystems
  /** Deployment of drives without a format, if no drive has one. Default: a new deployment. */
  readonly deploymentId?: string
  /** In the order of the paths. `deploymentId`: for drives without a format. */
  create(index: number, deploymentId: string): WatchedDrive
}

export interface OpenedSet {
  readonly document: SetDocument
  /** The document is new, or a new drive has a slot in it: it has to be written. */
  readonly isDescriptionNew: boolean
  /** By slot. */
  readonly members: readonly Member[]
  readonly leader: Member
  /** The least parity of what the drives may have; at most that of the set. */
  readonly leastParityCount: number
  /** Progress of the leader, with which the other drives are compared. */
  readonly progress: Progress
  /** Drives that are still being opened; the start does not wait for them. */
  readonly pending: readonly PendingOpening[]
}

export interface PendingOpening {
  readonly member: Member
  /** Rejects if the drive cannot be opened. */
  readonly opening: Promise<void>
}

interface Found {
  readonly index: number
  readonly drive: WatchedDrive
  readonly look: DriveLook
  isOpen: boolean
  error: unknown
  document: SetDocument | undefined
  leastParityCount: number | undefined
  progress: Progress
  isUnfinished: boolean
  /** Set if the start stopped waiting for this drive. */
  opening: Promise<void> | undefined
}

/**
 * How long the start waits for the other drives, in ticks of the watch (four a second): `lookTicks` once enough folders to read the set
 * have answered, `openTicks` once enough drives to write or to read are open.
 */
const lookTicks = 20
const openTicks = { toWrite: 40, toRead: 120 }
/** The longest wait for what a folder says of itself. */
const lookTicksMax = 240

export async function openSet(options: OpeningOptions): Promise<OpenedSet> {
  const { paths, drives, ports, watch, parityCount } = options
  const dataCount = paths.length - parityCount
  const answers = paths.map(path => drives.look(path))
  const seen = await waitForQuorum(answers, watch, done =>
    done.filter(look => look?.state === 'formatted').length >= dataCount ? lookTicks : lookTicksMax,
  )
  const looks = seen.map((look, index) => look ?? noAnswer(paths[index]!))
  const deploymentId = oneDeployment(looks)
  const isNew = deploymentId === undefined
  if (isNew) requireAllEmpty(looks)
  const id = deploymentId ?? options.deploymentId ?? uuid(ports)
  const found = looks.map((look, index) => unopened(options, look, index, id))
  const unmounted = isNew ? [] : await missingMounts(looks, options.isMount)
  const opening = found.map(each => openIfUsable(options, each, isNew, unmounted))
  const opened = await waitForQuorum(opening, watch, () => {
    const count = isNew ? 0 : found.filter(({ isOpen }) => isOpen).length
    if (count >= writeQuorumOf(dataCount, parityCount)) return openTicks.toWrite
    return count >= dataCount ? openTicks.toRead : undefined
  })
  const all = opened.map((each, index) => each ?? stillOpening(options, found[index]!, opening[index]!, id))
  try {
    const set = isNew ? await createSet(options, all) : await assemble(options, all)
    // A start that is refused names its drives itself.
    if (!isNew) warnOfUnopened(options, all)
    return set
  } catch (error) {
    for (const { drive, opening } of all) opening?.then(() => drive.stop()).catch(() => undefined)
    await Promise.all(all.filter(({ isOpen }) => isOpen).map(({ drive }) => drive.stop()))
    throw error
  }
}

function warnOfUnopened({ log }: OpeningOptions, found: readonly Found[]): void {
  for (const { look, isOpen, error } of found) {
    if (isOpen) continue
    log.warn({ err: error, path: look.path }, 'a drive of the set cannot be opened: the set starts without it')
  }
}

function unopened({ create }: OpeningOptions, look: DriveLook, index: number, deploymentId: string): Found {
  const drive = create(index, deploymentId)
  const unknown = { document: undefined, leastParityCount: undefined, progress: noProgress, isUnfinished: false }
  return { index, drive, look, ...unknown, isOpen: false, error: undefined, opening: undefined }
}

async function openIfUsable(
  { drives }: OpeningOptions,
  found: Found,
  isNew: boolean,
  unmounted: readonly string[],
): Promise<Found> {
  const { look } = found
  // An empty folder in an existing set is a replaced drive. A folder that does not exist is not created.
  const isUsable =
    isNew || look.state === 'formatted' || (look.state === 'empty' && (await drives.disk.exists(look.path)))
  if (isUsable && unmounted.includes(look.path)) found.error = erasureErrors.drive_missing(notMounted(look.path))
  else if (isUsable) return openOne(found)
  else found.error = notThere(look)
  return found
}

/** Stands in for a drive that is not open yet. */
function stillOpening(options: OpeningOptions, found: Found, opened: Promise<Found>, deploymentId: string): Found {
  const opening = opened.then(({ isOpen, error }) => {
    if (!isOpen) throw error
  })
  opening.catch(() => undefined)
  const error = erasureErrors.drive_missing(
    `The drive ${found.look.path} does not answer. It is still being opened, and joins the set when it is open.`,
  )
  return { ...unopened(options, found.look, found.index, deploymentId), error, opening }
}

function noAnswer(path: string): DriveLook {
  const problem = `The drive ${path} does not answer.`
  return { path, state: 'unusable', driveId: undefined, deploymentId: undefined, problem }
}

function notThere({ path, problem }: DriveLook) {
  return erasureErrors.drive_missing(problem ?? `There is no drive at ${path}.`)
}

/** Throws if the drives belong to several deployments, or one is a copy of another. */
function oneDeployment(looks: readonly DriveLook[]): string | undefined {
  requireDistinct(looks)
  const problem = deploymentsProblem(looks)
  if (problem !== undefined) throw erasureErrors.drive_foreign(problem)
  return looks.find(({ deploymentId }) => deploymentId !== undefined)?.deploymentId
}

/** Throws if a drive is a copy of another: only an operator knows which of them is right. */
function requireDistinct(looks: readonly DriveLook[]): void {
  const problem = copiesProblem(looks)
  if (problem !== undefined) throw erasureErrors.drive_foreign(problem)
}

function requireAllEmpty(looks: readonly DriveLook[]): void {
  const problems = looks.filter(({ state }) => state !== 'empty').map(({ path, problem }) => problem ?? path)
  if (problems.length > 0) {
    throw erasureErrors.drive_missing(
      `A new set needs all of its drives, and they must be empty. Nothing was written. ${problems.join(' ')}`,
    )
  }
}

async function openOne(found: Found): Promise<Found> {
  try {
    await found.drive.start()
    found.isOpen = true
    const document = await found.drive.get(setKey)
    if (document !== undefined) found.document = decodeSetDocument(document.value)
    const least = await found.drive.get(leastParityKey)
    if (least !== undefined) found.leastParityCount = decodeLeastParity(least.value)
    const progress = await found.drive.get(progressKey)
    if (progress !== undefined) found.progress = decodeProgress(progress.value)
    found.isUnfinished = (await found.drive.get(unfinishedKey)) !== undefined
  } catch (error) {
    found.error = error
    if (found.isOpen) await found.drive.stop()
    found.isOpen = false
  }
  return found
}

async function createSet(options: OpeningOptions, found: readonly Found[]): Promise<OpenedSet> {
  const { ports, parityCount, unitBytes } = options
  const failed = found.find(({ isOpen }) => !isOpen)
  if (failed !== undefined) throw failed.error
  const shared = await options.sharedFileSystems(options.paths)
  if (shared.length > 0) {
    options.log.warn(
      { paths: shared },
      'drives of the new set share a file system: if it is lost, all of them are lost',
    )
  }
  const document: SetDocument = {
    version: 1,
    setId: ports.random.bytes(16).toString('hex'),
    parityCount,
    unitBytes,
    slots: found.map(({ drive }) => ({ driveId: drive.driveId, generation: 1 })),
  }
  const members = found.map(each => member(each, each.index, 1))
  for (const each of members) each.state = 'current'
  return {
    document,
    isDescriptionNew: true,
    members,
    leader: members[0]!,
    // Nothing is stored yet.
    leastParityCount: parityCount,
    progress: noProgress,
    pending: [],
  }
}

async function assemble(options: OpeningOptions, found: readonly Found[]): Promise<OpenedSet> {
  const { log, paths } = options
  const described = found.filter(each => each.document !== undefined)
  const leading = described.reduce<Found | undefined>(
    (best, each) => (best === undefined || compareCandidates(each, best) > 0 ? each : best),
    undefined,
  )
  if (leading === undefined) {
    // An earlier first start was interrupted: the drives are formatted, and none has a set document.
    if (found.every(({ isOpen }) => isOpen)) return createSet(options, found)
    throw erasureErrors.set_incomplete(
      `None of the drives that can be opened knows its set: ${reasons(found)} Mount the other drives, and start again.`,
    )
  }
  const document = leading.document!
  const foreign = described.find(each => each.document!.setId !== document.setId)
  if (foreign !== undefined) {
    throw erasureErrors.drive_foreign(
      `The drive ${foreign.look.path} belongs to another set than ${leading.look.path}. Mount the right drive, and start again.`,
    )
  }
  if (document.slots.length !== paths.length) {
    throw erasureErrors.drive_count(
      `The set has ${document.slots.length} drives, but ${paths.length} are named. Name all of them, also those that are offline.`,
    )
  }
  const bySlot = assignSlots(document, found)
  const dataCount = document.slots.length - document.parityCount
  const known = described.filter(each => document.slots.some(slot => slot.driveId === each.drive.driveId))
  if (known.length < dataCount) {
    throw erasureErrors.set_incomplete(
      `${known.length} of ${paths.length} drives can be opened; ${dataCount} are needed to read. Mount the others, and start again. ${reasons(found)}`,
    )
  }
  let isDescriptionNew = false
  const slots = document.slots.map((slot, number) => {
    const each = bySlot[number]!
    if (!each.isOpen || each.drive.driveId === slot.driveId) return slot
    isDescriptionNew = true
    log.warn({ path: each.look.path, slot: number }, 'a drive was replaced: its records and shards are rebuilt')
    return { driveId: each.drive.driveId, generation: nextGeneration(slot.generation) }
  })
  const members = bySlot.map((each, slot) => member(each, slot, slots[slot]!.generation))
  const leader = members.find(each => each.drive === leading.drive)!
  for (const [slot, each] of members.entries()) {
    const { isOpen, progress, isUnfinished, document: own } = bySlot[slot]!
    if (!isOpen) continue
    const isLike = !isUnfinished && !leading.isUnfinished && compareProgress(progress, leading.progress) === 0
    each.state = each === leader || (own !== undefined && isLike) ? 'current' : 'behind'
    each.hasCaughtUp = each.state === 'current'
  }
  const pending = bySlot.flatMap(({ opening }, slot) => (opening ? [{ member: members[slot]!, opening }] : []))
  return {
    document: { ...document, slots },
    isDescriptionNew,
    members,
    leader,
    leastParityCount: leastParityOf(document, described),
    progress: leading.progress,
    pending,
  }
}

/** An earlier build that made the set has noted nothing: it counts as configured by default. */
function leastParityOf({ parityCount }: SetDocument, described: readonly Found[]): number {
  const noted = described.flatMap(({ leastParityCount }) => leastParityCount ?? [])
  return Math.min(parityCount, ...(noted.length === 0 ? [defaultReducedParity] : noted))
}

/** Drives that have a slot keep it. The others get the free slots, that of their position among the paths first. */
function assignSlots(document: SetDocument, found: readonly Found[]): Found[] {
  const bySlot: (Found | undefined)[] = document.slots.map(({ driveId }) => found.find(each => idOf(each) === driveId))
  const free = found.filter(each => !bySlot.includes(each))
  for (const each of [...free]) {
    if (bySlot[each.index] !== undefined) continue
    bySlot[each.index] = each
    free.splice(free.indexOf(each), 1)
  }
  return bySlot.map(each => each ?? free.shift()!)
}

function idOf({ look, isOpen, drive }: Found): string | undefined {
  return isOpen ? drive.driveId : look.driveId
}

function reasons(found: readonly Found[]): string {
  const reasonOf = ({ isOpen, document, error }: Found): string | undefined => {
    if (!isOpen) return String((error as Error | undefined)?.message ?? 'It cannot be opened.')
    return document === undefined ? 'It is empty.' : undefined
  }
  return found
    .flatMap(each => {
      const reason = reasonOf(each)
      return reason === undefined ? [] : [`${each.look.path}: ${reason}`]
    })
    .join(' ')
}

function member({ index, look, drive, isOpen, error }: Found, slot: number, generation: number): Member {
  const made = new Member(slot, index, look.path, drive)
  made.generation = generation
  made.isOpen = isOpen
  made.mayHaveNotes = isOpen
  made.openings = isOpen ? 1 : 0
  made.error = error
  return made
}

function uuid({ random }: Ports): string {
  return random
    .bytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
