/**
 * What the machine can do without a server: the latency of a durable 4 KiB write, the rate of sequential writes, and the
 * rate of MD5 on one core. All of them run in the bench's own process, while no load runs.
 */
import { createHash, randomFillSync } from 'node:crypto'
import { closeSync, constants, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { percentile } from './statistics.ts'

const BLOCK_SIZE_BYTES = 4096
const FILE_BLOCK_COUNT = 2048
const MIB = 2 ** 20

/** Node.js has it; the type declarations that the project uses do not. */
declare const WebAssembly: { readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer } }

export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

/**
 * Latency of write + fdatasync of 4 KiB into a file that has its size and its blocks already: the least that the drive needs
 * for anything durable. Ends after `countMax` writes or `timeMsMax`.
 */
export function measureDurableWrite(folder: string, countMax: number, timeMsMax: number): Latency {
  const path = join(folder, 'raw-latency')
  const file = openSync(path, 'w')
  try {
    const block = randomFillSync(Buffer.alloc(BLOCK_SIZE_BYTES))
    for (let index = 0; index < FILE_BLOCK_COUNT; index++)
      writeSync(file, block, 0, block.length, index * BLOCK_SIZE_BYTES)
    fdatasyncSync(file)
    const samples: number[] = []
    const deadline = performance.now() + timeMsMax
    for (let count = 0; count < countMax; count++) {
      const started = performance.now()
      if (started > deadline) break
      writeSync(file, block, 0, block.length, (count % FILE_BLOCK_COUNT) * BLOCK_SIZE_BYTES)
      fdatasyncSync(file)
      samples.push(performance.now() - started)
    }
    samples.sort((a, b) => a - b)
    return { p50Ms: percentile(samples, 0.5), p99Ms: percentile(samples, 0.99) }
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

/** Rate of writing `sizeBytes` in one file and making it durable, in MB/s (10⁶). Past the page cache where possible. */
export function measureSequentialWrite(folder: string, sizeBytes: number): number {
  const path = join(folder, 'raw-sequential')
  const chunk = alignedBlock(MIB)
  let file: number
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_DIRECT)
  } catch {
    file = openSync(path, 'w') // a file system without O_DIRECT: the page cache is part of the path then
  }
  try {
    const started = performance.now()
    for (let position = 0; position < sizeBytes; position += chunk.length)
      writeSync(file, chunk, 0, chunk.length, position)
    fdatasyncSync(file)
    return sizeBytes / 1e3 / (performance.now() - started)
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

export interface HashRate {
  /** By the clock, in MB/s (10⁶). */
  readonly rate: number
  /** CPU seconds for a GiB: what is left of the rate when others use the core too. */
  readonly cpuSecondsPerGib: number
}

/** MD5 (OpenSSL, as `node:crypto` has it) on one core. */
export function measureMd5(timeMs: number): HashRate {
  const chunk = randomFillSync(Buffer.alloc(MIB))
  const hash = createHash('md5')
  const cpuBefore = process.cpuUsage()
  const started = performance.now()
  let bytes = 0
  do {
    hash.update(chunk)
    bytes += chunk.length
  } while (performance.now() - started < timeMs)
  hash.digest()
  const rate = bytes / 1e3 / (performance.now() - started)
  const cpu = process.cpuUsage(cpuBefore)
  return { rate, cpuSecondsPerGib: ((cpu.user + cpu.system) / 1e6 / bytes) * 2 ** 30 }
}

/** Page-aligned memory: WebAssembly memories start on a page. */
export function alignedBlock(sizeBytes: number): Buffer {
  const memory = new WebAssembly.Memory({ initial: sizeBytes / 65_536 })
  return randomFillSync(Buffer.from(memory.buffer))
}
