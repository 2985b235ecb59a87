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
    ...redundancyFindings(redundancy, lost.length + rebuilt.length > 0).map(text => ({ text, link: healing })),
    ...rebuilt.map(({ path }) => ({ text: words.healing(path), link: { to: '/drives', label: texts.drives.title } })),
  ]
  const { isSafe, text } = safetyOf(info, redundancy, lost.length + rebuilt.length > 0)
  const failed = lost.length === 0 ? '' : `${words.drivesFailed(lost.map(nameOf))} `
  const isWhole = findings.length === 0
  return {
    color: lost.length > 0 || !isSafe ? 'red' : isWhole ? (spareOf(info) > 0 ? 'teal' : 'blue') : 'orange',
    text: `${failed}${text}`,
    findings,
  }
}

/** Of the set that has the fewest: how many more of its drives may fail. Below zero where more are missing already. */
const spareOf = ({ pools }: ServerInfo): number =>
  Math.min(
    ...pools.flatMap(({ parity, erasureSets }) =>
      erasureSets.map(({ offline, healing }) => parity - offline - healing),
    ),
  )

/** `isTold`: some drives are lost or being rebuilt. */
function safetyOf(info: ServerInfo, redundancy: Redundancy | undefined, isTold: boolean) {
  const states = info.pools.flatMap(({ erasureSets }) => erasureSets.map(({ state }) => state))
  const spare = spareOf(info)
  const unsafe = (text: string) => ({ isSafe: false, text })
  if (states.includes('unavailable') || spare < 0) return unsafe(words.notAllRead)
  if ((redundancy?.failingRecords ?? 0) > 0) return unsafe(words.someLost)
  if (states.includes('read_only')) return unsafe(words.notAllWritten(spare))
  return { isSafe: true, text: textOf() }

  function textOf(): string {
    if (isTold) return words.allRead(spare)
    if (spare === 0) return words.noRedundancy
    if (redundancy === undefined) return words.notTold
    return redundancy.isFull ? words.fullRedundancy(spare) : words.lessRedundancy
  }
}

/** Where there is one set alone, and a drive of it is lost, the line above says the same. */
function setFindings({ pools }: ServerInfo): Finding[] {
  const sets = pools.flatMap(pool => pool.erasureSets.map(set => ({ pool, set })))
  return sets
    .filter(({ set }) => set.state !== 'ok' && (sets.length > 1 || set.offline === 0))
    .map(({ pool, set }) => ({
      text: words.setState(pool.index, set.index, set.state),
      link: { to: '/drives', label: texts.drives.title },
    }))
}

/** What drives that are lost or rebuilt make incomplete is said of them; `isTold`: there are such. */
function redundancyFindings(redundancy: Redundancy | undefined, isTold: boolean): string[] {
  if (redundancy === undefined || redundancy.isFull) return []
  const { belowRecords, belowBytes, failingRecords, summary } = redundancy
  const lost = failingRecords > 0 ? [words.mayBeLost(failingRecords)] : []
  if (belowRecords === 0) return isTold ? lost : [...lost, summary]
  const below = words.below(belowRecords, formatBytes(belowBytes))
  // Of what may be lost nothing says that it is being repaired.
  return [...lost, failingRecords > 0 ? below : `${below} ${words.beingRepaired}`]
}
