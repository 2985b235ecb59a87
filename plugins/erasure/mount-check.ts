/**
 * Checks that the folders of a set still hold its drives. After a lazy unmount, or when its folder is moved, a drive goes on with the files
 * that it has open, and files that it has not open appear missing: their data would be taken for lost. So the folders are checked every
 * few seconds (worker `presence` in `index.ts`), and before data is reported as lost (`redundancy.ts`).
 *
 * A drive whose folder is empty, lacks `journal` or `blobs`, has another drive, or lies on another file system than before is taken
 * offline. A folder that cannot be read, or does not answer within two seconds, shows neither that the drive is there nor that it is
 * gone: the drive stays as it is. In all of these cases the check returns false, so that its caller does not report data as lost.
 */
import { join } from 'node:path'
import type { DriveLook } from 'svc/plugins/drive/api'
import { type AnswerWatch, isDoneIn } from './answer-watch.ts'
import type { ErasureSet } from './erasure-set.ts'
import { erasureErrors } from './errors.ts'
import type { Member } from './member.ts'

/** How long a folder may take to answer, in ticks of the watch: two seconds. */
const ticksMax = 8

export interface MountCheckOptions {
  readonly set: ErasureSet
  readonly watch: AnswerWatch
  /** What a folder says about the drive in it. */
  look(path: string): Promise<DriveLook>
  /** Whether the file or folder exists. */
  isThere(path: string): Promise<boolean>
  deviceOf?(path: string): Promise<number>
}

export class MountCheck {
  readonly #options: MountCheckOptions
  /** Checks that are under way: a folder that hangs is not checked again before it answers. */
  readonly #asked = new Map<Member, Promise<void>>()

  constructor(options: MountCheckOptions) {
    this.#options = options
  }

  /**
   * Takes drives offline whose folder is empty or holds another drive. Resolves with whether all drives that were online still are: false
   * also if a folder does not answer in time, or cannot be read.
   */
  async check(): Promise<boolean> {
    const { set, watch } = this.#options
    const there = set.members.filter(({ takesWrites }) => takesWrites)
    const answers = Promise.all(there.map(member => this.#ask(member))).then(
      () => true,
      () => false,
    )
    let isAnswered = false
    const inTime = await isDoneIn(
      answers.then(isGood => {
        isAnswered = isGood
      }),
      watch,
      ticksMax,
    )
    return inTime && isAnswered && there.every(({ takesWrites }) => takesWrites)
  }

  #ask(member: Member): Promise<void> {
    let asked = this.#asked.get(member)
    if (asked === undefined) {
      asked = this.#look(member).finally(() => this.#asked.delete(member))
      this.#asked.set(member, asked)
    }
    return asked
  }

  /** Compares the file system, because a copy of the drive has the same id. */
  async #isSamePlace({ path, device }: Member): Promise<boolean> {
    const { deviceOf } = this.#options
    return device === undefined || deviceOf === undefined || (await deviceOf(path)) === device
  }

  /** Rejects if it cannot be determined. */
  async #look(member: Member): Promise<void> {
    const { set, look, isThere } = this.#options
    const { path, slot } = member
    const { driveId, state, problem } = await look(path)
    if (driveId === set.document.slots[slot]!.driveId && (await this.#isSamePlace(member))) {
      if (state === 'formatted' || !member.takesWrites) return
      const areThere = await Promise.all(['journal', 'blobs'].map(name => isThere(join(path, name))))
      if (areThere.every(Boolean)) throw new Error(problem ?? path)
      // The files that it has open have no name any more.
      set.onLost(member, erasureErrors.drive_missing(problem))
      return
    }
    // A format file that is there and cannot be read proves nothing: reads and writes of the drive will tell.
    if (driveId === undefined && (await isThere(join(path, 'format.json')))) throw new Error(problem ?? path)
    if (!member.takesWrites) return
    const found = driveId === undefined ? 'is not there any more' : 'is another one now'
    set.onLost(
      member,
      erasureErrors.drive_missing(
        `The drive at ${path} ${found}: mount it, or put it back. It rejoins the set by itself.`,
      ),
    )
  }
}
