/** The real ports: the only place beside the disk that touches the system's clock and randomness. */
import { randomBytes } from 'node:crypto'
import type { Clock, Ports, Random } from './ports.ts'
import { createSystemDisk } from './system-disk.ts'

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
  bytes: size => randomBytes(size),
  float: () => Math.random(),
}

export function createSystemPorts(): Ports {
  return { clock: systemClock, random: systemRandom, disk: createSystemDisk() }
}
