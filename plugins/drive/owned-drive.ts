/** The `Drive` of `api.ts` in the main thread. The object survives that the drive is closed and opened again. */
import { storageErrors } from 'svc/plugins/storage/api'
import type { DriveOptions, Drive as OfferedDrive } from './api.ts'
import { type DriveConfig, inlineBytesMax } from './config.ts'
import type { DrivePorts } from './disk.ts'
import { Drive } from './drive.ts'
import { faulty } from './engine.ts'
import { type IndexFolder, lmdbIndexFolder } from './index-folder.ts'
import { lockDrive } from './lock.ts'
import { createWorkerHost } from './worker-host.ts'

/** An open drive, as `background.ts` uses it. */
export interface OpenDrive {
  readonly name: string
  readonly drive: Drive
  /** Runs a unit of work; closing the drive aborts it and waits for its end. */
  run<T>(signal: AbortSignal, unit: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/** Dependencies of a drive beside its ports. */
export interface DriveEnvironment {
  readonly index: IndexFolder
  readonly lock: typeof lockDrive
  /** Defaults: see `DriveOptions` of `drive.ts`. */
  readonly batchBytes?: number
  readonly readWindowMs?: number
}

const realEnvironment: DriveEnvironment = { index: lmdbIndexFolder, lock: lockDrive }

interface Opened extends OpenDrive {
  /** Aborts the current unit of work and waits for its end. */
  endWork(): Promise<void>
}

/** Registers the main thread's message handlers. The drive is in `open` from the end of `start` to the beginning of `stop`. */
export function createOwnedDrive(
  options: DriveOptions & { readonly ports: DrivePorts },
  config: DriveConfig,
  open: Set<OpenDrive>,
  environment: DriveEnvironment = realEnvironment,
): OfferedDrive {
  const { path, name, procedures, derive, threads, ports, log, deploymentId, isAlone, garbage, onFault } = options
  const host = createWorkerHost(threads)
  let opened: Opened | undefined
  /** Serializes starts and stops. */
  let changing: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
    const turn = changing.then(change)
    changing = turn.catch(() => undefined)
    return turn
  }
  const get = (): Drive => {
    if (opened === undefined) throw storageErrors.unavailable('The drive is not open.')
    return opened.drive
  }
  const start = async (): Promise<void> => {
    if (opened !== undefined) throw new Error(`drive ${name} is open`)
    const memory = host.prepare()
    const drive = await Drive.open({
      path,
      config,
      procedures,
      derive,
      ports,
      log,
      deploymentId,
      isAlone,
      // Those whose requests have failed come first; an error of a drive that was opened again meanwhile is old.
      onFault: onFault && (error => setImmediate(() => opened?.drive.engine.fault === error && onFault(faulty(error)))),
      garbage,
      observer: memory?.shared,
      spaceCells: memory?.shared.spaceCells,
      blobMarks: memory?.marks,
      isPinnedElsewhere: host.isPinned,
      ...environment,
    })
    host.open(drive)
    opened = createOpened(name, drive)
    open.add(opened)
  }
  const stop = async (): Promise<void> => {
    const closing = opened
    if (closing === undefined) return
    opened = undefined
    open.delete(closing)
    host.close()
    await closing.endWork()
    await closing.drive.close()
  }
  return {
    inlineBytesMax,
    start: () => inTurn(start),
    stop: () => inTurn(stop),
    execute: <Result>(procedure: string, args: unknown, body?: Uint8Array) =>
      get().execute(procedure, args, body) as Promise<Result>,
    get: key => get().get(key),
    scan: (start, end, visit) => get().scan(start, end, visit),
    scanDerived: (start, end, visit) => get().scanDerived(start, end, visit),
    counter: key => get().counter(key),
    readBody: ref => get().readBody(ref),
    createBlob: (_sizeHint, options) => get().createBlob(options?.id),
    syncBlob: async id => get().blobFiles.sync(id),
    pinBlobs: refs => get().pinBlobs(refs),
    readBlob: (ref, start, length) => get().readBlob(ref, start, length),
    drives: () => (opened === undefined ? [] : [opened.drive.status()]),
    get driveId() {
      return get().driveId
    },
  }
}

function createOpened(name: string, drive: Drive): Opened {
  const end = new AbortController()
  const units = new Set<Promise<unknown>>()
  return {
    name,
    drive,
    run(signal, unit) {
      const running = unit(AbortSignal.any([signal, end.signal])).finally(() => units.delete(running))
      units.add(running)
      return running
    },
    async endWork() {
      end.abort()
      await Promise.allSettled(units)
    },
  }
}
