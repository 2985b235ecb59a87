/**
 * One object into a file.
 *
 * 1. The file gets its name when every byte is there and has been compared with the server's checksum; and, where that is asked
 *    for, when it is on the drive.
 * 2. A large object is read in ranges, several at a time, all of the same content (If-Match). Written ranges are
 *    recorded together with the boot time of the machine: ranges written before another boot may be lost, and are read again.
 * 3. Ranges of an earlier run are read again from the drive and count in the checksum like the others.
 */
import { readFileSync } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { combineChecksums, computeChecksum, createChecksum } from '../checksums/checksums.ts'
import { failure } from '../errors.ts'
import type { S3Client } from '../s3/client.ts'
import { headObject, type ObjectFacts, type ObjectName } from '../s3/object.ts'
import { readObject } from '../s3/read-object.ts'
import type { Budget } from './budget.ts'
import { type Expected, expectedDigest, requireDigest } from './digest.ts'
import { writeAll, writeWhole } from './local-file.ts'
import type { StateFile, TransferStates } from './transfer-state.ts'
import { workThrough } from './work.ts'

const MIB = 1 << 20
/** Larger ones come in ranges. */
export const wholeBytesMax = 16 * MIB
const rangeBytesMin = 16 * MIB
const rangeCountMax = 4000
/** So much is gathered before it is written: a write of the kernel per chunk of the socket would cost more than the chunk. */
const writeBytes = MIB
const noteIntervalMs = 1000

export interface DownloadOptions {
  readonly client: S3Client
  readonly name: ObjectName
  /** Known from a listing. Undefined: asked for. */
  readonly sizeBytes: number | undefined
  readonly path: string
  readonly budget: Budget
  readonly states: TransferStates
  /** Ranges under way at a time. */
  readonly concurrency: number
  /** The file is on the drive when it gets its name. Otherwise that is up to the operating system, as with other copying programs. */
  readonly isDurable: boolean
  /** The file's time, from the facts about the object. Undefined: the time of the download. */
  modifiedOf(facts: ObjectFacts): number | undefined
  onProgress(byteCount: number): void
}

export interface Downloaded {
  readonly sizeBytes: number
  readonly etag: string
  readonly versionId: string | undefined
  readonly resumedBytes: number
  /** The digest it was compared by; undefined: only its length was. */
  readonly verifiedBy: string | undefined
}

interface DownloadState {
  readonly rangeBytes: number
  /** Indexes of ranges that have been written. */
  readonly done: readonly number[]
  /** Since which start of the machine; undefined: they are on the drive. */
  readonly boot?: string
}

export async function downloadObject(options: DownloadOptions): Promise<Downloaded> {
  if (options.sizeBytes !== undefined && options.sizeBytes <= wholeBytesMax) {
    const small = await downloadWhole(options, options.sizeBytes)
    if (small !== undefined) return small
  }
  const facts = await headObject(options.client, options.name)
  if (facts.sizeBytes <= wholeBytesMax) {
    const small = await downloadWhole(options, facts.sizeBytes)
    if (small !== undefined) return small
    throw changed(options)
  }
  return downloadRanges(options, facts)
}

const changed = ({ name }: DownloadOptions) =>
  failure('source_changed', `${name.bucket}/${name.key} changed while it was read; nothing was written.`)

/** Undefined: it is larger by now. */
async function downloadWhole(options: DownloadOptions, sizeBytes: number): Promise<Downloaded | undefined> {
  const { client, name, budget } = options
  const lease = await budget.acquire(sizeBytes)
  try {
    let facts: ObjectFacts | undefined
    let content = lease.buffer
    let filled = 0
    const tooLarge = new Error('larger than it was')
    try {
      await readObject(client, {
        name,
        start(found) {
          facts = found
          if (found.sizeBytes > wholeBytesMax) throw tooLarge
          if (found.sizeBytes !== content.length) content = Buffer.allocUnsafe(found.sizeBytes)
        },
        room: () => (filled === 0 ? content : content.subarray(filled)),
        filled(byteCount) {
          filled += byteCount
          options.onProgress(byteCount)
        },
      })
    } catch (error) {
      if (error === tooLarge) return undefined
      throw error
    }
    const found = facts!
    if (filled !== found.sizeBytes) throw changed(options)
    const expected = await expectedDigest(found)
    if (expected !== undefined) {
      requireDigest(expected, computeChecksum(expected.algorithm, content), `${name.bucket}/${name.key}`)
    }
    await writeWhole(options.path, content, options.modifiedOf(found), options.isDurable)
    return {
      sizeBytes: filled,
      etag: found.etag,
      versionId: found.versionId,
      resumedBytes: 0,
      verifiedBy: expected?.algorithm,
    }
  } finally {
    lease.release()
  }
}

async function downloadRanges(options: DownloadOptions, facts: ObjectFacts): Promise<Downloaded> {
  const { client, name, path } = options
  const state = options.states.open<DownloadState>('downloads', [
    client.endpoint,
    name.bucket,
    name.key,
    facts.versionId ?? null,
    facts.etag,
    facts.sizeBytes,
    facts.modifiedMs,
    path,
  ])
  const partial = join(dirname(path), `.svcctl-${state.id}.part`)
  const expected = await expectedDigest(facts)
  const download = new RangedDownload(options, facts, state, expected)
  await download.open(partial)
  try {
    await download.run()
    const modifiedMs = options.modifiedOf(facts)
    if (modifiedMs !== undefined) await download.file.utimes(modifiedMs / 1000, modifiedMs / 1000)
  } catch (error) {
    await download.close()
    // A mismatch would occur again.
    if ((error as { code?: unknown }).code === 'checksum_mismatch') {
      await rm(partial, { force: true })
      await state.remove()
    }
    throw error
  }
  await download.close()
  await rename(partial, path)
  await state.remove()
  return {
    sizeBytes: facts.sizeBytes,
    etag: facts.etag,
    versionId: facts.versionId,
    resumedBytes: download.resumedBytes,
    verifiedBy: expected?.algorithm,
  }
}

/** Changes when the machine starts. Undefined where nothing tells. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return undefined // Only Linux has it; elsewhere the file is synced instead.
  }
}

class RangedDownload {
  readonly #options: DownloadOptions
  readonly #facts: ObjectFacts
  readonly #state: StateFile<DownloadState>
  readonly #expected: Expected | undefined
  readonly #abort = new AbortController()
  #rangeBytes: number
  /** Digests by range, if they can be combined. */
  readonly #digests: (Buffer | undefined)[] = []
  readonly #done: number[] = []
  #notedMs = performance.now()
  #noting: Promise<void> | undefined
  file!: FileHandle
  resumedBytes = 0

  constructor(
    options: DownloadOptions,
    facts: ObjectFacts,
    state: StateFile<DownloadState>,
    expected: Expected | undefined,
  ) {
    this.#options = options
    this.#facts = facts
    this.#state = state
    this.#expected = expected
    this.#rangeBytes = Math.max(rangeBytesMin, Math.ceil(facts.sizeBytes / rangeCountMax / MIB) * MIB)
  }

  /** Resumes the partial file, if it and its state exist. */
  async open(partial: string): Promise<void> {
    const known = await this.#state.load()
    const found = await stat(partial).catch(() => undefined) // There is none.
    const isThere = known !== undefined && (known.boot === undefined || known.boot === bootId())
    if (isThere && found?.size === this.#facts.sizeBytes) {
      this.#rangeBytes = known.rangeBytes
      this.#done.push(...known.done)
      this.file = await open(partial, 'r+')
      return
    }
    await rm(partial, { force: true })
    this.file = await open(partial, 'wx+')
    await this.file.truncate(this.#facts.sizeBytes)
  }

  async run(): Promise<void> {
    const { concurrency } = this.#options
    const there = new Set(this.#done)
    const count = Math.ceil(this.#facts.sizeBytes / this.#rangeBytes)
    try {
      await workThrough(Array(count).keys(), concurrency, async index => {
        if (there.has(index)) await this.#readBack(index)
        else await this.#fetch(index)
      })
    } catch (error) {
      this.#abort.abort()
      await this.#note().catch(() => undefined) // The first error is the one to tell.
      throw error
    }
    await this.#noting
    await this.#verify(count)
    if (this.#options.isDurable) await this.file.datasync()
  }

  async close(): Promise<void> {
    await this.#noting?.catch(() => undefined) // The waiting caller has reported it.
    await this.file.close()
  }

  #bounds(index: number) {
    const start = index * this.#rangeBytes
    return { start, end: Math.min(start + this.#rangeBytes, this.#facts.sizeBytes) - 1 }
  }

  #createDigest() {
    return this.#expected?.combines ? createChecksum(this.#expected.algorithm) : undefined
  }

  async #fetch(index: number): Promise<void> {
    const { client, name, budget, onProgress } = this.#options
    const range = this.#bounds(index)
    const digest = this.#createDigest()
    const lease = await budget.acquire(Math.min(writeBytes, range.end - range.start + 1))
    const { buffer } = lease
    let position = range.start
    let filled = 0
    const flush = async () => {
      await writeAll(this.file, buffer.subarray(0, filled), position)
      position += filled
      filled = 0
    }
    try {
      await readObject(client, {
        name,
        range,
        etag: this.#facts.etag,
        signal: this.#abort.signal,
        room: () => (filled === 0 ? buffer : buffer.subarray(filled)),
        filled(byteCount) {
          digest?.update(buffer.subarray(filled, filled + byteCount))
          onProgress(byteCount)
          filled += byteCount
          return filled === buffer.length ? flush() : undefined
        },
      })
      if (filled > 0) await flush()
    } finally {
      lease.release()
    }
    this.#digests[index] = digest?.digest()
    this.#done.push(index)
    this.#noteSometimes()
  }

  async #readBack(index: number): Promise<void> {
    const { start, end } = this.#bounds(index)
    const digest = this.#createDigest()
    if (digest !== undefined) await this.#readFile(start, end + 1, bytes => digest.update(bytes))
    this.#digests[index] = digest?.digest()
    this.resumedBytes += end + 1 - start
    this.#options.onProgress(end + 1 - start)
  }

  async #readFile(start: number, end: number, take: (bytes: Buffer) => void): Promise<void> {
    const lease = await this.#options.budget.acquire(Math.min(writeBytes, end - start))
    try {
      for (let at = start; at < end; ) {
        const { bytesRead } = await this.file.read(lease.buffer, 0, Math.min(lease.buffer.length, end - at), at)
        if (bytesRead === 0) throw failure('partial_file', 'The unfinished file became shorter while it was written.')
        take(lease.buffer.subarray(0, bytesRead))
        at += bytesRead
      }
    } finally {
      lease.release()
    }
  }

  async #verify(count: number): Promise<void> {
    const expected = this.#expected
    if (expected === undefined) return
    const { sizeBytes } = this.#facts
    let whole: Buffer
    if (expected.combines) {
      whole = this.#digests[0]!
      for (let index = 1; index < count; index++) {
        const { start, end } = this.#bounds(index)
        whole = combineChecksums(expected.algorithm, whole, this.#digests[index]!, end + 1 - start)
      }
    } else {
      const digest = createChecksum(expected.algorithm)
      await this.#readFile(0, sizeBytes, bytes => digest.update(bytes))
      whole = digest.digest()
    }
    const { bucket, key } = this.#options.name
    requireDigest(expected, whole, `${bucket}/${key}`)
  }

  #noteSometimes(): void {
    if (this.#noting !== undefined || performance.now() - this.#notedMs < noteIntervalMs) return
    this.#noting = this.#note().finally(() => {
      this.#noting = undefined
      this.#notedMs = performance.now()
    })
    this.#noting.catch(() => undefined) // `run` waits for it, or for the next.
  }

  async #note(): Promise<void> {
    const done = [...this.#done]
    const boot = bootId()
    if (boot === undefined) await this.file.datasync()
    await this.#state.save({ rangeBytes: this.#rangeBytes, done, boot })
  }
}
