/**
 * Which jobs still say something about what is missing: those whose place no later job has taken. One that has healed a part of what an
 * earlier dry run looked at does not take its place: it takes what it has checked out of what that has found (`found-records.ts`).
 */
import type { StoredHealJob } from './admin/heal-schema.ts'
import { foundByDryRun, takeFound } from './found-records.ts'

/** Whether it has found or left something that is counted nowhere else. */
const hasFindings = (job: StoredHealJob): boolean =>
  foundByDryRun(job) > 0 || (job.left !== undefined && job.left.keys.length + job.left.more > 0)

/** `jobs`: newest first. */
export function notSuperseded(jobs: readonly StoredHealJob[]): readonly StoredHealJob[] {
  return jobs.filter((job, index) => !jobs.slice(0, index).some(later => supersedes(later, job)))
}

/**
 * Those of these jobs, newest first, that must stay after their time: what they have found or left still counts, or would count again without
 * them, because a job whose place they have taken is not old yet.
 */
export function stillNeeded(
  jobs: readonly StoredHealJob[],
  isOld: (job: StoredHealJob) => boolean,
): ReadonlySet<StoredHealJob> {
  const needed = new Set(notSuperseded(jobs).filter(hasFindings))
  for (const [index, job] of jobs.entries()) {
    const isHolding = (earlier: StoredHealJob) => hasFindings(earlier) && !isOld(earlier) && supersedes(job, earlier)
    if (jobs.slice(index + 1).some(isHolding)) needed.add(job)
  }
  return needed
}

/**
 * Whether a later job takes the place of an earlier one: it has checked at least the same records, at least as deeply, on all drives that the
 * earlier one could read. A dry run has counted what is damaged now. Another one has marked in the records what it could not heal, so that it
 * counts until it is healed or gone. What neither could check is in `left`.
 */
function supersedes(later: StoredHealJob, earlier: StoredHealJob): boolean {
  const { request: wide } = later
  const { request } = earlier
  const isAsWide =
    wide.bucket === undefined
      ? wide.recursive === true || request.bucket === undefined
      : wide.bucket === request.bucket &&
        (request.prefix ?? '').startsWith(wide.prefix ?? '') &&
        (wide.recursive === true || (request.recursive !== true && (wide.prefix ?? '') === (request.prefix ?? '')))
  return isAsWide && isAsThorough(later, earlier)
}

/** The same, where both have looked. */
function isAsThorough(later: StoredHealJob, earlier: StoredHealJob): boolean {
  const { state, request, failed, dangling, removed, left } = later
  const isKnownWhatIsLeft = left !== undefined || (failed === 0 && (request.dryRun === true || dangling === removed))
  const isAsClose = request.deep === true || earlier.request.deep !== true
  return state === 'completed' && isKnownWhatIsLeft && isAsClose && hasReadDrivesOf(later, earlier)
}

/**
 * Takes what a job that has completed has checked out of what earlier dry runs over more have found, and returns these. What a dry run over a
 * part finds is among what they have found (`scopes.ts`), so it takes nothing.
 */
export function takeChecked(later: StoredHealJob, jobs: Iterable<StoredHealJob>): readonly StoredHealJob[] {
  if (later.request.dryRun === true) return []
  return [...jobs].filter(
    earlier =>
      earlier.finished &&
      Date.parse(earlier.finishedAt ?? '') <= Date.parse(later.startedAt) &&
      isAsThorough(later, earlier) &&
      takeFound(earlier, later.request),
  )
}

type JobDrive = StoredHealJob['drives'][number]

function hasReadDrivesOf(later: StoredHealJob, earlier: StoredHealJob): boolean {
  const isRead = ({ state, offline }: JobDrive) => state === 'online' && offline === 0
  const placeOf = ({ pool, set, disk }: JobDrive) => `${pool} ${set} ${disk}`
  const read = new Set(later.drives.filter(isRead).map(placeOf))
  return earlier.drives.filter(isRead).every(drive => read.has(placeOf(drive)))
}
