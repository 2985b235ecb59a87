/** One capture at a time in a node: the main thread counts, and asks the others for theirs. */
import { hostname } from 'node:os'
import type { Ports, Threads } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { LockService } from 'svc/plugins/lock/api'
import type { StoreService } from 'svc/plugins/store/api'
import type { ProfileType, ProfileWanted } from './api.ts'
import { captureCpu, captureDelays, captureHeap, type Delays } from './capture.ts'
import { type CpuProfile, cpuAsPprof, type HeapProfile, heapAsPprof } from './pprof.ts'
import { captureWaits, combineWaits, type Waits } from './waits.ts'

export interface CapturedFile {
  readonly bytes: Uint8Array
  /** Without its name and its time: `cpu.pb.gz`. */
  readonly suffix: string
  readonly mediaType: string
}

export interface Captures {
  /** Rejects with `conflict` while another one runs, and with `invalid_argument` for a thread that is not there. */
  capture(wanted: ProfileWanted): Promise<CapturedFile>
}

const message = { capture: 'diagnostics.capture', own: 'diagnostics.own' } as const

interface OwnWanted {
  readonly type: ProfileType
  readonly seconds: number
}

type OwnProfile = { readonly thread: number } & (
  | { readonly profile: unknown }
  | { readonly delays: Delays }
  | { readonly waits: readonly Waits[] }
)

const json = (value: unknown) => Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)

export interface CapturesOptions {
  readonly threads: Threads
  readonly clock: Ports['clock']
  readonly locks: LockService | undefined
  readonly store: StoreService | undefined
}

/** During set-up, in every thread. */
export function createCaptures({ threads, clock, locks, store }: CapturesOptions): Captures {
  let isRunning = false

  async function captureOwn({ type, seconds }: OwnWanted): Promise<OwnProfile> {
    const thread = threads.index
    if (type === 'cpu') return { thread, profile: await captureCpu(seconds) }
    if (type === 'heap') return { thread, profile: await captureHeap(seconds) }
    if (type === 'mutex') return { thread, waits: await captureWaits({ locks, store }, seconds) }
    return { thread, delays: await captureDelays(thread, seconds) }
  }
  threads.handle(message.own, captureOwn)

  async function captureAll({ type, seconds, format, thread }: ProfileWanted): Promise<CapturedFile> {
    const startMs = clock.now()
    if (type === 'goroutine') return { bytes: json(report()), suffix: 'goroutine.json', mediaType: 'application/json' }
    const wanted: OwnWanted = { type, seconds }
    if (format === 'v8' && (type === 'cpu' || type === 'heap')) {
      const own = thread === 0 ? captureOwn(wanted) : threads.call<OwnProfile>(thread, message.own, wanted)
      const { profile } = (await own) as { profile: unknown }
      return {
        bytes: Buffer.from(JSON.stringify(profile)),
        suffix: `${type}.${type}profile`,
        mediaType: 'application/json',
      }
    }
    const [own, others] = await Promise.all([captureOwn(wanted), threads.callOthers<OwnProfile>(message.own, wanted)])
    const all = [own, ...others]
    const span = { startMs, durationMs: clock.now() - startMs }
    if (type === 'block') {
      const delays = all.map(each => (each as { delays: Delays }).delays)
      const bytes = json({ node: hostname(), seconds, threads: delays })
      return { bytes, suffix: 'block.json', mediaType: 'application/json' }
    }
    if (type === 'mutex') {
      const resources = combineWaits(all.flatMap(each => (each as { waits: readonly Waits[] }).waits))
      const bytes = json({ node: hostname(), seconds, resources })
      return { bytes, suffix: 'mutex.json', mediaType: 'application/json' }
    }
    const profiles = all as { thread: number; profile: unknown }[]
    const bytes =
      type === 'cpu'
        ? await cpuAsPprof(profiles as { thread: number; profile: CpuProfile }[], span)
        : await heapAsPprof(profiles as { thread: number; profile: HeapProfile }[], span)
    return { bytes, suffix: `${type}.pb.gz`, mediaType: 'application/gzip' }
  }

  async function captureOnce(wanted: ProfileWanted): Promise<CapturedFile> {
    if (wanted.thread > threads.workerCount) {
      throw adminErrors.invalid_argument(`query/thread: the threads of this node are 0 to ${threads.workerCount}.`)
    }
    if (isRunning) throw adminErrors.conflict('Another capture runs on this node. Wait until it has ended.')
    isRunning = true
    try {
      return await captureAll(wanted)
    } finally {
      isRunning = false
    }
  }
  threads.handle(message.capture, captureOnce)

  return {
    capture: wanted => (threads.isMain ? captureOnce(wanted) : threads.call(0, message.capture, wanted)),
  }
}

/** Report on all threads. Leaves out the environment, which holds secrets, and host names that would need DNS. */
function report(): object {
  const { report: source } = process as unknown as {
    report: { excludeEnv: boolean; excludeNetwork: boolean; getReport(): object }
  }
  source.excludeEnv = true
  source.excludeNetwork = true
  return source.getReport()
}
