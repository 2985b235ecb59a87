/**
 * A drive in the thread that owns it: opens and recovers, then answers reads from memory and the index, and hands changes to
 * the engine. Everything here runs in the main thread; workers have `AttachedDrive`.
 */
import type { Disk, Logger, Ports } from 'svc/kernel'
import type {
  BlobReader,
  BlobRef,
  BlobWriter,
  BodyRef,
  Cursor,
  Derive,
  DriveStatus,
  MaybePromise,
  Procedure,
  RecordKey,
  StoredRecord,
} from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { BlobFiles } from './blob-files.ts'
import { BlobReading, DriveBlobReader } from './blob-reader.ts'
import { type BlobWriterOptions, DriveBlobWriter } from './blob-writer.ts'
import { BodyReader } from './body-reader.ts'
import { BufferPool } from './buffer-pool.ts'
import { keyText } from './bytes.ts'
import { Checkpoints } from './checkpoints.ts'
import { Compaction } from './compaction.ts'
import { type DriveConfig, inlineBytesMax } from './config.ts'
import { walk } from './cursor.ts'
import { Engine } from './engine.ts'
import { driveErrors } from './errors.ts'
import { openFormat } from './format.ts'
import type { IndexStore } from './index-store.ts'
import { firstPosition, Journal } from './journal.ts'
import { recover } from './recovery.ts'
import { type Space, type SpaceBudget, spaceCellCount, watchSpace } from './space.ts'
import { DriveState, type OverlayObserver, readPosition, readSegmentUses } from './state.ts'
import { storedBody, storedValue } from './stored-record.ts'

const blobBufferBytes = 1024 * 1024
const batchBytes = 1024 * 1024
/** Journal bytes between two looks below which the drive counts as quiet. */
const quietBytes = 8 * 1024 * 1024

export interface DriveOptions {
  readonly path: string
  readonly config: DriveConfig
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly derive: Derive
  readonly ports: Ports
  readonly log: Logger
  /** Opens the index in its folder, or fails when it cannot be used. */
  openIndex(path: string): Promise<IndexStore>
  removeIndex(path: string): Promise<void>
  /** Takes the lock that keeps other processes out; returns what gives it back. */
  lock(path: string): () => void
  readonly observer?: OverlayObserver
  /** Default 1 MiB. */
  readonly batchBytes?: number
  /** Shared with other threads where there are any: see `createSpaceBudget`. */
  readonly spaceCells?: Int32Array
}

/** An open drive. */
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
  readonly #blobReading: BlobReading
  readonly #blobWriting: BlobWriterOptions
  readonly space: Space
  /** Told when a segment's file has been deleted. */
  onSegmentRemoved: ((segment: number) => void) | undefined
  readonly compaction: Compaction
  readonly #unlock: () => void
  #error: unknown
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
    this.#unlock = parts.unlock
    const { disk, clock } = options.ports
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
      isFull: () => parts.space.isFull(),
      onSegmentRemoved: segment => this.onSegmentRemoved?.(segment),
    })
    this.#blobReading = new BlobReading(disk, parts.blobFiles, options.config.readBufferBytes)
    this.#blobWriting = blobWriting(disk, parts.blobFiles, options.config, parts.space)
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

  readBody(ref: BodyRef): MaybePromise<Buffer> {
    return this.bodies.read(ref)
  }

  createBlob(): BlobWriter {
    return new DriveBlobWriter(this.#blobWriting)
  }

  readBlob(ref: BlobRef, start: number, length: number): BlobReader {
    return new DriveBlobReader(this.#blobReading, ref, start, length)
  }

  setError(error: unknown): void {
    this.#error = error
  }

  status(): DriveStatus {
    const { latest } = this.space
    const fault = this.engine.fault ?? this.#error
    return {
      path: this.path,
      id: this.driveId,
      state: this.#isStopping ? 'offline' : fault !== undefined ? 'faulty' : this.space.isFull() ? 'full' : 'online',
      error: fault === undefined ? undefined : String((fault as Error).message ?? fault),
      totalBytes: latest.totalBytes,
      freeBytes: latest.freeBytes,
      freeInodes: latest.freeInodes,
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
      overlayRecords: this.state.durable.records.size + (this.state.frozen?.changes.records.size ?? 0),
      bodyCacheBytes: this.bodies.cachedBytes,
      bodyCacheHits: this.bodies.hits,
      bodyCacheMisses: this.bodies.misses,
      blobsDeleted: this.blobFiles.deleted,
      compactedSegments: this.compaction.segmentsRemoved,
      compactionMovedBytes: this.compaction.bytesMoved,
      damagedSegments: this.compaction.segmentsDamaged,
    }
  }

  /** Deletes the blobs of former runs that nothing references: what a crash left behind. */
  async collectGarbage(signal: AbortSignal): Promise<void> {
    const count = await this.blobFiles.collectGarbage(
      id => this.state.visibleBlobCount(id) > 0,
      () => signal.aborted || this.#isStopping,
    )
    if (count > 0) this.#options.log.info({ count }, 'deleted blobs that no record references')
  }

  /** To be called about once a second: zeroes the next segment while little is written. */
  prepareJournal(): void {
    const written = this.journal.bytesWritten - this.#writtenBefore
    this.#writtenBefore = this.journal.bytesWritten
    const isQuiet = written < quietBytes && !this.space.isFull() && this.engine.fault === undefined
    if (isQuiet) this.journal.prepareNext(() => !this.#isStopping && this.engine.isQuiet)
  }

  async close(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    try {
      await this.engine.close()
      await this.checkpoints.close()
      await this.state.index.flushed()
      await this.journal.close()
      await this.bodies.close()
    } finally {
      this.space.stop()
      await this.state.index.close()
      this.#unlock()
    }
  }
}

interface DriveParts {
  readonly journalKey: Buffer
  readonly driveId: string
  readonly deploymentId: string
  readonly journal: Journal
  readonly state: DriveState
  readonly checkpoints: Checkpoints
  readonly engine: Engine
  readonly bodies: BodyReader
  readonly blobFiles: BlobFiles
  readonly space: Space
  readonly unlock: () => void
}

export function blobWriting(disk: Disk, files: BlobFiles, config: DriveConfig, space: SpaceBudget): BlobWriterOptions {
  return {
    disk,
    files,
    pool: new BufferPool(blobBufferBytes, Math.floor(config.blobBufferBytes / blobBufferBytes)),
    direct: config.directIo,
    isFull: () => space.isFull(),
    onWritten: bytes => space.onWritten(bytes),
    onRefused: () => space.onRefused(),
  }
}

async function openDrive(options: DriveOptions, create: (parts: DriveParts) => Drive): Promise<Drive> {
  const { path, config, ports, log } = options
  const { disk, clock } = ports
  await disk.makeDirectory(path)
  const unlock = options.lock(path)
  let index: IndexStore | undefined
  let space: Space | undefined
  try {
    const format = await openFormat(disk, ports.random, path)
    const journal = new Journal({
      onWritten: bytes => space?.onWritten(bytes),
      disk,
      log,
      path: `${path}/journal`,
      driveId: format.driveId,
      journalKey: format.journalKey,
      segmentBytes: config.segmentBytes,
      batchBytes: options.batchBytes ?? batchBytes,
      direct: config.directIo,
      prepare: true,
    })
    index = await openIndex(options)
    const found = readPosition(index)
    const from = found?.position ?? firstPosition
    const state = new DriveState(index, options.derive, from)
    readSegmentUses(index, state.segments)
    let engine: Engine | undefined
    let drive: Drive | undefined
    journal.resume(from)
    const checkpoints = new Checkpoints(
      {
        state,
        clock,
        log,
        intervalMs: config.checkpointIntervalMs,
        sequence: () => engine?.sequence ?? found?.sequence ?? 0,
        observer: options.observer,
        onDone: () => engine?.wake(),
      },
      from,
    )
    const recovered = await recover(
      {
        disk,
        clock,
        log,
        journal,
        journalPath: `${path}/journal`,
        journalKey: format.journalKey,
        driveId: format.driveId,
        state,
        checkpoints,
        observer: options.observer,
      },
      from,
      found?.sequence ?? 0,
    )
    await checkpoints.flush()
    journal.resume(recovered.tail)
    const blobFiles = new BlobFiles(disk, `${path}/blobs`, clock, ports.random, log, clock.now())
    await blobFiles.createFolders()
    if (recovered.tail.segment === 0) {
      // To an empty journal every blob is garbage: that must not be the way in which a lost journal is noticed.
      if (await blobFiles.hasAny()) {
        throw driveErrors.journal_damaged(
          `The drive ${path} holds blobs but no journal: its records are lost. Restore the folder "journal", or start with a new folder.`,
        )
      }
      await journal.create()
    }
    const cells = options.spaceCells ?? new Int32Array(spaceCellCount)
    space = await watchSpace({ disk, clock, log, path, reserveBytesMin: config.reserveBytes, cells })
    const watched = space
    const bodies = new BodyReader(disk, segment => journal.pathOf(segment), config.cacheBytes)
    engine = new Engine(
      {
        state,
        journal,
        checkpoints,
        procedures: options.procedures,
        clock,
        log,
        inlineBytesMax,
        isFull: () => watched.isFull(),
        onFull: () => watched.onRefused(),
        onBody: (segment, offset, bytes) => bodies.remember(segment, offset, bytes),
        onUnreferenced: ids => blobFiles.deleteSoon(ids),
        onFaulty: error => {
          drive?.setError(error)
          log.error({ err: error, path }, 'the drive has failed and takes no writes until the server is restarted')
        },
        observer: options.observer,
      },
      recovered.sequence,
    )
    if (recovered.batchesReplayed > 0) log.info({ batches: recovered.batchesReplayed }, 'the journal has been replayed')
    drive = create({
      journalKey: format.journalKey,
      driveId: format.driveId.toString('hex'),
      deploymentId: format.deploymentId,
      journal,
      state,
      checkpoints,
      engine,
      bodies,
      blobFiles,
      space,
      unlock,
    })
    return drive
  } catch (error) {
    space?.stop()
    await index?.close()
    unlock()
    throw asDriveError(error, path)
  }
}

/** An index that cannot be opened is no loss: it is built again from the journal. */
async function openIndex(options: DriveOptions): Promise<IndexStore> {
  const path = `${options.path}/index`
  try {
    return await options.openIndex(path)
  } catch (error) {
    options.log.warn({ err: error }, 'the index cannot be opened; it is built again from the journal')
    await options.removeIndex(path)
    return options.openIndex(path)
  }
}

function asDriveError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') {
    return storageErrors.unavailable(`The drive ${path} cannot be written: ${(error as Error).message}.`, {
      cause: error,
    })
  }
  return error
}
