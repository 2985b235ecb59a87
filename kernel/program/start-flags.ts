/** How V8 runs this program: while it starts, and from then on. Flags are those of the process: worker threads have them, too. */
import { setFlagsFromString } from 'node:v8'

/** Three times what a start takes. With more it has much to do, to look through a large journal for example. */
const startCpuMicrosMax = 3_000_000
const lookMs = 500

/** Of `start` and from then on. They are no part of what decides about compiled code that is kept. */
const changing = [
  // The objects of a start live on, so that V8 would let the young generation grow to 64 MB, for ever.
  ['--semi-space-growth-factor=1', '--semi-space-growth-factor=2'],
  // What runs often in a start does not run again, so that optimizing it costs more than it brings. It also costs memory for ever: 5 MB
  // of the compilers' own code and 7 MB of what they make and leave in the heaps of V8's threads, without use for a server without load.
  ['--sparkplug-filter=~', '--sparkplug-filter=*'],
  ['--maglev-filter=~', '--maglev-filter=*'],
  ['--turbo-filter=~', '--turbo-filter=*'],
] as const

let looking: NodeJS.Timeout | undefined

/** Before anything is compiled that is to be kept. They change at `endStart`, or when the start has worked for long. */
export function setFlagsOfStart(): void {
  // V8 allocates the objects of an allocation site directly in the old generation once objects from there have lived a little longer, as
  // they do while a drive is slow. They are dead soon after all the same, but there they keep everything alive that they refer to:
  // each collection of the young generation then copies megabytes of garbage (measured: 14 to 40 ms instead of 1 to 4).
  setFlagsFromString('--no-allocation-site-pretenuring')
  for (const [start] of changing) setFlagsFromString(start)
  looking = setInterval(() => {
    const { user, system } = process.threadCpuUsage()
    if (user + system > startCpuMicrosMax) endStart()
  }, lookMs).unref()
}

/** From here on requests come. */
export function endStart(): void {
  clearInterval(looking)
  for (const [, later] of changing) setFlagsFromString(later)
}
