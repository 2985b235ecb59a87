/** One speed test at a time in a deployment. The main thread directs it; the threads that serve requests do the work. */
import { hostname } from 'node:os'
import type { Logger, Ports, Threads } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { DrivesService } from 'svc/plugins/drive/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { ObjectsService, Tags } from 'svc/plugins/objects/api'
import type { StorageService } from 'svc/plugins/storage/api'
import type { DriveSpeed, ObjectSpeed } from './api.ts'
import { measureDrive } from './drive-speed.ts'
import { describeSpeed, type LanesOutcome, type LanesWanted, laneKey, runLanes } from './object-speed.ts'

export interface SpeedtestsOptions {
  readonly threads: Threads
  readonly ports: Ports
  readonly drives: DrivesService
  readonly storage: StorageService
  readonly objects: ObjectsService
  /** Whose the bucket of the test is, and where. */
  readonly owner: () => Identity
  readonly region: () => string
  readonly log: Logger
}

export interface DriveTestWanted {
  readonly kind: 'drive'
  readonly sizeBytes: number
  readonly seconds: number
}

export interface ObjectTestWanted {
  readonly kind: 'object'
  readonly sizeBytes: number
  readonly seconds: number
  readonly concurrency: number
}

export type SpeedtestWanted = DriveTestWanted | ObjectTestWanted

interface Measured {
  readonly startedAt: string
  readonly durationMs: number
}

interface ObjectsMeasured {
  readonly size: number
  readonly concurrency: number
  readonly put: ObjectSpeed
  readonly get: ObjectSpeed
  readonly nodes: {
    readonly endpoint: string
    readonly put: ObjectSpeed
    readonly get: ObjectSpeed
    readonly error: string
  }[]
}

export type SpeedtestMeasured = Measured &
  (
    | { readonly kind: 'drive'; readonly drive: { readonly drives: DriveSpeed[] } }
    | { readonly kind: 'object'; readonly object: ObjectsMeasured }
  )

export interface Speedtests {
  /** Rejects with `conflict` while another one runs, and with `invalid_argument` where too little is free. */
  run(wanted: SpeedtestWanted): Promise<SpeedtestMeasured>
}

const message = { run: 'speedtest.run', lanes: 'speedtest.lanes' } as const
const bucketPrefix = 'svc-speedtest-'
/** So that a bucket of a user is never taken for that of an interrupted test. */
const bucketTag = 'svc:speedtest'
/** The former bytes of an overwritten object are deleted a little later, so that a test needs several times its data. */
const spaceFactor = 4

/** During set-up, in every thread. */
export function createSpeedtests(options: SpeedtestsOptions): Speedtests {
  const { threads, ports, drives, storage, objects, log } = options
  let isRunning = false
  threads.handle(message.lanes, (wanted: LanesWanted) => runLanes(objects, ports.random, wanted))

  async function testDrives({ sizeBytes, seconds }: DriveTestWanted) {
    const found = await storage.drives()
    const fileName = `speedtest-${name()}.tmp`
    return {
      // All at once, as in use: a bus or controller that they share counts.
      drives: await Promise.all(
        found.map(drive => measureDrive(drives.disk, ports.random, drive, { sizeBytes, seconds, fileName })),
      ),
    }
  }

  const name = () => Buffer.from(ports.random.bytes(8)).toString('hex')

  async function testObjects(wanted: ObjectTestWanted): Promise<ObjectsMeasured> {
    const { sizeBytes, concurrency } = wanted
    await requireSpace(sizeBytes * concurrency * spaceFactor)
    await removeLeftovers()
    const bucket = `${bucketPrefix}${name()}`
    await objects.createBucket(bucket, { region: options.region(), owner: options.owner(), tags: testTags })
    try {
      const putOutcomes = await runEverywhere({ ...wanted, phase: 'put', bucket })
      const getOutcomes = await runEverywhere({ ...wanted, phase: 'get', bucket })
      const put = describeSpeed(sizeBytes, putOutcomes)
      const get = describeSpeed(sizeBytes, getOutcomes)
      const error = [...putOutcomes, ...getOutcomes].find(outcome => outcome.error !== '')?.error ?? ''
      return { size: sizeBytes, concurrency, put, get, nodes: [{ endpoint: hostname(), put, get, error }] }
    } finally {
      await remove(bucket, concurrency)
    }
  }

  async function requireSpace(neededBytes: number): Promise<void> {
    const status = await storage.drives()
    const freeBytes = status.reduce((sum, drive) => sum + drive.freeBytes, 0)
    if (freeBytes >= neededBytes) return
    throw adminErrors.invalid_argument(
      `/size: the test needs up to ${neededBytes} bytes, and ${freeBytes} are free. Ask for a smaller size or less concurrency.`,
    )
  }

  async function runEverywhere(
    wanted: Omit<LanesWanted, 'firstLane' | 'laneCount'> & { readonly concurrency: number },
  ): Promise<LanesOutcome[]> {
    const { phase, bucket, sizeBytes, seconds, concurrency } = wanted
    const common = { phase, bucket, sizeBytes, seconds }
    if (threads.isFront)
      return [await runLanes(objects, ports.random, { ...common, firstLane: 0, laneCount: concurrency })]
    const shares = Math.min(threads.workerCount, concurrency)
    const first = (share: number) => Math.floor((share * concurrency) / shares)
    return Promise.all(
      Array.from({ length: shares }, (_, share) =>
        threads.call<LanesOutcome>(share + 1, message.lanes, {
          ...common,
          firstLane: first(share),
          laneCount: first(share + 1) - first(share),
        }),
      ),
    )
  }

  /** Removes the objects of a test during which the server was killed. */
  async function removeLeftovers(): Promise<void> {
    let startAfter: string | undefined = ''
    while (startAfter !== undefined) {
      const page: Awaited<ReturnType<ObjectsService['listBuckets']>> = await objects.listBuckets({
        prefix: bucketPrefix,
        startAfter,
        limit: 1000,
      })
      for (const { name, tags } of page.buckets) {
        if (!tags.has(bucketTag)) continue
        log.info({ bucket: name }, 'removing the bucket of a speed test that was interrupted')
        await remove(name, concurrencyMax)
      }
      startAfter = page.next
    }
  }

  async function remove(bucket: string, laneCount: number): Promise<void> {
    const items = Array.from({ length: laneCount }, (_, lane) => ({ key: laneKey(lane) }))
    await objects.deleteObjects(bucket, items)
    await objects.deleteBucket(bucket)
  }

  async function runOnce(wanted: SpeedtestWanted): Promise<SpeedtestMeasured> {
    if (isRunning) throw adminErrors.conflict('Another speed test runs. Wait until it has ended.')
    isRunning = true
    const startedMs = ports.clock.now()
    const measured = () => ({
      startedAt: new Date(startedMs).toISOString(),
      durationMs: Math.max(ports.clock.now() - startedMs, 0),
    })
    try {
      if (wanted.kind === 'drive') {
        const drive = await testDrives(wanted)
        return { kind: 'drive', ...measured(), drive }
      }
      const object = await testObjects(wanted)
      return { kind: 'object', ...measured(), object }
    } finally {
      isRunning = false
    }
  }
  threads.handle(message.run, runOnce)

  return { run: wanted => (threads.isMain ? runOnce(wanted) : threads.call(0, message.run, wanted)) }
}

export const concurrencyMax = 256
const testTags: Tags = new Map([[bucketTag, 'remove']])

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    speedtests: Speedtests
  }
}
