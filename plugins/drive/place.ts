/**
 * A folder of a drive, and the file system that it was on when the drive was opened. What is open goes on when another file system is
 * mounted over it; what is made, replaced or deleted by name would be in that one, which may be another drive.
 */
import type { Disk } from 'svc/kernel'
import { storageErrors } from 'svc/plugins/storage/api'

export class Place {
  readonly path: string
  /** Undefined where the disk cannot tell file systems apart. */
  readonly device: number | undefined
  readonly #disk: Disk

  constructor(disk: Disk, path: string, device: number | undefined) {
    this.path = path
    this.device = device
    this.#disk = disk
  }

  /** As it is now. */
  static async of(disk: Disk, path: string): Promise<Place> {
    return new Place(disk, path, await disk.deviceOf?.(path))
  }

  /** Throws `faulty` where it is another one by now. */
  async require(): Promise<void> {
    if (this.device === undefined || (await this.#disk.deviceOf?.(this.path)) === this.device) return
    throw storageErrors.faulty(`Another file system is at ${this.path} than the one that was opened.`)
  }
}
