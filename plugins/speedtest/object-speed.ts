/**
 * How fast objects are stored and read by the threads that serve requests, without network, signatures and checksums of clients. Each
 * of the `concurrency` lanes writes one object again and again, then reads it again and again.
 */
import type { Random } from 'svc/kernel'
import type { Body, ObjectsService } from 'svc/plugins/objects/api'
import type { ObjectSpeed, Quantiles } from './api.ts'

export interface LanesWanted {
  readonly phase: 'put' | 'get'
  readonly bucket: string
  readonly sizeBytes: number
  readonly seconds: number
  readonly firstLane: number
  readonly laneCount: number
}

/** The results of one thread. The samples at one index belong together. */
export interface LanesOutcome {
  readonly latencyMs: Float64Array
  readonly ttfbMs: Float64Array
  readonly byteCount: number
  readonly errorCount: number
  /** The first message, or empty. */
  readonly error: string
  readonly tookMs: number
}

const chunkBytes = 1024 * 1024
/** A lane that fails at once must not turn a thread. */
const errorsMax = 10
/** 16 bytes each: enough for 60 s of small objects; later ones only count in the rate of bytes. */
const samplesMax = 2_000_000

export const laneKey = (lane: number): string => `lane-${lane}`

export async function runLanes(objects: ObjectsService, random: Random, wanted: LanesWanted): Promise<LanesOutcome> {
  const { phase, bucket, sizeBytes, seconds, firstLane, laneCount } = wanted
  const chunk = random.bytes(Math.min(chunkBytes, sizeBytes))
  const body: Body = {
    sizeBytes,
    async consume(sink) {
      for (let left = sizeBytes; left > 0; left -= chunk.length) await sink(chunk.subarray(0, left))
    },
    expectedDigests: () => ({ md5: undefined, checksum: undefined }),
  }
  const latencies: number[] = []
  const firsts: number[] = []
  let byteCount = 0
  let errorCount = 0
  let firstError = ''
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000

  async function put(key: string): Promise<void> {
    const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
    await objects.putObject({ bucket, key, attributes, body, checksumAlgorithm: undefined })
  }

  /** Resolves with the time of the first byte. */
  async function get(key: string): Promise<number> {
    const version = await objects.getObject(bucket, key)
    const data = await objects.read(version, 0, version.sizeBytes)
    if (data.kind === 'whole') return performance.now()
    let firstMs: number | undefined
    try {
      for (let part = await data.next(); part !== undefined; part = await data.next()) {
        firstMs ??= performance.now()
        part.release()
      }
    } finally {
      data.close()
    }
    return firstMs ?? performance.now()
  }

  async function runLane(key: string): Promise<void> {
    let failures = 0
    do {
      const beganMs = performance.now()
      try {
        const firstMs = phase === 'put' ? await put(key) : await get(key)
        byteCount += sizeBytes
        if (latencies.length >= samplesMax) continue
        latencies.push(performance.now() - beganMs)
        if (firstMs !== undefined) firsts.push(firstMs - beganMs)
      } catch (error) {
        errorCount++
        failures++
        if (firstError === '') firstError = (error as Error).message
      }
    } while (performance.now() < endMs && failures < errorsMax)
  }
  await Promise.all(Array.from({ length: laneCount }, (_, index) => runLane(laneKey(firstLane + index))))
  return {
    latencyMs: Float64Array.from(latencies),
    ttfbMs: Float64Array.from(firsts),
    byteCount,
    errorCount,
    error: firstError,
    tookMs: performance.now() - startMs,
  }
}

/** Combines the outcomes of all threads, which worked at the same time. */
export function describeSpeed(sizeBytes: number, outcomes: readonly LanesOutcome[]): ObjectSpeed {
  const seconds = Math.max(...outcomes.map(({ tookMs }) => tookMs)) / 1000
  const byteCount = outcomes.reduce((sum, outcome) => sum + outcome.byteCount, 0)
  const ttfb = join(outcomes.map(({ ttfbMs }) => ttfbMs))
  return {
    bytesPerSecond: Math.round(byteCount / seconds),
    objectsPerSecond: rounded(byteCount / sizeBytes / seconds),
    latencyMs: quantiles(join(outcomes.map(({ latencyMs }) => latencyMs))),
    ...(ttfb.length > 0 && { ttfbMs: quantiles(ttfb) }),
    errors: outcomes.reduce((sum, { errorCount }) => sum + errorCount, 0),
  }
}

function join(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Percentiles by nearest rank; zeros if there is no sample. Sorts its argument. */
export function quantiles(samples: Float64Array): Quantiles {
  samples.sort()
  const at = (share: number) => rounded(samples[Math.max(Math.ceil(share * samples.length) - 1, 0)] ?? 0)
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000
