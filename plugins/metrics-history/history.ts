/**
 * The last 24 hours of every family, a point per 10 seconds, in memory alone. Bounded three times: by points, by series, and by bytes:
 * if series change so much that they do not fit, the oldest chunks of all series are dropped first; `bufferStart` is the start of the rest.
 */
import type { FamilySamples, Sample } from 'svc/plugins/metrics/api'
import { Column, chunkTicks } from './column.ts'

export const tickSeconds = 10
export const historyTicks = 8640
/** Further series are not kept. A histogram counts as many as it has buckets. */
const columnsMax = 20_000
const bytesMax = 64 * 1024 * 1024
/** How often the bytes are counted. */
const measureTicks = 30

export interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** Counters and gauges. */
  readonly value: Column | undefined
  /** Of histograms, by upper bound in ascending order, the last `Infinity`: numbers of observations up to it. */
  readonly buckets: ReadonlyMap<number, Column>
}

export interface HeldFamily {
  readonly name: string
  readonly type: FamilySamples['type']
  readonly help: string
  readonly labels: readonly string[]
  readonly series: ReadonlyMap<string, Series>
}

export interface History {
  /** By name. */
  readonly families: ReadonlyMap<string, HeldFamily>
  /** Of the oldest points; undefined before the first. */
  readonly firstTick: number | undefined
  readonly lastTick: number
  /** Of the first points of all, which may be gone; -1 before them. */
  readonly beganTick: number
  /** Ignores a tick that is not later than the last one. */
  add(tick: number, families: readonly FamilySamples[]): void
  readonly bytes: number
}

interface MutableSeries {
  readonly labels: Readonly<Record<string, string>>
  value: Column | undefined
  buckets: Map<number, Column>
}

type MutableFamily = Omit<HeldFamily, 'series'> & { readonly series: Map<string, MutableSeries> }

export interface HistoryLimits {
  readonly columnsMax?: number
  readonly bytesMax?: number
}

export function createHistory(limits: HistoryLimits = {}): History {
  const families = new Map<string, MutableFamily>()
  let columns = 0
  let firstTick: number | undefined
  let lastTick = -1
  let beganTick = -1
  let bytes = 0
  let measured = 0

  function columnFor(make: () => Column | undefined, keep: (column: Column) => void): Column | undefined {
    const known = make()
    if (known !== undefined) return known
    if (columns >= (limits.columnsMax ?? columnsMax)) return undefined
    columns++
    const column = new Column()
    keep(column)
    return column
  }

  function addSample(tick: number, family: MutableFamily, { labels, value, metricName }: Sample): void {
    const { le, ...own } = labels
    if (family.type === 'histogram' && !metricName?.endsWith('_bucket')) return
    const key = Object.keys(own).length === 0 ? '' : JSON.stringify(family.labels.map(name => own[name] ?? ''))
    let series = family.series.get(key)
    if (series === undefined) {
      const texts = Object.fromEntries(Object.entries(own).map(([name, text]) => [name, String(text)]))
      series = { labels: texts, value: undefined, buckets: new Map() }
    }
    const known = series
    const column =
      family.type === 'histogram'
        ? columnFor(
            () => known.buckets.get(boundOf(le)),
            made => known.buckets.set(boundOf(le), made),
          )
        : columnFor(
            () => known.value,
            made => {
              known.value = made
            },
          )
    if (column === undefined) return
    family.series.set(key, series)
    column.add(tick, value)
  }

  /** Chunks that are too old go, and series without any point. */
  function drop(firstKept: number): void {
    const index = Math.floor(firstKept / chunkTicks)
    for (const family of families.values()) {
      for (const [key, { value, buckets }] of family.series) {
        const own = value === undefined ? [...buckets.values()] : [value]
        for (const column of own) column.drop(index)
        if (own.some(column => column.reaches(index * chunkTicks))) continue
        family.series.delete(key)
        columns -= own.length
      }
    }
    if (firstTick !== undefined) firstTick = Math.max(firstTick, index * chunkTicks)
  }

  function measure(): void {
    bytes = 0
    for (const { series } of families.values()) {
      for (const { value, buckets } of series.values()) {
        for (const column of value === undefined ? buckets.values() : [value]) bytes += column.bytes
      }
    }
  }

  return {
    families,
    get firstTick() {
      // Chunks go as a whole; points that are too old are not shown.
      return firstTick === undefined ? undefined : Math.max(firstTick, lastTick - historyTicks + 1)
    },
    get lastTick() {
      return lastTick
    },
    get beganTick() {
      return beganTick
    },
    get bytes() {
      return bytes
    },
    add(tick, samples) {
      if (tick <= lastTick) return
      const isNewChunk = Math.floor(tick / chunkTicks) !== Math.floor(lastTick / chunkTicks)
      lastTick = tick
      firstTick ??= tick
      if (beganTick === -1) beganTick = tick
      for (const { name, type, help, labels, samples: values } of samples) {
        let family = families.get(name)
        if (family === undefined) {
          family = { name, type, help, labels, series: new Map() }
          families.set(name, family)
        }
        for (const sample of values) addSample(tick, family, sample)
      }
      if (isNewChunk) drop(tick - historyTicks + 1)
      if (++measured % measureTicks !== 0) return
      measure()
      while (
        bytes > (limits.bytesMax ?? bytesMax) &&
        Math.floor(firstTick / chunkTicks) < Math.floor(tick / chunkTicks)
      ) {
        drop((Math.floor(firstTick / chunkTicks) + 1) * chunkTicks)
        measure()
      }
    },
  }
}

const boundOf = (le: string | number | undefined): number => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le))
