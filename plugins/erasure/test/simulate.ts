/**
 * Runs random schedules over simulated hardware. Started as a worker of simulation.slow.test.ts, where no test runner tracks each promise, or
 * by hand: `node --conditions=svc-src plugins/erasure/test/simulate.ts SEED ROUNDS`.
 */
import assert from 'node:assert/strict'
import { runSchedules, type SeededRandom } from 'svc/testing'
import { type Counts, SimulatedSet } from './simulated-set.ts'

export interface Totals extends Counts {
  absent: number
  returned: number
  replaced: number
  /** While the set runs. */
  swapped: number
  /** Of these, those that became drives of the running set. */
  takenIn: number
  rotten: number
  emptied: number
  broken: number
  erring: number
  squeezed: number
  hung: number
  late: number
  cutShort: number
  tooFew: number
}

/** Number of drives, and how many shards are parity. */
const shapes = [
  [2, 1],
  [3, 1],
  [4, 2],
  [4, 1],
  [5, 2],
  [6, 3],
  [6, 2],
] as const

class Schedule {
  readonly #random: SeededRandom
  readonly #set: SimulatedSet
  readonly #totals: Totals
  readonly #parityCount: number
  readonly #harmedMax: number
  /** Drives that may lack data: never more than the least parity. */
  readonly #weak = new Set<number>()
  /** All drives were full at once: any of them may lack data. */
  #isFragile = false
  /** A drive was pulled in this life: the set may still have its files open. */
  #hasPulled = false

  constructor(random: SeededRandom, totals: Totals) {
    this.#random = random
    this.#totals = totals
    const [driveCount, parityCount] = random.pick(shapes)
    this.#parityCount = parityCount
    // Bodies with less parity survive fewer harmed drives.
    const reducedParityCount = random.float() < 0.4 ? random.integer(parityCount + 1) : parityCount
    this.#harmedMax = reducedParityCount
    this.#set = new SimulatedSet(random, driveCount, { parityCount, reducedParityCount }, totals)
  }

  /** A drive that may be harmed; undefined if none may. */
  #victim(): number | undefined {
    if (this.#isFragile) return undefined
    const { hardware } = this.#set
    const weak = [...this.#weak]
    if (weak.length < this.#harmedMax && (weak.length === 0 || this.#random.float() < 0.5)) {
      const victim = this.#random.integer(hardware.length)
      this.#weak.add(victim)
      return victim
    }
    return weak.length === 0 ? undefined : this.#random.pick(weak)
  }

  async run(): Promise<void> {
    const set = this.#set
    await this.#start()
    await set.verify()
    for (let lives = 2 + this.#random.integer(3); lives > 0; lives--) {
      await this.#live()
      await this.#end()
      this.#afflict()
      await this.#start()
      await set.verify()
      if (this.#random.float() < 0.75) await this.#heal()
    }
    for (const hardware of set.hardware) {
      hardware.isAbsent = false
      hardware.isHanging = false
    }
    if (this.#random.float() < 0.5) await set.stop()
    else set.crash(['process'])
    await this.#start()
    await set.verify()
    await this.#heal()
    const { set: open } = set.open
    if (!open.isWhole) {
      // A drive that a damaged journal keeps from opening is replaced.
      for (const { index, state } of open.members) if (state !== 'current') set.hardware[index]!.replace()
      set.crash(['process'])
      await this.#start()
      await this.#heal()
    }
    assert.ok(set.open.set.isWhole, 'all drives are back')
    for (const { disk } of set.hardware) this.#totals.operations += disk.operations
  }

  async #heal(): Promise<void> {
    const set = this.#set
    const whole = await set.heal()
    set.trace(`healed, but for ${[...this.#weak].filter(index => !whole.has(index))}`)
    await set.verify()
    for (const index of whole) this.#weak.delete(index)
    this.#isFragile = false
  }

  /** Starts may be interrupted, or find too few drives, before one succeeds. */
  async #start(): Promise<void> {
    const set = this.#set
    while (this.#random.float() < 0.2) {
      const error = await set.start(this.#random.integer(60))
      if (error === false) this.#totals.cutShort++
      else if (error !== undefined) throw error
      set.crash([this.#random.pick(['power', 'process'] as const)])
    }
    if (this.#random.float() < 0.1) await this.#refuse()
    const error = await set.start()
    if (error !== undefined) throw error
  }

  /** With more drives offline than parity an existing set refuses to start, and loses nothing. */
  async #refuse(): Promise<void> {
    const set = this.#set
    if (!set.isMade) return
    const were = set.hardware.map(({ isAbsent }) => isAbsent)
    const count = this.#parityCount + 1
    const first = this.#random.integer(set.hardware.length)
    const away = new Set(Array.from({ length: count }, (_, i) => (first + i) % set.hardware.length))
    // If only empty folders are there, nothing tells that there was a set.
    if (set.hardware.every((hardware, i) => away.has(i) || hardware.isAbsent || !hardware.isFormatted)) return
    for (const i of away) set.hardware[i]!.isAbsent = true
    const error = await set.start()
    assert.match(String((error as { code?: unknown } | undefined)?.code), /^(set_incomplete|drive_missing)$/)
    this.#totals.tooFew++
    set.crash([this.#random.pick(['power', 'process'] as const)])
    for (const [i, hardware] of set.hardware.entries()) hardware.isAbsent = were[i]!
  }

  async #live(): Promise<void> {
    const set = this.#set
    const { repairLoop } = set.open
    const generations = set.open.set.members.map(({ generation }) => generation)
    const { signal } = new AbortController()
    const clients = new Set<Promise<unknown>>()
    const isBusy = new Set<string>()
    const inTurn = (name: string, work: () => Promise<unknown>) => {
      if (isBusy.has(name)) return
      isBusy.add(name)
      const { life } = set
      const working: Promise<unknown> = work().then(
        () => isBusy.delete(name),
        error => {
          isBusy.delete(name)
          if (life !== set.life) return
          assert.match(
            String((error as { code?: unknown }).code),
            /^(full|unavailable|faulty|corrupt|gone|EIO|ENOENT)$/,
            String((error as Error).stack),
          )
        },
      )
      const client: Promise<unknown> = working.finally(() => clients.delete(client))
      clients.add(client)
    }
    for (let step = this.#random.integer(100); step > 0; step--) {
      const luck = this.#random.float()
      if (luck < 0.5 && clients.size < 16) {
        const client: Promise<unknown> = set.change().finally(() => clients.delete(client))
        clients.add(client)
      } else if (luck < 0.6 && clients.size < 30) {
        const client: Promise<unknown> = set.read().finally(() => clients.delete(client))
        clients.add(client)
      } else if (luck < 0.66) inTurn('bring', () => repairLoop.bringBack(signal))
      else if (luck < 0.7) inTurn('mark', () => repairLoop.markMissingShards())
      else if (luck < 0.74) inTurn('heal', () => repairLoop.healSome(signal))
      else if (luck < 0.76) inTurn('scrub', () => repairLoop.scrubSome(signal))
      else if (luck < 0.8) set.housekeep()
      else if (luck < 0.85) set.recount()
      else if (luck < 0.88) this.#fail()
      else if (luck < 0.89) await this.#swap(() => inTurn('bring', () => repairLoop.bringBack(signal)))
      else if (luck < 0.91 && set.hardware.some(({ isHanging }) => isHanging)) await this.#wait()
      await set.tick()
    }
    this.#countLate()
    for (const { slot, generation } of set.open.set.members) {
      if (generation !== generations[slot]) this.#totals.takenIn++
    }
    if (this.#random.float() < 0.3) {
      for (const { disk } of set.hardware) disk.errorRate = 0
      for (let ticks = 0; clients.size > 0 && ticks < 60_000; ticks++) await set.tick()
      assert.equal(clients.size, 0, 'every client is answered')
      this.#countLate()
    }
  }

  /** Long enough for drives that hang to time out. */
  async #wait(): Promise<void> {
    for (let ticks = this.#random.integer(3000); ticks > 0; ticks--) await this.#set.tick()
  }

  #countLate(): void {
    for (const { index, timeoutCount } of this.#set.open.set.members) {
      this.#totals.late += timeoutCount
      assert.ok(timeoutCount === 0 || this.#weak.has(index), 'only drives that hang time out')
    }
  }

  /** A drive breaks, or works again. */
  #fail(): void {
    const set = this.#set
    if (this.#weak.size === 0 && this.#random.float() < 0.15) {
      const isFull = !this.#isFragile
      for (const hardware of set.hardware) hardware.squeeze(isFull)
      set.trace(`all are full: ${isFull}`)
      if (isFull) this.#totals.squeezed++
      this.#isFragile = true
      return
    }
    const victim = this.#victim()
    if (victim === undefined) return
    const hardware = set.hardware[victim]!
    if (hardware.isAbsent) return
    if (hardware.isHanging) {
      set.trace(`${victim} answers`)
      hardware.isHanging = false
      return
    }
    if (hardware.isBroken) {
      if (!hardware.isIdle) return
      set.trace(`${victim} works again`)
      hardware.mend(!set.isOpen(hardware.path) && this.#random.float() < 0.5)
      return
    }
    const luck = this.#random.float()
    if (luck < 0.3) {
      set.trace(`${victim} hangs`)
      hardware.isHanging = true
      this.#totals.hung++
    } else if (luck < 0.5) {
      set.trace(`${victim} breaks`)
      hardware.breakDown()
      this.#totals.broken++
    } else if (luck < 0.7) {
      set.trace(`${victim} has errors`)
      hardware.disk.errorRate = hardware.disk.errorRate === 0 ? 0.05 : 0
      this.#totals.erring++
    } else {
      set.trace(`${victim} is full or not`)
      hardware.squeeze(this.#random.float() < 0.6)
      this.#totals.squeezed++
    }
  }

  /** Removes a drive and, once the set has taken it offline, puts an empty file system in its place. */
  async #swap(bringBack: () => void): Promise<void> {
    const set = this.#set
    const victim = this.#victim()
    if (victim === undefined) return
    const hardware = set.hardware[victim]!
    if (hardware.isBroken || hardware.isHanging) return
    set.trace(`${victim} is pulled`)
    hardware.isAbsent = true
    this.#hasPulled = true
    for (let ticks = this.#random.integer(400); ticks > 0; ticks--) {
      if (ticks % 50 === 0) bringBack()
      if (ticks % 20 === 0) void set.change()
      await set.tick()
    }
    if (set.isOpen(hardware.path)) return
    set.trace(`${victim} is replaced while the set runs`)
    hardware.replace()
    hardware.isAbsent = false
    this.#totals.swapped++
    for (let ticks = this.#random.integer(600); ticks > 0; ticks--) {
      if (ticks % 50 === 0) bringBack()
      if (ticks % 20 === 0) void set.change()
      await set.tick()
    }
  }

  async #end(): Promise<void> {
    const set = this.#set
    const luck = this.#random.float()
    set.trace(`ends with luck ${luck}`)
    const isAllWell = !this.#hasPulled && set.hardware.every(({ isBroken, disk }) => !isBroken && disk.errorRate === 0)
    this.#hasPulled = false
    if (luck < 0.15 && isAllWell) {
      await set.stop()
      if (this.#random.float() < 0.5) set.crash(['power'])
    } else if (luck < 0.55) set.crash(['power'])
    else if (luck < 0.8) set.crash(['process'])
    else set.crash(set.hardware.map(() => this.#random.pick(['power', 'process'] as const)))
    for (const hardware of set.hardware) hardware.squeeze(false)
  }

  /** Changes to drives between two lives. */
  #afflict(): void {
    const set = this.#set
    const totals = this.#totals
    for (let count = this.#random.integer(3); count > 0; count--) this.#victim()
    for (const index of this.#weak) {
      const hardware = set.hardware[index]!
      const luck = this.#random.float()
      if (hardware.isAbsent && luck < 0.7) totals.returned++
      hardware.isAbsent = luck > 0.7
      hardware.isHanging = !hardware.isAbsent && this.#random.float() < 0.2
      if (hardware.isHanging) totals.hung++
      set.trace(
        `${index} has luck ${luck}: ${hardware.isHanging ? 'hanging and ' : ''}${hardware.isAbsent ? 'away' : luck < 0.15 ? 'replaced' : luck < 0.4 ? 'rotten' : 'there'}`,
      )
      if (hardware.isAbsent) totals.absent++
      if (luck < 0.15) {
        hardware.replace()
        totals.replaced++
      } else if (luck < 0.4) {
        set.rot(hardware)
        totals.rotten++
      }
    }
    for (const hardware of set.hardware) {
      if (this.#random.float() > 0.07) continue
      hardware.index.remove()
      totals.emptied++
    }
  }
}

const totals: Totals = {
  acknowledged: 0,
  rejected: 0,
  verified: 0,
  healed: 0,
  honest: 0,
  recounts: 0,
  reads: 0,
  operations: 0,
  absent: 0,
  returned: 0,
  replaced: 0,
  swapped: 0,
  takenIn: 0,
  rotten: 0,
  emptied: 0,
  broken: 0,
  erring: 0,
  squeezed: 0,
  hung: 0,
  late: 0,
  cutShort: 0,
  tooFew: 0,
}

await runSchedules(totals, random => new Schedule(random, totals).run())
