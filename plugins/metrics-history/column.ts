/**
 * One number over time, a point per tick. Points of a chunk that do not change are one number; whole numbers close to each other are
 * stored as their distance from the least in one, two or four bytes; others in eight. Exact for every number.
 */

/** Ticks of a chunk. */
export const chunkTicks = 240

interface Chunk {
  /** Counted from the tick 0, in chunks. */
  readonly index: number
  /** A number: of each of its points. */
  readonly points: number | Packed | Float64Array
}

interface Packed {
  readonly least: number
  /** The largest number of its kind: no sample. */
  readonly offsets: Uint8Array | Uint16Array | Uint32Array
}

/** Approximate size of an object, its slot in a list and the header of a typed array. */
const chunkBytes = 200

export class Column {
  #sealed: Chunk[] = []
  #openIndex = -1
  /** The points so far of the open chunk, as long as they are all the same: from one place to another, both included. */
  #constant = Number.NaN
  #from = 0
  #to = 0
  #points: Float64Array | undefined
  /** Of the first sample, even if its chunk is gone; -1 before it. */
  firstTick = -1

  /** `tick` increases from call to call; NaN is no sample. Ticks that are left out have none. */
  add(tick: number, value: number): void {
    const index = Math.floor(tick / chunkTicks)
    const at = tick % chunkTicks
    if (this.firstTick === -1 && !Number.isNaN(value)) this.firstTick = tick
    if (index !== this.#openIndex) {
      this.#seal()
      this.#openIndex = index
      this.#points = undefined
      this.#constant = value
      this.#from = at
      this.#to = at
    } else if (this.#points !== undefined) {
      this.#points[at] = value
    } else if (at === this.#to + 1 && Object.is(this.#constant, value)) {
      this.#to = at
    } else {
      this.#points = this.#unfolded()
      this.#points[at] = value
    }
  }

  /** So many ticks from one on; NaN where there is no sample. */
  read(firstTick: number, count: number): Float64Array {
    const points = new Float64Array(count).fill(Number.NaN)
    const copy = (index: number, from: number, to: number, pointAt: (at: number) => number) => {
      const chunkTick = index * chunkTicks
      const begin = Math.max(chunkTick + from, firstTick)
      const end = Math.min(chunkTick + to, firstTick + count - 1)
      for (let tick = begin; tick <= end; tick++) points[tick - firstTick] = pointAt(tick - chunkTick)
    }
    for (const { index, points: sealed } of this.#sealed) copy(index, 0, chunkTicks - 1, reader(sealed))
    const open = this.#points
    if (open !== undefined) copy(this.#openIndex, 0, chunkTicks - 1, at => open[at])
    else copy(this.#openIndex, this.#from, this.#to, () => this.#constant)
    return points
  }

  /** Drops the chunks before this one. */
  drop(firstIndex: number): void {
    if ((this.#sealed[0]?.index ?? firstIndex) < firstIndex) {
      this.#sealed = this.#sealed.filter(({ index }) => index >= firstIndex)
    }
  }

  /** Whether any tick from this one on may have a sample. */
  reaches(tick: number): boolean {
    const index = Math.floor(tick / chunkTicks)
    if (this.#openIndex >= index && !(this.#points === undefined && Number.isNaN(this.#constant))) return true
    return this.#sealed.some(chunk => chunk.index >= index && !Number.isNaN(chunk.points))
  }

  get bytes(): number {
    let sum = chunkBytes + (this.#points?.byteLength ?? 0)
    for (const { points } of this.#sealed) {
      if (typeof points === 'number') sum += chunkBytes / 4
      else sum += chunkBytes + (points instanceof Float64Array ? points : points.offsets).byteLength
    }
    return sum
  }

  #seal(): void {
    if (this.#openIndex === -1) return
    const index = this.#openIndex
    if (this.#points !== undefined) this.#sealed.push({ index, points: pack(this.#points) })
    else if (!Number.isNaN(this.#constant)) {
      const isWhole = this.#from === 0 && this.#to === chunkTicks - 1
      this.#sealed.push({ index, points: isWhole ? this.#constant : pack(this.#unfolded()) })
    }
  }

  #unfolded(): Float64Array {
    return new Float64Array(chunkTicks).fill(Number.NaN).fill(this.#constant, this.#from, this.#to + 1)
  }
}

function reader(points: Chunk['points']): (at: number) => number {
  if (typeof points === 'number') return () => points
  if (points instanceof Float64Array) return at => points[at]
  const { least, offsets } = points
  const none = noSample(offsets)
  return at => (offsets[at] === none ? Number.NaN : least + offsets[at])
}

const noSample = (offsets: Packed['offsets']): number => 2 ** (8 * offsets.BYTES_PER_ELEMENT) - 1

function pack(points: Float64Array): Packed | Float64Array {
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (const point of points) {
    if (Number.isNaN(point)) continue
    if (!Number.isSafeInteger(point)) return points
    if (point < least) least = point
    if (point > most) most = point
  }
  const span = most - least
  const make = span < 0xff ? Uint8Array : span < 0xffff ? Uint16Array : span < 0xffffffff ? Uint32Array : undefined
  if (make === undefined) return points
  const offsets = new make(points.length)
  const none = noSample(offsets)
  for (let i = 0; i < points.length; i++) offsets[i] = Number.isNaN(points[i]) ? none : points[i] - least
  return { least, offsets }
}
