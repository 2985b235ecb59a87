/** Waits for locks, and for other updates of the same document. */
import type { LockService } from 'svc/plugins/lock/api'
import type { StoreService } from 'svc/plugins/store/api'

/** Waits for one resource. */
export interface Waits {
  /** `lock photos/delete`, `document iam-user/ann`. */
  readonly resource: string
  readonly waits: number
  readonly totalMs: number
  readonly maxMs: number
}

const resourcesMax = 100
/** Resources that are counted, in a thread: further ones are left out. */
const countedMax = 10_000

/** Over some seconds, in this thread. */
export async function captureWaits(
  { locks, store }: { readonly locks: LockService | undefined; readonly store: StoreService | undefined },
  seconds: number,
): Promise<Waits[]> {
  const counted = new Map<string, { waits: number; totalMs: number; maxMs: number }>()
  const count = (resource: string, waitedMs: number) => {
    let found = counted.get(resource)
    if (found === undefined) {
      if (counted.size === countedMax) return
      found = { waits: 0, totalMs: 0, maxMs: 0 }
      counted.set(resource, found)
    }
    found.waits++
    found.totalMs += waitedMs
    found.maxMs = Math.max(found.maxMs, waitedMs)
  }
  const ends = [
    locks?.watchWaits((resource, waitedMs) => {
      if (waitedMs > 0) count(`lock ${resource}`, waitedMs)
    }),
    store?.watchWaits(({ collection, id }, waitedMs) => count(`document ${collection}/${id}`, waitedMs)),
  ]
  await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  for (const end of ends) end?.()
  return [...counted].map(([resource, found]) => ({ resource, ...found }))
}

/** Adds the waits of all threads, and sorts them, the longest first. */
export function combineWaits(all: readonly Waits[]): Waits[] {
  const combined = new Map<string, Waits>()
  for (const { resource, waits, totalMs, maxMs } of all) {
    const before = combined.get(resource) ?? { waits: 0, totalMs: 0, maxMs: 0 }
    combined.set(resource, {
      resource,
      waits: before.waits + waits,
      totalMs: round(before.totalMs + totalMs),
      maxMs: round(Math.max(before.maxMs, maxMs)),
    })
  }
  return [...combined.values()].sort((a, b) => b.totalMs - a.totalMs).slice(0, resourcesMax)
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
