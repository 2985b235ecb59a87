/** Whether what is stored is safe, in one line of plain words, and what is to be done about it. */
import type { Answer } from '../../api/operations.ts'
import { formatBytes } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { namesOfDrives } from './drive-names.ts'

const words = texts.overview

type ServerInfo = Answer<'getServerInfo'>
type Redundancy = Answer<'getRedundancy'>

export interface Finding {
  readonly text: string
  /** Without a label the text itself leads there. */
  readonly link?: { readonly to: string; readonly search?: object; readonly label?: string } | undefined
  /** What the system said, for whoever wants to know it. */
  readonly details?: string | undefined
}

export interface Health {
  readonly color: 'teal' | 'blue' | 'orange' | 'red'
  readonly text: string
  readonly findings: readonly Finding[]
}

/** `redundancy`: undefined where the server does not tell. */
export function healthOf(info: ServerInfo, redundancy: Redundancy | undefined, mayHeal: boolean): Health {
  const drives = info.nodes.flatMap(node => node.disks)
  const lost = drives.filter(({ state }) => state !== 'online')
  const rebuilt = drives.filter(({ healing }) => healing)
  const isTold = lost.length > 0 || rebuilt.length > 0
  const names = namesOfDrives(drives)
  const nameOf = ({ path }: { readonly path: string }) => names.get(path)!
  const healing = mayHeal ? { to: '/healing', label: texts.operate.healing } : undefined
  const findings: Finding[] = [
    ...lost.map(drive => ({
      text: words.driveLost(drive.path, drive.state, ''),
      details: drive.error,
      link: { to: '/drives', search: { replace: drive.path }, label: texts.drives.replace(nameOf(drive)) },
    })),
    ...setFindings(info),
    ...redundancyFindings(redundancy, isTold).map(finding => ({ ...finding, link: healing })),
    ...rebuilt.map(({ path }) => ({ text: words.healing(path), link: { to: '/drives', label: texts.drives.title } })),
  ]
  const { color, text } = safetyOf(info, redundancy, isTold)
  const failed =
    lost.length === 0
      ? ''
      : `${words.drivesFailed(
          lost.map(nameOf),
          lost.every(({ state }) => state === 'faulty'),
        )} `
  return {
    color: lost.length > 0 ? 'red' : color === 'teal' && findings.length > 0 ? 'orange' : color,
    text: `${failed}${text}`,
    findings,
  }
}

/** Of the set that has the fewest: how many more of its drives may fail, by the parity. Below zero where more are missing already. */
const spareOf = (
  { pools }: ServerInfo,
  parityOf: (pool: ServerInfo['pools'][number], set: ServerInfo['pools'][number]['erasureSets'][number]) => number,
): number =>
  Math.min(...pools.flatMap(pool => pool.erasureSets.map(set => parityOf(pool, set) - set.offline - set.healing)))

/** `isTold`: some drives are lost or being rebuilt. */
function safetyOf(
  info: ServerInfo,
  redundancy: Redundancy | undefined,
  isTold: boolean,
): Pick<Health, 'color' | 'text'> {
  const sets = info.pools.flatMap(({ parity, erasureSets }) => erasureSets.map(set => ({ ...set, parity })))
  const spare = spareOf(info, ({ parity }) => parity)
  // Which objects have less is not known, nor whether there are any.
  const least = spareOf(info, (_, { leastParity }) => leastParity)
  const reduced = least < spare ? Math.max(0, least) : undefined
  const isShared = info.nodes.some(({ disks }) => disks.some(({ sharesFileSystem }) => sharesFileSystem))
  // In a set that works with all of its drives one that is being rebuilt lacks a few shards; in another it may lack everything.
  const isOut = sets.some(
    ({ state, parity, offline, healing }) => state === 'unavailable' || (state !== 'ok' && offline + healing > parity),
  )
  if (isOut) return { color: 'red', text: words.notAllRead }
  if (redundancy !== undefined && redundancy.failingRecords + redundancy.lostRecords > 0)
    return { color: 'red', text: words.someLost }
  const isWhole = sets.every(({ state }) => state === 'ok')
  if (least < 0 && spare >= 0 && !isWhole) return { color: 'red', text: words.reducedNotRead }
  // Of what was found damaged it is not known how many more drives it may lose.
  const isDamaged = redundancy?.hasFoundDamage === true
  // The first set has the records; for large bodies another one is enough.
  if (sets[0]?.state === 'read_only')
    return { color: 'red', text: isDamaged ? words.damagedNotWritten : words.notAllWritten(spare, reduced) }
  if (isTold || sets.some(({ state }) => state === 'read_only')) {
    if (isDamaged) return { color: 'orange', text: words.damagedNotRead }
    const text = spare < 0 || isShared ? words.allReadNow : words.allRead(spare, reduced)
    return { color: 'orange', text }
  }
  if (spare === 0) return { color: 'blue', text: words.noRedundancy }
  if (redundancy === undefined) return { color: 'blue', text: words.notTold }
  if (!redundancy.isFull) return { color: 'orange', text: words.lessRedundancy }
  if (isShared) return { color: 'orange', text: words.sharedRedundancy }
  return { color: 'teal', text: words.fullRedundancy(spare, reduced) }
}

/** Where there is one set alone, the line above says of it that it works without some drives. */
function setFindings({ pools }: ServerInfo): Finding[] {
  const sets = pools.flatMap(pool => pool.erasureSets.map(set => ({ pool, set })))
  return sets
    .filter(({ set }) => set.state !== 'ok' && (sets.length > 1 || set.offline === 0 || set.state !== 'degraded'))
    .map(({ pool, set }) => ({
      text: words.setState(pool.index, set.index, set.state),
      link: { to: '/drives', label: texts.drives.title },
    }))
}

/** What drives that are lost or rebuilt make incomplete is said of them; `isTold`: there are such. */
function redundancyFindings(redundancy: Redundancy | undefined, isTold: boolean): Finding[] {
  if (redundancy === undefined || redundancy.isFull) return []
  const { belowRecords, belowBytes, failingRecords, hasFoundDamage, lostRecords, summary } = redundancy
  const failing = failingRecords > 0 ? [{ text: words.mayBeLost(failingRecords) }] : []
  // The summary tells of those that were found lost, too.
  if (hasFoundDamage || (belowRecords === 0 && !isTold)) return [...failing, { text: summary }]
  const lost = lostRecords > 0 ? [...failing, { text: words.foundLost(lostRecords) }] : failing
  if (belowRecords === 0) return lost
  const below = words.below(belowRecords, formatBytes(belowBytes))
  // Of what may be lost nothing says that it is being repaired. What jobs have found is in the summary.
  return [
    ...lost,
    { text: failingRecords + lostRecords > 0 ? below : `${below} ${words.beingRepaired}`, details: summary },
  ]
}
