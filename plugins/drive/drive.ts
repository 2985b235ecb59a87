/**
 * An open drive in the storage thread: answers reads from the memtable and the index, and hands changes to the engine. Created by
 * `open-drive.ts`; everything here runs in the main thread. Workers have `AttachedDrive` instead.
 */
import { type Logger, type MaybePromise, withOwnMemory } from 'svc/kernel'
import type {
  BlobReader,
  BlobRef,
  BlobWriter,
  BodyRef,
  CounterEntry,
  Cursor,
  Derive,
  DriveStatus,
  Procedure,
  RecordKey,
  StoredRecord,
} from 'svc/plugins/storage/api'
import { readWindowMs } from 'svc/plugins/storage/api'
import type { Finality, Garbage } from './api.ts'
import type { Ballast } from './ballast.ts'
import type { BlobFiles } from './blob-files.ts'
import type { BlobMarks } from './blob-marks.ts'
import type { BlobPins } from './blob-pins.ts'
import { BlobReading, DriveBlobReader } from './blob-reader.ts'
import { type BlobWriterOptions, blobWriting, DriveBlobWriter } from './blob-writer.ts'
import type { BodyReader } from './body-reader.ts'
import { keyText } from './bytes.ts'
import type { Checkpoints } from './checkpoints.ts'
import { Compaction } from './compaction.ts'
import { type DriveConfig, inlineBytesMax } from './config.ts'
import { walk } from './cursor.ts'
import { Damage, explainedBody, type NoteDamage } from './damage.ts'
import type { DeadBlobs } from './dead-blobs.ts'
import type { DrivePorts } from './disk.ts'
import type { Engine } from './engine.ts'
import type { HighWaterMark } from './high-water-mark.ts'
import type { IndexFolder } from './index-folder.ts'
import type { IndexMarker } from './index-marker.ts'
import { encodePosition, positionKey } from './index-position.ts'
import type { Journal } from './journal.ts'
import { JournalCheck } from './journal-check.ts'
import { segmentHeaderBytes } from './journal-format.ts'
import { SegmentDamage } from './journal-reader.ts'
import type { DriveLock } from './lock.ts'
import { packEntries, walkLayers } from './memtable-walk.ts'
import { type DriveParts, openDrive } from './open-drive.ts'
import type { Space } from './space.ts'
import type { DriveState, MemtableObserver } from './state.ts'
import { storedBody, storedValue } from './stored-record.ts'
import type { MemtableAnswer, MemtableQuestion } from './thread-messages.ts'

/** Position of an index that has never been written. */
export const noPosition = Buffer.alloc(0)
/** The drive counts as idle when the journal grew by less than this between two calls of `prepareJournal`. */
const quietBytes = 8 * 1024 * 1024
/** Read rate of the background check of the journal. */
const checkedBytesPerSecond = 16 * 1024 * 1024

export interface DriveOptions {
  readonly path: string
  readonly config: DriveConfig
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly derive: Derive
  readonly ports: DrivePorts
  readonly log: Logger
  readonly index: IndexFolder
  /**
   * For a folder without a format file: the deployment id to write; a folder with another id is refused. Default: a new id for a
   * new folder, any id of an old one.
   */
  readonly deploymentId?: string
  /** Takes the lock that keeps other processes out. */
  lock(path: string): DriveLock
  readonly observer?: MemtableObserver
  /** Default 1 MiB. */
  readonly batchBytes?: number
  /** Default `readWindowMs` of the storage interface. */
  readonly readWindowMs?: number
  /** See `DriveOptions` of `api.ts`. */
  garbage?(blobId?: string): Garbage
  readonly finality?: Finality
  /** Called once, when the drive becomes faulty. */
  onFault?(error: unknown): void
  /** See `DriveOptions` of `api.ts`. */
  readonly isAlone?: boolean
  /** Whether a worker thread has pinned this blob. */
  isPinnedElsewhere?(id: string): boolean
  /** In shared memory when there are worker threads. */
  readonly blobMarks?: BlobMarks
  /** In shared memory when there are worker threads: see `createSpaceBudget`. */
  readonly spaceCells?: Int32Array
}

export class Drive {
  readonly path: string
  readonly #options: DriveOptions
  readonly driveId: string
  readonly deploymentId: string
  readonly journal: Journal
  readonly state: DriveState
  readonly checkpoints: Checkpoints
  readonly engine: Engine
  readonly bodies: BodyReader
  readonly blobFiles: BlobFiles
  readonly #pins: BlobPins
  readonly #deadBlobs: DeadBlobs
  readonly #noteDamage: NoteDamage | undefined
  readonly #blobReading: BlobReading
  readonly #blobWriting: BlobWriterOptions
  readonly space: Space
  readonly ballast: Ballast
  /** Called after a segment's file has been deleted. */
  onSegmentRemoved: ((segment: number) => void) | undefined
  readonly damage: Damage
  readonly compaction: Compaction
  readonly journalCheck: JournalCheck
  readonly #marker: IndexMarker
  readonly #highWaterMark: HighWaterMark
  readonly #lock: DriveLock
  /** The index was not checked in full at the start. */
  #isIndexUnchecked: boolean
  #isCheckingIndex = false
  /** Monotonic time of the last full check of the index. */
  #indexCheckedMs: number
  #isStopping = false
  #writtenBefore = 0

  private constructor(options: DriveOptions, parts: DriveParts) {
    this.#options = options
    this.path = options.path
    this.driveId = parts.driveId
    this.deploymentId = parts.deploymentId
    this.journal = parts.journal
    this.state = parts.state
    this.checkpoints = parts.checkpoints
    this.engine = parts.engine
    this.bodies = parts.bodies
    this.blobFiles = parts.blobFiles
    this.space = parts.space
    this.ballast = parts.ballast
    this.#lock = parts.lock
    this.#marker = parts.marker
    this.#highWaterMark = parts.highWaterMark
    this.#isIndexUnchecked = parts.isIndexUnchecked
    this.#indexCheckedMs = Number(options.ports.clock.monotonicNs() / 1_000_000n)
    this.#pins = parts.pins
    this.#deadBlobs = parts.deadBlobs
    const { disk, clock } = options.ports
    this.damage = new Damage({
      log: options.log,
      path: options.path,
      isBlobReferenced: id => parts.state.isBlobReferenced(id),
      hasLiveBytes: segment => (parts.state.segments.get(segment)?.liveBytes ?? 0) > 0,
      isAway: () => parts.lock.isAway(),
    })
    this.compaction = new Compaction({
      disk,
      clock,
      log: options.log,
      journal: parts.journal,
      journalKey: parts.journalKey,
      state: parts.state,
      checkpoints: parts.checkpoints,
      engine: parts.engine,
      bodies: parts.bodies,
      bytesPerSecond: options.config.compactionBytesPerSecond,
      readWindowMs: options.readWindowMs ?? readWindowMs,
      isFull: () => parts.space.isFull(),
      isAway: () => parts.lock.isAway(),
      freeBytes: () => parts.space.latest.freeBytes,
      onSegmentRemoved: segment => {
        this.damage.forgetSegment(segment)
        this.onSegmentRemoved?.(segment)
      },
    })
    this.journalCheck = new JournalCheck({
      disk,
      clock,
      random: options.ports.random,
      journal: parts.journal,
      journalKey: parts.journalKey,
      compaction: this.compaction,
      intervalMs: options.config.journalCheckIntervalMs,
      bytesPerSecond: checkedBytesPerSecond,
    })
    this.#noteDamage = options.isAlone === true ? this.damage.note : undefined
    this.#blobReading = new BlobReading(disk, parts.blobFiles, options.config.readBufferBytes, this.#noteDamage)
    this.#blobWriting = blobWriting(disk, parts.blobFiles, options.config, parts.space)
    for (const segment of parts.missingSegments) {
      this.compaction.onDamaged(segment, new SegmentDamage(segmentHeaderBytes, 'its file is missing'))
    }
  }

  get inlineBytesMax(): number {
    return inlineBytesMax
  }

  static async open(options: DriveOptions): Promise<Drive> {
    return openDrive(options, parts => new Drive(options, parts))
  }

  execute(procedure: string, args: unknown, body: Uint8Array | undefined): Promise<unknown> {
    return this.engine.execute(procedure, args, body)
  }

  get(key: RecordKey): StoredRecord | undefined {
    const stored = this.state.visible(keyText(key), key)
    return stored === undefined ? undefined : { value: storedValue(stored), body: storedBody(stored) }
  }

  scan<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): T {
    const { index, frozen, durable } = this.state
    return walk(index, 'records', [frozen?.changes, durable], start, end, visit)
  }

  scanDerived<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): T {
    const { index, frozen, durable } = this.state
    return walk(index, 'derived', [frozen?.changes, durable], start, end, visit)
  }

  counter(key: RecordKey): readonly number[] {
    return this.state.visibleCounter(key)
  }

  counters(start: RecordKey, end: RecordKey, limit: number): readonly CounterEntry[] {
    return this.state.visibleCounters(start, end, limit)
  }

  /**
   * The memtable entries of a key range, for a worker that reads the index itself, and the index positions they may be laid over.
   */
  memtable({ table, start, end }: MemtableQuestion): MemtableAnswer {
    const { index, frozen, durable } = this.state
    const positions = [index.get('internal', positionKey) ?? noPosition]
    // An index that already has the frozen set is fine, too: laying the set over it changes nothing.
    if (frozen !== undefined) positions.push(encodePosition(frozen))
    const entries = packEntries(walkLayers(table, [frozen?.changes, durable], start, end))
    return { positions: positions.map(withOwnMemory), entries }
  }

  readBody(ref: BodyRef): MaybePromise<Buffer> {
    return explainedBody(this.bodies.read(ref), ref, this.#noteDamage)
  }

  createBlob(id?: string): BlobWriter {
    return new DriveBlobWriter(this.#blobWriting, id)
  }

  pinBlobs(refs: readonly BlobRef[]): () => void {
    return this.#pins.pin(refs)
  }

  readBlob(ref: BlobRef, start: number, length: number): BlobReader {
    return new DriveBlobReader(this.#blobReading, ref, start, length)
  }

  get #hasFailed(): boolean {
    return this.engine.fault !== undefined
  }

  status(): DriveStatus {
    const { latest } = this.space
    const { fault } = this.engine
    const problem = fault ?? this.checkpoints.failure ?? this.damage.problem ?? this.compaction.problem
    return {
      path: this.path,
      id: this.driveId,
      deploymentId: this.deploymentId,
      state: this.#isStopping ? 'offline' : fault !== undefined ? 'faulty' : this.space.isFull() ? 'full' : 'online',
      error: problem === undefined ? undefined : String((problem as Error).message ?? problem),
      totalBytes: latest.totalBytes,
      freeBytes: latest.freeBytes,
      reservedBytes: latest.reservedBytes,
      freeInodes: latest.freeInodes,
      ...(latest.device !== undefined && { device: latest.device }),
      metrics: this.#metrics(),
    }
  }

  #metrics(): Record<string, number> {
    let journalBytes = 0
    let liveBytes = 0
    for (const bytes of this.journal.segments.values()) journalBytes += bytes
    for (const use of this.state.segments.values()) liveBytes += use.liveBytes
    return {
      journalBytes,
      journalLiveBytes: liveBytes,
      journalSegments: this.journal.segments.size,
      journalWrittenBytes: this.journal.bytesWritten,
      journalBatches: this.journal.batchesWritten,
      checkpoints: this.checkpoints.count,
      checkpointFailures: this.checkpoints.failures,
      // Records in the memtable; dashboards use the name of the metric.
      overlayRecords: this.state.durable.records.size + (this.state.frozen?.changes.records.size ?? 0),
      bodyCacheBytes: this.bodies.cachedBytes,
      bodyCacheHits: this.bodies.hits,
      bodyCacheMisses: this.bodies.misses,
      blobsDeleted: this.blobFiles.deleted,
      blobsWaiting: this.#deadBlobs.count,
      compactedSegments: this.compaction.segmentsRemoved,
      compactionMovedBytes: this.compaction.bytesMoved,
      checkedSegments: this.journalCheck.segmentsChecked,
      damagedSegments: this.compaction.segmentsDamaged,
      damagedBodies: this.damage.count,
    }
  }

  #isPinned(id: string): boolean {
    return this.#pins.has(id) || this.#options.isPinnedElsewhere?.(id) === true
  }

  /** Keeps an unreferenced blob from deletion, because it is being written anew. */
  spareBlob(id: string): Promise<void> {
    return this.#deadBlobs.spare(id)
  }

  /** Deletes unreferenced blobs of former runs, which a crash left behind. False when some cannot be judged yet. */
  async collectGarbage(signal: AbortSignal): Promise<boolean> {
    const { garbage, log } = this.#options
    // Before millions of file names are listed.
    if (garbage?.() === 'later') return false
    let isKnown = true
    const count = await this.blobFiles.collectGarbage(
      id => {
        // Blobs that lost their last reference in this run may still be read; `DeadBlobs` deletes them.
        if (this.state.isBlobReferenced(id) || this.#deadBlobs.has(id) || this.#isPinned(id)) return false
        const answer = garbage?.(id) ?? 'delete'
        if (answer === 'later') isKnown = false
        return answer === 'delete'
      },
      () => signal.aborted || this.#isStopping || !isKnown,
    )
    if (count > 0) log.info({ count }, 'deleted unreferenced blobs of former runs')
    return isKnown
  }

  /**
   * Checks the whole index in another process, if that was not done at the start or the interval is over. A damaged index cannot
   * be repaired while it is in use: the drive then becomes faulty, and the next start rebuilds the index.
   */
  async checkIndex(): Promise<void> {
    const { config, ports } = this.#options
    const nowMs = Number(ports.clock.monotonicNs() / 1_000_000n)
    const isDue = config.indexCheckIntervalMs > 0 && nowMs - this.#indexCheckedMs >= config.indexCheckIntervalMs
    if (this.#isCheckingIndex || this.#isStopping || this.#hasFailed) return
    if (!isDue && !this.#isIndexUnchecked) return
    this.#isCheckingIndex = true
    this.#indexCheckedMs = nowMs
    this.#isIndexUnchecked = false
    try {
      const { problem } = await this.#options.index.check(`${this.path}/index`, 'all', 'live')
      if (problem === undefined || this.#isStopping) return
      this.engine.fail(
        new Error(
          `The index is damaged: ${problem}. No data is lost: the next start rebuilds the index from the journal.`,
        ),
      )
    } finally {
      this.#isCheckingIndex = false
    }
  }

  /**
   * Makes the drive faulty when the segment at the tail, a file of the lock or of the index, or the folder of blobs has been removed.
   * Open files stay writable after they lose their name, but what is written to them is lost when the process ends. (Before each
   * write to the journal, segment and lock are compared, too.)
   */
  async requireFiles(): Promise<void> {
    const { disk } = this.#options.ports
    const { segment } = this.journal.tail
    const loss = this.#lock.loss()
    if (loss !== undefined && !this.#isStopping && !this.#hasFailed) this.engine.fail(loss)
    const paths = [segment > 0 ? this.journal.pathOf(segment) : `${this.path}/journal`, `${this.path}/blobs`]
    paths.push(...this.#options.index.filesOf(`${this.path}/index`))
    for (const path of paths) {
      if (this.#isStopping || this.#hasFailed || (await disk.exists(path))) continue
      // The tail may have moved on, and the old segment may have been compacted.
      if (segment !== this.journal.tail.segment) return
      this.engine.fail(
        new Error(`${path} was removed or replaced while the drive was in use. Nothing more is written to the drive.`),
      )
    }
  }

  /** Called about once a second: zeroes the next segment as far as the drive has time for it, and refills the ballast. */
  prepareJournal(): void {
    const written = this.journal.bytesWritten - this.#writtenBefore
    this.#writtenBefore = this.journal.bytesWritten
    if (this.engine.fault !== undefined || this.#isStopping) return
    void this.ballast.refill(this.space.latest.freeBytes)
    if (this.space.isFull()) return
    this.journal.prepareNext(() => written < quietBytes && !this.#isStopping && this.engine.isQuiet)
  }

  async close(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#deadBlobs.close()
    this.blobFiles.close()
    try {
      await this.engine.close()
      await this.checkpoints.close()
      if (!this.checkpoints.isStuck) await this.state.index.flushed()
      await this.journal.close()
      await this.bodies.close()
    } finally {
      this.space.stop()
      await this.ballast.settled()
      await this.state.index.close()
      // Where the folder has been moved away it may have another owner since.
      const isOwn = !this.#hasFailed && this.#lock.loss() === undefined
      if (isOwn && this.checkpoints.isIndexComplete) await this.#marker.onCleanStop()
      await this.#marker.close()
      await this.#highWaterMark.close()
      this.#lock.release()
    }
  }
}
