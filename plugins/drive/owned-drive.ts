/** The `Drive` of `api.ts` in the main thread. The object survives that the drive is closed and opened again. */
import { type MaybePromise, promised } from 'svc/kernel'
import { type DriveStatus, storageErrors } from 'svc/plugins/storage/api'
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

/** A lost index is opened again once in this time: a disk that goes on failing needs an operator. */
const reopenAgainMs = 600_000
/** For other threads to close what they have open of a drive that is closed here. */
const releaseMs = 10_000

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
  const { path, name, procedures, derive, threads, ports, log, deploymentId, isAlone, garbage, finality, onFault } =
    options
  let opened: Opened | undefined
  /** Why the drive is closed although it should be open: its index was lost, and it could not be opened again. */
  let failure: unknown
  let reopening: Promise<void> | undefined
  let reopenedMs = Number.NEGATIVE_INFINITY
  const status = (): readonly DriveStatus[] => {
    if (opened !== undefined) return [{ ...opened.drive.status(), needsRestart: failure !== undefined }]
    return failure === undefined && reopening === undefined ? [] : [failedStatus(path, failure)]
  }
  const host = createWorkerHost(threads, async () => reopening, status)
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
  /** Callers wait for a drive that is being opened again. */
  const whenOpen = <T>(use: (drive: Drive) => MaybePromise<T>): MaybePromise<T> =>
    reopening === undefined ? use(get()) : reopening.then(() => use(get()))
  const start = async (): Promise<void> => {
    if (opened !== undefined) throw new Error(`drive ${name} is open`)
    failure = undefined
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
      onFault: error =>
        setImmediate(() => {
          if (opened !== undefined && opened.drive.engine.fault === error) onFailed(opened.drive, error)
        }),
      garbage,
      finality,
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
    failure = undefined
    const closing = opened
    if (closing === undefined) return
    opened = undefined
    open.delete(closing)
    host.close()
    const isLost = closing.drive.state.index.loss !== undefined
    // What is lost can be opened again only when all threads have closed it. Else this one is the first: the last waits for the disk.
    const released = isLost ? host.release() : undefined
    // A thread that fails to let go must not leave the drive locked.
    try {
      await released
    } finally {
      await closing.endWork()
      await closing.drive.close()
      if (!isLost) await letGo()
    }
  }
  /** The files of the other threads, which keep its file system from being unmounted. Waited for a while alone: nothing else depends on it. */
  const letGo = async (): Promise<void> => {
    const { promise: isLate, resolve } = Promise.withResolvers<void>()
    const cancel = ports.clock.after(releaseMs, () => {
      log.warn({ path }, 'a thread has not closed the drive yet: its file system cannot be unmounted')
      resolve()
    })
    const released = host.release().catch(error => log.warn({ err: error, path }, 'a thread could not close the drive'))
    await Promise.race([released, isLate])
    cancel()
  }
  const nowMs = () => Number(ports.clock.monotonicNs() / 1_000_000n)
  const onFailed = (drive: Drive, error: unknown): void => {
    if (onFault !== undefined) {
      onFault(faulty(error))
      return
    }
    const isLost = drive.state.index.loss !== undefined
    if (!isLost || nowMs() - reopenedMs < reopenAgainMs) {
      log.error({ err: error, path }, 'the drive has failed and takes no writes until the server is restarted')
      if (isLost) failure = error
      return
    }
    log.error({ err: error, path }, 'the index of the drive has failed: the drive is opened again, requests wait')
    reopenedMs = nowMs()
    reopening = inTurn(async () => {
      if (opened?.drive !== drive) return
      try {
        await stop()
        await start()
        log.info({ path }, 'the drive is open again; no data is lost')
      } catch (cause) {
        failure = cause
        log.error({ err: cause, path }, 'the drive could not be opened again: restart the server')
      }
    }).finally(() => {
      reopening = undefined
    })
  }
  return {
    inlineBytesMax,
    start: () => inTurn(start),
    stop: () => inTurn(stop),
    execute: <Result>(procedure: string, args: unknown, body?: Uint8Array) =>
      promised(() => whenOpen(drive => drive.execute(procedure, args, body)) as Promise<Result>),
    get: key => whenOpen(drive => drive.get(key)),
    scan: (start, end, visit) => whenOpen(drive => drive.scan(start, end, visit)),
    scanDerived: (start, end, visit) => whenOpen(drive => drive.scanDerived(start, end, visit)),
    counter: key => whenOpen(drive => drive.counter(key)),
    counters: (start, end, limit) => whenOpen(drive => drive.counters(start, end, limit)),
    readBody: ref => whenOpen(drive => drive.readBody(ref)),
    createBlob: (_sizeHint, options) => get().createBlob(options?.id),
    syncBlob: async id => get().blobFiles.sync(id),
    pinBlobs: refs => get().pinBlobs(refs),
    readBlob: (ref, start, length) => get().readBlob(ref, start, length),
    drives: status,
    get driveId() {
      return get().driveId
    },
  }
}

function failedStatus(path: string, failure: unknown): DriveStatus {
  const error =
    failure === undefined ? 'The drive is being opened again.' : String((failure as Error).message ?? failure)
  const unknown = { id: '', totalBytes: 0, freeBytes: 0, freeInodes: 0 }
  return { path, ...unknown, state: 'faulty', error, needsRestart: failure !== undefined }
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
