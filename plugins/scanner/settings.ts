/** Declares the settings `scanner`, and paces background workers accordingly. */
import type { BackgroundWorker, Clock } from 'svc/kernel'
import type { Settings, SettingsService } from 'svc/plugins/settings/api'
import { Type } from 'typebox'
import { rests, type ScannerSettings } from './api.ts'

const restMsMax = 15_000
const dayMs = 86_400_000

const keysOf = (cycleMs: number) =>
  Type.Object({
    speed: Type.Enum(Object.keys(rests) as (keyof typeof rests)[], {
      default: 'fastest',
      description:
        'How long background work rests after each slice, to leave the drives to requests: fastest not at all; fast, default, slow and slowest 1, 2, 10 and 100 times as long as the slice took, at most 15 s. Scrubbing is never faster than default.',
    }),
    cycle: Type.Integer({
      format: 'duration',
      minimum: 1000,
      maximum: 30 * dayMs,
      default: cycleMs,
      description:
        'How often the lifecycle rules of all buckets are applied, beside each midnight (UTC) and soon after a change of rules. When set, it replaces SVC_LIFECYCLE_INTERVAL_MS.',
    }),
    deep_cycle: Type.Integer({
      format: 'duration',
      minimum: 0,
      maximum: 365 * dayMs,
      default: 30 * dayMs,
      description:
        'Pause between two scrubs, each of which reads and verifies every shard of a set: from the end of one to the begin of the next. 0: never. A deployment with a single drive has no shards.',
    }),
  })

export function declareScannerSettings(settings: SettingsService, cycleMs: number): Settings<ScannerSettings> {
  return settings.declare('scanner', {
    description:
      'Background work that goes through all stored data: lifecycle rules, and the scrubbing of every shard of a set of drives.',
    keys: keysOf(cycleMs),
  })
}

/** See `ScannerService.atSpeed`. */
export function atSpeed(
  worker: BackgroundWorker,
  scanner: Settings<ScannerSettings>,
  clock: Clock,
  slowerThan: ScannerSettings['speed'] = 'fastest',
): BackgroundWorker {
  return {
    name: worker.name,
    pauseMs: worker.pauseMs,
    backoffMsMax: worker.backoffMsMax,
    status: () => worker.status?.() ?? '',
    async work(signal) {
      const startedNs = clock.monotonicNs()
      const outcome = await worker.work(signal)
      if (outcome !== 'more') return outcome
      const times = Math.max(rests[(await scanner.get()).speed], rests[slowerThan])
      const tookMs = Number(clock.monotonicNs() - startedNs) / 1e6
      const restMs = Math.min(times * tookMs, restMsMax)
      if (restMs > 0) await rest(restMs, signal, clock)
      return outcome
    },
  }
}

function rest(restMs: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const finish = () => {
      signal.removeEventListener('abort', finish)
      cancel()
      resolve()
    }
    const cancel = clock.after(restMs, finish)
    signal.addEventListener('abort', finish)
  })
}
