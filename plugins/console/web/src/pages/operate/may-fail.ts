/** How many drives of a set may still fail, in words: no number where drives on one file system are lost together. */
import type { Answer } from '../../api/operations.ts'
import { replacingTexts as words } from '../../texts/replacing.ts'

type ServerInfo = Answer<'getServerInfo'>
type SetRedundancy = Answer<'getRedundancy'>['sets'][number]
type Pool = ServerInfo['pools'][number]
type ErasureSet = Pool['erasureSets'][number]

/** Whether one loss may take several drives of the set. */
export function isShared(drives: readonly Pick<ServerInfo['nodes'][number]['disks'][number], 'fileSystem'>[]): boolean {
  const known = drives.map(({ fileSystem }) => fileSystem).filter(each => each !== undefined)
  return new Set(known).size < known.length
}

/** Whether all of them are folders of one file system: an empty one is then no missing mount. */
export function areFolders(
  drives: readonly Pick<ServerInfo['nodes'][number]['disks'][number], 'fileSystem'>[],
): boolean {
  const known = drives.map(({ fileSystem }) => fileSystem).filter(each => each !== undefined)
  return known.length > 1 && new Set(known).size === 1
}

/** Whether it has less redundancy than the drives that are missing take from it. */
export const isDamaged = (redundancy: Pick<SetRedundancy, 'hasFoundDamage' | 'failingRecords'> | undefined): boolean =>
  redundancy !== undefined && (redundancy.hasFoundDamage || redundancy.failingRecords > 0)

export interface MayFail {
  readonly pool: Pick<Pool, 'parity'>
  readonly set: Pick<ErasureSet, 'drives' | 'offline' | 'healing' | 'leastParity' | 'state'>
  /** Undefined where the server does not tell. */
  readonly redundancy: Pick<SetRedundancy, 'isFull' | 'hasFoundDamage' | 'failingRecords'> | undefined
  readonly isShared: boolean
}

/** `isGrave`: no other one may fail. Undefined where nothing is known. */
export function mayFailOf(given: MayFail): { readonly text: string; readonly isGrave: boolean } | undefined {
  const { parity } = given.pool
  const { drives, offline, healing, leastParity, state } = given.set
  const missing = offline + healing
  // Of what lacks shards though all drives work it is not known how many more it may lose.
  if (parity > 0 && missing === 0 && given.redundancy?.isFull === false) return undefined
  const left = parity - missing
  if (left > 0 && isDamaged(given.redundancy)) {
    const text = [words.damagedMayNotFail, ...(leastParity < missing ? [words.reducedOutOfReach] : [])].join(' ')
    return { text, isGrave: false }
  }
  // What is rebuilt where all drives work may lack next to nothing.
  if (left < 0 && state === 'ok') return undefined
  const isGrave = left <= 0
  if (parity === 0) return { text: words.mayNotFail(drives), isGrave }
  if (left < 0) return { text: words.outOfReach, isGrave }
  const hasNumber = left > 0 && !given.isShared
  const sentences = [
    left > 0 && given.isShared ? words.sharedMayFail : missing === 0 ? words.mayFail(left) : words.moreMayFail(left),
    leastParity < missing && words.reducedOutOfReach,
    leastParity >= missing &&
      leastParity < parity &&
      (hasNumber || leastParity === missing) &&
      words.reducedMayFail(leastParity - missing),
  ]
  return { text: sentences.filter(one => one !== false).join(' '), isGrave }
}

export interface Spare {
  /** How many more drives may fail. Negative where it is too late. */
  readonly spare: number
  /** The same of objects with less redundancy. */
  readonly least: number
  /** What the drive that is to be replaced does now. */
  readonly drive: 'works' | 'away' | 'rebuilt'
  readonly isShared: boolean
  /** Some of the set is known to lack shards on other drives than those that are missing. */
  readonly isWeak: boolean
}

/** While a drive is replaced. */
export function spareText({ spare, least, drive, isShared, isWeak }: Spare): string {
  // A working one is not away yet.
  const isOut = (count: number) => count < (drive === 'works' ? -1 : 0)
  if (spare < 0) return isOut(spare) ? words.outOfReach : words.needed
  const reduced = least >= 0 ? undefined : isOut(least) ? words.reducedOutOfReach : words.reducedNeeded
  if (isWeak && (drive !== 'rebuilt' || spare > 0)) {
    const before = reduced ?? (drive === 'away' && spare === 0 ? words.maySpare(0) : undefined)
    const text = { works: words.weakNeeds, away: words.weakNeedsAway, rebuilt: words.damagedMaySpare }[drive]
    return before === undefined ? text : `${before} ${text}`
  }
  const maySpare = (count: number) => (count > 0 && isShared ? words.sharedMaySpare : words.maySpare(count))
  if (least === spare) return maySpare(spare)
  // As `mayFailOf` says it: which objects have less is not known, nor whether there are any.
  if (reduced === undefined)
    return isShared && least > 0 ? maySpare(spare) : `${maySpare(spare)} ${words.reducedMayFail(least)}`
  return spare > 0 && isShared ? reduced : `${reduced} ${words.othersSpare(spare)}`
}
