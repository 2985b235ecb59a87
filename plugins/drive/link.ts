/** Messages between the thread that owns the drive and the workers. */
import type { Threads } from 'svc/kernel'

export interface Link {
  readonly threads: Threads
}

export function createLink(threads: Threads): Link {
  return { threads }
}
