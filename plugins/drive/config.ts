import { type Static, Type } from 'typebox'

/** One buffer of a writer; two blocks, for a reader. */
const blobBufferBytesMin = 1024 * 1024
const readBufferBytesMin = 512 * 1024

/** Sizes are bytes, durations milliseconds once the kernel has read them. */
export const DriveConfig = Type.Object({
  segmentBytes: Type.Integer({
    minimum: 1024 * 1024,
    maximum: 1024 * 1024 * 1024,
    default: 64 * 1024 * 1024,
    format: 'size',
    description: 'Size of one journal file. Space is given back in pieces of this size.',
  }),
  cacheBytes: Type.Integer({
    minimum: 0,
    default: 64 * 1024 * 1024,
    format: 'size',
    description: 'Memory for small object bodies that were written or read recently, per thread.',
  }),
  blobBufferBytes: Type.Integer({
    minimum: blobBufferBytesMin,
    default: 64 * 1024 * 1024,
    format: 'size',
    description:
      'Memory for large bodies that are being written, per thread. When it is used up, uploads wait for the disk.',
  }),
  readBufferBytes: Type.Integer({
    minimum: readBufferBytesMin,
    default: 32 * 1024 * 1024,
    format: 'size',
    description: 'Memory for reading ahead in large bodies, per thread.',
  }),
  reserveBytes: Type.Integer({
    minimum: 0,
    default: 64 * 1024 * 1024,
    format: 'size',
    description:
      'Space that stays free for deletes and housekeeping: new data is refused below this or 1 % of the drive.',
  }),
  checkpointIntervalMs: Type.Integer({
    minimum: 10,
    default: 1000,
    format: 'duration',
    description:
      'How long a change may wait before it goes into the index. A start replays about this much of the journal.',
  }),
  compactionBytesPerSecond: Type.Integer({
    minimum: 0,
    default: 32 * 1024 * 1024,
    format: 'size',
    description: 'How much the compaction of the journal may read and write in a second; 0 turns it off.',
  }),
  indexCheckIntervalMs: Type.Integer({
    minimum: 0,
    default: 24 * 3600 * 1000,
    format: 'duration',
    description: 'How often the whole index is compared with its checksum while it is in use; 0 turns it off.',
  }),
  journalCheckIntervalMs: Type.Integer({
    minimum: 0,
    default: 30 * 24 * 3600 * 1000,
    format: 'duration',
    description: 'In which time the whole journal is read and compared with its checksums; 0 turns it off.',
  }),
  directIo: Type.Boolean({
    default: true,
    description: 'Write past the page cache where the file system has it.',
  }),
})

export type DriveConfig = Static<typeof DriveConfig>

/** What one of `count` drives has of the memory that is configured: at least what it needs in order to work. */
export function shareOfConfig(config: DriveConfig, count: number): DriveConfig {
  return {
    ...config,
    cacheBytes: Math.floor(config.cacheBytes / count),
    blobBufferBytes: Math.max(blobBufferBytesMin, Math.floor(config.blobBufferBytes / count)),
    readBufferBytes: Math.max(readBufferBytesMin, Math.floor(config.readBufferBytes / count)),
  }
}

/** Largest body that is kept in the journal beside its record; larger ones become blobs. */
export const inlineBytesMax = 128 * 1024
