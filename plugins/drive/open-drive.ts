/**
 * Opens a drive: takes the lock, reads the format, opens or rebuilds the index, and replays the part of the journal that the
 * index lacks. `createOwnedDrive` calls it at each start.
 */

import { isCatalogError } from 'svc/kernel'
import { readWindowMs } from 'svc/plugins/storage/api'
import type { Finality } from './api.ts'
import { Ballast } from './ballast.ts'
import { BlobFiles } from './blob-files.ts'
import { BlobMarks, blobMarksBytes } from './blob-marks.ts'
import { BlobPins, blobPinsBytes } from './blob-pins.ts'
import { BodyReader } from './body-reader.ts'
import { Checkpoints } from './checkpoints.ts'
import { inlineBytesMax } from './config.ts'
import { DeadBlobs } from './dead-blobs.ts'
import type { Disk } from './disk.ts'
import type { Drive, DriveOptions } from './drive.ts'
import { Engine } from './engine.ts'
import { driveErrors } from './errors.ts'
import { asDriveError } from './folder-problem.ts'
import { openFormat } from './format.ts'
import { type HighWaterMark, openHighWaterMark } from './high-water-mark.ts'
import { type IndexMarker, openIndexMarker } from './index-marker.ts'
import { firstPosition, type IndexPosition, readPosition } from './index-position.ts'
import type { IndexStore } from './index-store.ts'
import { Journal } from './journal.ts'
import type { DriveLock } from './lock.ts'
import { Place } from './place.ts'
import { recover } from './recovery.ts'
import { isOutOfSpace, reserveBytesOf, type Space, spaceCellCount, watchSpace } from './space.ts'
import { DriveState, readSegmentUses } from './state.ts'

const batchBytes = 1024 * 1024

/** The parts of an open drive, handed to the constructor of `Drive`. */
export interface DriveParts {
  readonly journalKey: Buffer
  readonly driveId: string
  readonly deploymentId: string
  readonly journal: Journal
  readonly state: DriveState
  readonly checkpoints: Checkpoints
  readonly engine: Engine
  readonly bodies: BodyReader
  readonly blobFiles: BlobFiles
  readonly pins: BlobPins
  readonly deadBlobs: DeadBlobs
  readonly space: Space
  readonly ballast: Ballast
  readonly marker: IndexMarker
  readonly highWaterMark: HighWaterMark
  readonly isIndexUnchecked: boolean
  readonly missingSegments: readonly number[]
  readonly lock: DriveLock
}

/** Rejects with the reason when the drive cannot be opened; then neither the lock nor a timer is left behind. */
export async function openDrive(options: DriveOptions, create: (parts: DriveParts) => Drive): Promise<Drive> {
  const { path, config, ports, log } = options
  const { disk, clock } = ports
  const lock = await lockFolder(options)
  /** Undo steps for a failed open, run from last to first. */
  const undo: (() => Promise<void> | void)[] = [() => lock.release()]
  try {
    const format = await openFormat(disk, ports.random, path, options.deploymentId)
    await requireFolders(disk, path)
    lock.lockJournal()
    const places = { journal: await Place.of(disk, `${path}/journal`), blobs: await Place.of(disk, `${path}/blobs`) }
    const { totalBytes } = await disk.space(path)
    const ballast = new Ballast({
      disk,
      random: ports.random,
      log,
      path: `${path}/ballast`,
      reserveBytes: reserveBytesOf(totalBytes, config.reserveBytes),
      direct: config.directIo,
    })
    await ballast.open()
    undo.push(() => ballast.settled())
    const cells = options.spaceCells ?? new Int32Array(spaceCellCount)
    const space = await watchSpace({
      disk,
      clock,
      log,
      path,
      reserveBytesMin: config.reserveBytes,
      ballastBytes: () => ballast.allocatedBytes,
      cells,
    })
    undo.push(() => space.stop())
    const journal = new Journal({
      onWritten: bytes => space.onWritten(bytes),
      disk,
      log,
      lock,
      place: places.journal,
      driveId: format.driveId,
      journalKey: format.journalKey,
      segmentBytes: config.segmentBytes,
      batchBytes: options.batchBytes ?? batchBytes,
      direct: config.directIo,
      prepare: true,
    })
    undo.push(() => journal.close())
    const marker = await openIndexMarker(disk, log, path)
    undo.push(() => marker.close())
    undo.push(() => marker.onRefused())
    const highWaterMark = await openHighWaterMark(disk, log, path, format.driveId)
    undo.push(() => highWaterMark.close())
    const opened = await openIndex(options, marker)
    const { index, found } = opened
    undo.push(() => index.close())
    const from = found?.position ?? firstPosition
    const state = new DriveState(index, options.derive, from, found?.digest)
    readSegmentUses(index, state.segments)
    let engine: Engine | undefined
    let drive: Drive | undefined
    journal.resume(from)
    let sequence = found?.sequence ?? 0
    const checkpoints: Checkpoints = new Checkpoints(
      {
        state,
        clock,
        log,
        lock,
        intervalMs: config.checkpointIntervalMs,
        sequence: () => engine?.sequence ?? sequence,
        makeRoom: async error => {
          // LMDB reports EIO for a write that was cut short for lack of space.
          const isFull = isOutOfSpace(error) || (await freeBytesOf(disk, path)) < ballast.targetBytes
          if (!isFull) return false
          space.onRefused(error)
          return ballast.release('index')
        },
        observer: options.observer,
        onDone: () => {
          highWaterMark.note(checkpoints.indexed)
          engine?.wake()
        },
      },
      from,
    )
    undo.push(() => checkpoints.abandon())
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
        onSequence: reached => {
          sequence = reached
        },
      },
      from,
      sequence,
    )
    if (index.loss !== undefined) throw index.loss
    if (recovered.tail.segment > 0) highWaterMark.requireEnd(recovered.tail)
    journal.resume(recovered.tail)
    const marks = options.blobMarks ?? new BlobMarks(new ArrayBuffer(blobMarksBytes))
    const blobFiles: BlobFiles = new BlobFiles({
      disk,
      place: places.blobs,
      clock,
      random: ports.random,
      log,
      startMs: clock.now(),
      marks,
      spare: id => deadBlobs.spare(id),
      isReferenced(id) {
        try {
          return state.isBlobReferenced(id)
        } catch (error) {
          // The drive has failed, and nobody knows.
          if (!isCatalogError(error)) throw error
          return true
        }
      },
      discard(id) {
        if (!state.isBlobReferenced(id) && !deadBlobs.has(id)) blobFiles.deleteSoon([id])
      },
    })
    await blobFiles.createFolders()
    if (recovered.tail.segment === 0) {
      // With an empty journal every blob would be garbage. A lost journal must refuse the start, not delete the blobs.
      const isUsed = highWaterMark.reached !== undefined || (await blobFiles.hasAny())
      if (isUsed || (await options.index.hasAside(`${path}/index`))) throw lostJournal(path)
      await journal.create()
      // Whoever named another folder than intended would find an empty server, and no word of why.
      log.info({ path }, 'made a new drive')
    }
    if (checkpoints.isIndexComplete) {
      await options.index.discardAside(`${path}/index`)
      await marker.onCheckpoint()
    }
    const bodies = new BodyReader(disk, segment => journal.pathOf(segment), config.cacheBytes)
    const pins = new BlobPins(new ArrayBuffer(blobPinsBytes))
    const deadBlobs: DeadBlobs = new DeadBlobs({
      clock,
      readWindowMs: options.readWindowMs ?? readWindowMs,
      finality: options.finality ?? alwaysFinal,
      isPinned: id => pins.has(id) || options.isPinnedElsewhere?.(id) === true,
      isReferenced: id => state.isBlobReferenced(id),
      remove: (ids, onDone) => blobFiles.deleteSoon(ids, onDone),
      keep: id => blobFiles.keep(id),
      marks,
    })
    engine = new Engine(
      {
        state,
        journal,
        checkpoints,
        procedures: options.procedures,
        clock,
        log,
        inlineBytesMax,
        isFull: () => space.isFull(),
        onFull: error => space.onRefused(error),
        makeRoom: async () => {
          // What the journal has already, nobody can take; other software may take a freed piece first.
          if (await journal.moveOn()) return true
          if (!(await ballast.release('journal'))) return false
          await journal.reserveSpace(ballast.pieceBytes)
          return true
        },
        onBody: (segment, offset, bytes) => bodies.remember(segment, offset, bytes),
        onUnreferenced: ids => {
          drive?.damage.forgetBlobs(ids)
          deadBlobs.add(ids)
        },
        onFaulty: error => options.onFault?.(error),
        observer: options.observer,
      },
      recovered.sequence,
    )
    index.onLost = loss => engine!.fail(loss)
    if (recovered.batchesReplayed > 0)
      log.info({ batches: recovered.batchesReplayed }, 'replayed the end of the journal, which the index did not have')
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
      pins,
      deadBlobs,
      space,
      ballast,
      marker,
      highWaterMark,
      isIndexUnchecked: !opened.isWhole,
      missingSegments: recovered.missing,
      lock,
    })
    return drive
  } catch (error) {
    for (const step of undo.reverse()) {
      try {
        await step()
      } catch (cause) {
        log.debug({ err: cause, path }, 'a part of a drive that failed to open could not be closed')
      }
    }
    throw asDriveError(error, path)
  }
}

const everything = { afterMs: Number.NEGATIVE_INFINITY, beforeMs: Number.POSITIVE_INFINITY, term: 0 }
const alwaysFinal: Finality = { look: () => everything, isNeeded: () => false }

/** Infinity for a disk that does not answer: the error is not a lack of space then. */
async function freeBytesOf(disk: Disk, path: string): Promise<number> {
  try {
    return (await disk.space(path)).freeBytes
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Throws unless a drive that has a format file also has its folders. */
export async function requireFolders(disk: Disk, path: string): Promise<void> {
  if (!(await disk.exists(`${path}/journal`))) throw lostJournal(path)
  if (await disk.exists(`${path}/blobs`)) return
  throw driveErrors.drive_incomplete(
    `The drive ${path} has no folder "blobs": the bodies of larger objects are lost. Restore the folder, or create an empty one to continue without them.`,
  )
}

function lostJournal(path: string) {
  return driveErrors.journal_damaged(
    `The drive ${path} holds blobs or an index but no journal: its records are lost. Restore the folder "journal", or start with a new folder.`,
  )
}

async function lockFolder({ path, ports, lock }: DriveOptions): Promise<DriveLock> {
  try {
    await ports.disk.makeDirectory(path)
    return lock(path)
  } catch (error) {
    throw asDriveError(error, path)
  }
}

interface OpenedIndex {
  readonly index: IndexStore
  readonly found: IndexPosition | undefined
  readonly isWhole: boolean
}

/** A broken index loses no data: it is set aside and rebuilt from the journal. */
async function openIndex(options: DriveOptions, marker: IndexMarker): Promise<OpenedIndex> {
  const path = `${options.path}/index`
  const { problem, isWhole } = await examineIndex(options, marker, path)
  if (problem === undefined) {
    try {
      const index = await options.index.open(path)
      const found = readPosition(index)
      if (found !== 'damaged') return { index, found, isWhole }
      await index.close()
    } catch (error) {
      options.log.warn({ err: error }, 'the index cannot be opened')
    }
  }
  options.log.warn({ path, problem }, 'the index cannot be used; no data is lost: it is being rebuilt from the journal')
  await options.index.setAside(path)
  return { index: await options.index.open(path), found: undefined, isWhole: true }
}

async function examineIndex({ index, log }: DriveOptions, marker: IndexMarker, path: string) {
  if (marker.isSuspect) {
    return { problem: 'the server ended before its first checkpoint several times in a row', isWhole: true }
  }
  try {
    return await index.check(path, marker.wasClean ? 'start' : 'all', 'free')
  } catch (error) {
    // Without a checking process the index is used unchecked.
    log.warn({ err: error }, 'the index could not be checked; it is used unchecked')
    return { problem: undefined, isWhole: false }
  }
}
