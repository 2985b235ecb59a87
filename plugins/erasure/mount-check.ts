/**
 * Whether the folders of a set still hold its drives. A drive goes on in the files that it has open when its file system is unmounted
 * lazily, or its folder is moved away: all seems well until something that is not open is found missing, and is taken for lost. So the
 * folders are asked now and then whose drive they hold, and always before anything is said to be lost.
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
  /** What a folder says of itself. */
  look(path: string): Promise<DriveLook>
  /** Whether there is a file or folder. */
  isThere(path: string): Promise<boolean>
  deviceOf?(path: string): Promise<number>
}

export class MountCheck {
  readonly #options: MountCheckOptions
  /** One that hangs is not asked again before it has answered. */
  readonly #asked = new Map<Member, Promise<void>>()

  constructor(options: MountCheckOptions) {
    this.#options = options
  }

  /**
   * Takes drives for lost to the set whose folder holds nothing, or another drive. Resolves with whether all that were there are there
   * still: false also where a folder does not answer in time, or cannot be read.
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

  /** A copy of the drive says the same of itself. */
  async #isSamePlace({ path, device }: Member): Promise<boolean> {
    const { deviceOf } = this.#options
    return device === undefined || deviceOf === undefined || (await deviceOf(path)) === device
  }

  /** Rejects where it is not known. */
  async #look(member: Member): Promise<void> {
    const { set, look, isThere } = this.#options
    const { path, slot } = member
    const { driveId, state, problem } = await look(path)
    if (driveId === set.document.slots[slot]!.driveId && (await this.#isSamePlace(member))) {
      if (state === 'formatted' || !member.takesWrites) return
      const areThere = await Promise.all(['journal', 'blobs'].map(name => isThere(join(path, name))))
      if (areThere.every(Boolean)) throw new Error(problem ?? path)
      // What it has open there has no name any more.
      set.onLost(member, erasureErrors.drive_missing(problem))
      return
    }
    // A file that is there and cannot be read says nothing: reads and writes will tell.
    if (driveId === undefined && (await isThere(join(path, 'format.json')))) throw new Error(problem ?? path)
    if (!member.takesWrites) return
    const found = driveId === undefined ? 'is not there any more' : 'is another one now'
    set.onLost(
      member,
      erasureErrors.drive_missing(
        `The drive at ${path} ${found}: mount it, or put it back. It is taken back by itself.`,
      ),
    )
  }
}
