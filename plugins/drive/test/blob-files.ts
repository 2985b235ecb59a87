/** Files of blobs in a folder, without a drive around them. */
import { pino } from 'pino'
import { BlobFiles } from '../blob-files.ts'
import { BlobMarks, blobMarksBytes } from '../blob-marks.ts'
import type { Disk } from '../disk.ts'
import { Place } from '../place.ts'
import { systemDrivePorts } from '../testing.ts'

export async function makeBlobFiles(disk: Disk, path: string): Promise<BlobFiles> {
  const { clock, random } = systemDrivePorts()
  const files = new BlobFiles({
    disk,
    place: new Place(disk, path, undefined),
    clock,
    random,
    log: pino({ level: 'silent' }),
    startMs: clock.now(),
    marks: new BlobMarks(new ArrayBuffer(blobMarksBytes)),
    spare: async () => undefined,
    discard: () => undefined,
  })
  await files.createFolders()
  return files
}
