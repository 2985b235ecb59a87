/** The configuration of drives, and the division of its memory among the drives of a set. */
import { type Static, Type } from 'typebox'

/** Lower bounds per drive: one buffer of a writer, and two blocks of a reader. */
const blobBufferBytesMin = 1024 * 1024
const readBufferBytesMin = 512 * 1024

/** The kernel has parsed these: sizes are in bytes, durations in milliseconds. */
export const DriveConfig = Type.Object({
  segmentBytes: Type.Integer({
    minimum: 1024 * 1024,
    maximum: 1024 * 1024 * 1024,
    default: 64 * 1024 * 1024,
    format: 'size',
    description: 'Size of one journal file. Compaction frees space in units of this size.',
  }),
  cacheBytes: Type.Integer({
    minimum: 0,
    default: 64 * 1024 * 1024,
    format: 'size',
    description: 'Memory for recently written or read small bodies, per thread.',
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
    description: 'Space reserved for deletes and housekeeping: new data is refused below this or 1 % of the drive.',
  }),
  checkpointIntervalMs: Type.Integer({
    minimum: 10,
    default: 1000,
    format: 'duration',
    description:
      'How long a change may wait before it is written to the index. A start replays about this much of the journal.',
  }),
  compactionBytesPerSecond: Type.Integer({
    minimum: 0,
    default: 32 * 1024 * 1024,
    format: 'size',
    description: 'How much compaction of the journal may read and write per second; 0 turns it off.',
  }),
  indexCheckIntervalMs: Type.Integer({
    minimum: 0,
    default: 24 * 3600 * 1000,
    format: 'duration',
    description: 'How often the whole index in use is verified against its digest; 0 turns it off.',
  }),
  journalCheckIntervalMs: Type.Integer({
    minimum: 0,
    default: 30 * 24 * 3600 * 1000,
    format: 'duration',
    description: 'Period in which the whole journal is verified against its checksums once; 0 turns it off.',
  }),
  directIo: Type.Boolean({
    default: true,
    description: 'Bypass the page cache where the file system supports it.',
  }),
})

export type DriveConfig = Static<typeof DriveConfig>

/** The configured memory divided among `count` drives, but at least what one drive needs to work. */
export function shareOfConfig(config: DriveConfig, count: number): DriveConfig {
  return {
    ...config,
    cacheBytes: Math.floor(config.cacheBytes / count),
    blobBufferBytes: Math.max(blobBufferBytesMin, Math.floor(config.blobBufferBytes / count)),
    readBufferBytes: Math.max(readBufferBytesMin, Math.floor(config.readBufferBytes / count)),
  }
}

/** A larger body becomes a blob; smaller ones are kept in the journal beside their record. */
export const inlineBytesMax = 128 * 1024
