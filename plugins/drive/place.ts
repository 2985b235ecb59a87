/**
 * A folder of a drive, bound to the file system it was on when the drive was opened. Callers call `require` before they create,
 * replace or delete a file by name: if another file system was mounted over the folder, possibly another drive, the change would
 * hit that one. Files that are already open are not affected.
 */

import { storageErrors } from 'svc/plugins/storage/api'
import type { Disk } from './disk.ts'

export class Place {
  readonly path: string
  /** Device number; undefined where the disk cannot report one. */
  readonly device: number | undefined
  readonly #disk: Disk

  constructor(disk: Disk, path: string, device: number | undefined) {
    this.path = path
    this.device = device
    this.#disk = disk
  }

  /** The folder on its current file system. */
  static async of(disk: Disk, path: string): Promise<Place> {
    return new Place(disk, path, await disk.deviceOf?.(path))
  }

  /** Throws `faulty` when another file system has been mounted there since. */
  async require(): Promise<void> {
    if (this.device === undefined || (await this.#disk.deviceOf?.(this.path)) === this.device) return
    throw storageErrors.faulty(
      `The file system at ${this.path} is not the one that the drive was opened on. Nothing was written to it.`,
    )
  }
}
