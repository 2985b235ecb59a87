/** The real ports: the only place beside the disk that touches the system's clock and randomness. */
import type { Clock, Ports, Random } from './ports.ts'
import { createSystemDisk } from './system-disk.ts'
import { createRandomPool } from './system-random.ts'

const systemClock: Clock = {
  now: () => Date.now(),
  monotonicNs: () => process.hrtime.bigint(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

const systemRandom: Random = {
  bytes: createRandomPool(systemClock.after).bytes,
  float: () => Math.random(),
}

export function createSystemPorts(): Ports {
  return { clock: systemClock, random: systemRandom, disk: createSystemDisk() }
}
