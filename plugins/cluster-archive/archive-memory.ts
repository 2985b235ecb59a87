/** The memory of all archives that a thread receives and unpacks at the same time: it is that of one, however many are sent. */
import { archiveErrors } from './errors.ts'

/** What one import takes. */
export interface ArchiveShare {
  /** Throws `conflict` where there is no room for so many further bytes, because others have it. */
  take(bytes: number): void
  /** Gives everything back. */
  end(): void
}

export interface ArchiveMemory {
  share(): ArchiveShare
}

export function createArchiveMemory(bytesMax: number): ArchiveMemory {
  let usedBytes = 0
  return {
    share() {
      let ownBytes = 0
      return {
        take(bytes) {
          if (usedBytes + bytes > bytesMax) {
            throw archiveErrors.conflict(
              'Other archives that are being imported take all the memory that there is for them. Nothing was changed. Try again when they are done.',
            )
          }
          usedBytes += bytes
          ownBytes += bytes
        },
        end() {
          usedBytes -= ownBytes
          ownBytes = 0
        },
      }
    },
  }
}
