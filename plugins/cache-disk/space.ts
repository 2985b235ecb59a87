/** Whether the folder accepts records: it does not with less than 5 % of free space, nor for 10 s after a failed write. */
import { statfs } from 'node:fs/promises'
import type { Clock, Logger } from 'svc/kernel'

const checkMs = 10_000
/** Free space is read again after so many written bytes, so that the cache does not fill the disk between two timed checks. */
const checkBytes = 64 * 1024 * 1024
const freeShareMin = 0.05

export interface Space {
  readonly isOpen: boolean
  start(): Promise<void>
  stop(): void
  written(bytes: number): void
  /** A write has failed. */
  failed(error: unknown): void
}

export function createSpace(path: string, clock: Clock, log: Logger): Space {
  let isRoomy = false
  let failedUntilNs = 0n
  let unchecked = 0
  let cancel: (() => void) | undefined

  async function look(): Promise<void> {
    unchecked = 0
    try {
      const { bavail, blocks } = await statfs(path)
      const isNow = bavail >= blocks * freeShareMin
      if (isNow !== isRoomy && !isNow)
        log.warn({ path }, 'less than 5 % of the file system of SVC_CACHE_DIR is free: the cache writes nothing there')
      isRoomy = isNow
    } catch (error) {
      isRoomy = false
      log.warn({ err: error, path }, 'SVC_CACHE_DIR cannot be looked at: the cache writes nothing there')
    }
  }

  async function watch(): Promise<void> {
    cancel = clock.after(checkMs, watch)
    await look()
  }

  return {
    get isOpen() {
      return isRoomy && failedUntilNs <= clock.monotonicNs()
    },
    async start() {
      isRoomy = true
      await watch()
    },
    stop() {
      cancel?.()
      isRoomy = false
    },
    written(bytes) {
      unchecked += bytes
      if (unchecked > checkBytes) void look()
    },
    failed(error) {
      if (failedUntilNs <= clock.monotonicNs())
        log.warn({ err: error, path }, 'the cache cannot write to SVC_CACHE_DIR: it tries again in 10 s')
      failedUntilNs = clock.monotonicNs() + BigInt(checkMs) * 1_000_000n
    },
  }
}
