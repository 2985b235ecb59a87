/**
 * Bytes of objects that are larger than an entry, in aligned blocks. A block belongs to an identity and never changes, so it is never purged:
 * it is only evicted.
 *
 * Bytes of two versions never meet: a reader that needs the origin opens it once, for the rest of its range, after the identity was
 * compared, and the open stream keeps those bytes readable.
 */
import { chain } from 'svc/kernel'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { BlobChunk } from 'svc/plugins/storage/api'
import type { CachedObject, OpenedObject, OriginObject } from '../api.ts'
import type { Quota } from '../policy/policy.ts'
import { ReplacedObject } from '../replaced-object.ts'
import type { Tiers } from '../tiers/tiers.ts'
import type { Unfinished } from './body.ts'
import type { Collapsing } from './collapsing.ts'
import { blockId, type Memory } from './memory.ts'
import type { StoredRecord } from './variant.ts'

export interface BlockContext {
  readonly memory: Memory
  readonly tiers: Tiers
  readonly collapsing: Collapsing
  /** When its limit is reached, bytes pass through and are not kept. */
  readonly unfinished: Unfinished
}

export interface ObjectSource {
  readonly identity: string
  readonly sizeBytes: number
  readonly blockSize: number
  readonly quota: Quota | undefined
  /** The record of the entry. Undefined: its blocks are not written to tiers. */
  readonly kept: StoredRecord | undefined
  /** The object as the origin has it now; undefined if that has another identity. */
  reopen(): Promise<OriginObject | undefined>
}

/** `object`: the origin's object, if it was read for this request. */
export function objectBody(context: BlockContext, source: ObjectSource, object?: OriginObject): CachedObject {
  const { identity, sizeBytes, blockSize } = source
  const { memory, tiers } = context
  const idOf = (block: number) => blockId('block', identity, blockSize, block)
  return {
    sizeBytes,
    open(start, length) {
      if (length === 0) return inMemory(Buffer.alloc(0))
      const first = Math.floor(start / blockSize)
      const last = Math.floor((start + length - 1) / blockSize)
      if (first === last) {
        const bytes = memory.block(idOf(first))
        const from = first * blockSize
        if (bytes !== undefined) return inMemory(bytes.subarray(start - from, start - from + length))
      }
      const missing: string[] = []
      for (let block = first; block <= last; block++) {
        const id = idOf(block)
        if (!memory.hasBlock(id)) missing.push(id)
      }
      const dataOf = (opened: OriginObject | undefined) =>
        readBlocks(context, source, idOf, { start, end: start + length }, opened)
      if (missing.length === 0) return { data: dataOf(object), isCached: true, source: 'memory' }
      return chain(object ?? source.reopen(), opened => {
        if (opened === undefined) return undefined
        return chain(tiers.isEmpty ? undefined : tiers.tierOfAll(missing), tier => ({
          data: dataOf(opened),
          isCached: tier !== undefined,
          source: tier ?? 'origin',
        }))
      })
    },
  }
}

const inMemory = (bytes: Buffer): OpenedObject => ({
  data: { kind: 'whole', bytes },
  isCached: true,
  source: 'memory',
})

/** Most bytes of a chunk, as drives return them. */
const chunkBytesMax = 1024 * 1024

interface Span {
  readonly start: number
  /** The position behind the last byte. */
  readonly end: number
}

function readBlocks(
  context: BlockContext,
  source: ObjectSource,
  idOf: (block: number) => string,
  { start, end }: Span,
  object: OriginObject | undefined,
): ObjectData {
  const { blockSize } = source
  const kept = createKeptBlocks(context, source, idOf)
  let position = start
  /** Used only for the first bytes: later the object may have been replaced. */
  let opened = object
  let filling: Filling | undefined
  let isClosed = false

  async function openOrigin(): Promise<Filling> {
    const object = opened ?? (await source.reopen())
    if (object === undefined) throw new ReplacedObject()
    // Reads whole blocks: from the beginning of the current one to the end of the last one.
    const from = Math.floor(position / blockSize) * blockSize
    const to = Math.min(Math.ceil(end / blockSize) * blockSize, source.sizeBytes)
    return createFilling(await object.read(from, to - from), { from, to }, context, source, idOf)
  }

  return {
    kind: 'stream',
    async next() {
      if (isClosed || position >= end) return undefined
      if (filling === undefined) {
        const block = Math.floor(position / blockSize)
        const from = block * blockSize
        const bytes = await kept.read(block, Math.min(blockSize, source.sizeBytes - from))
        if (isClosed) return undefined
        if (bytes !== undefined) {
          opened = undefined
          const part = bytes.subarray(position - from, Math.min(end - from, blockSize, position - from + chunkBytesMax))
          position += part.length
          return { bytes: part, release: kept.reader() }
        }
        kept.close()
        filling = await openOrigin()
        if (isClosed) filling.close()
      }
      const chunk = await filling.next(position, end)
      if (chunk !== undefined) position += chunk.bytes.length
      return chunk
    },
    close() {
      if (isClosed) return
      isClosed = true
      kept.close()
      if (position >= end) void filling?.finish()
      else filling?.close()
    },
  }
}

interface KeptBlocks {
  /** The whole block, if memory or a tier has it. A block of a tier is held, and counts as unfinished, until another block is read. */
  read(block: number, length: number): Promise<Buffer | undefined>
  /** Keeps the block that was read last for another reader, until that reader calls the returned function, once. */
  reader(): () => void
  close(): void
}

/** A block of a tier. Its memory is released when it is no longer held and nobody reads it. */
class HeldBlock {
  readonly block: number
  readonly bytes: Buffer
  readonly #release: () => void
  #uses = 1

  constructor(block: number, bytes: Buffer, release: () => void) {
    this.block = block
    this.bytes = bytes
    this.#release = release
  }

  use(): () => void {
    this.#uses++
    return () => this.letGo()
  }

  letGo(): void {
    if (--this.#uses === 0) this.#release()
  }
}

const nothing = (): void => undefined

function createKeptBlocks(
  { memory, tiers, collapsing, unfinished }: BlockContext,
  { quota }: ObjectSource,
  idOf: (block: number) => string,
): KeptBlocks {
  let held: HeldBlock | undefined
  let isClosed = false

  function letGo(): void {
    if (held === undefined) return
    unfinished.bytes -= held.bytes.length
    held.letGo()
    held = undefined
  }

  async function readTiers(id: string, block: number, length: number): Promise<Buffer | undefined> {
    if (tiers.isEmpty || unfinished.bytes + length > unfinished.bytesMax) return undefined
    unfinished.bytes += length
    const found = await tiers.block(id)
    // A block of another length does not belong to this object.
    if (found?.value.length !== length || isClosed) {
      unfinished.bytes -= length
      found?.release?.()
      return undefined
    }
    const { value, release } = found
    memory.putBlock(id, value, quota, release !== undefined)
    held = new HeldBlock(block, value, release ?? nothing)
    return found.value
  }

  return {
    async read(block, length) {
      if (held?.block === block) return held.bytes
      letGo()
      const id = idOf(block)
      const bytes = memory.block(id)
      if (bytes !== undefined) return bytes
      const running = collapsing.running(id)
      if (running !== undefined) await collapsing.wait(running)
      return (running && memory.block(id)) ?? readTiers(id, block, length)
    },
    reader: () => held?.use() ?? nothing,
    close() {
      isClosed = true
      letGo()
    },
  }
}

interface Filling {
  /** The next chunk, without the bytes before `position` and from `end` on. */
  next(position: number, end: number): Promise<BlobChunk | undefined>
  /** Reads the rest of the current block, and closes. */
  finish(): Promise<void>
  close(): void
}

/** Passes on the bytes of the origin, and stores whole blocks of them. */
function createFilling(
  data: ObjectData,
  { from, to }: { readonly from: number; readonly to: number },
  { memory, tiers, collapsing, unfinished }: BlockContext,
  { blockSize, kept, quota }: ObjectSource,
  idOf: (block: number) => string,
): Filling {
  let at = from
  /** The block that is being read, if it is kept. */
  let block: { readonly id: string; readonly bytes: Buffer; readonly end: (value?: undefined) => void } | undefined
  let isUnread = data.kind === 'whole'
  let isClosed = false

  function begin(): void {
    const id = idOf(at / blockSize)
    const length = Math.min(blockSize, to - at)
    if (memory.hasBlock(id) || collapsing.running(id) !== undefined) return
    if (unfinished.bytes + length > unfinished.bytesMax) return
    unfinished.bytes += length
    const { promise, resolve } = Promise.withResolvers<undefined>()
    collapsing.run(id, promise)
    block = { id, bytes: Buffer.allocUnsafeSlow(length), end: resolve }
  }

  function leave(isWhole: boolean): void {
    if (block === undefined) return
    unfinished.bytes -= block.bytes.length
    if (isWhole) {
      memory.putBlock(block.id, block.bytes, quota)
      if (kept !== undefined) tiers.putBlock(block.id, block.bytes, kept)
    }
    block.end()
    block = undefined
  }

  /** Copies bytes into blocks, and stores each block that is complete. */
  function keep(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      const within = at % blockSize
      if (within === 0) begin()
      const length = Math.min(blockSize - within, to - at, rest.length)
      // The memory of a chunk is reused after its release, so the bytes are copied.
      if (block !== undefined) rest.copy(block.bytes, within, 0, length)
      at += length
      rest = rest.subarray(length)
      if (at % blockSize === 0 || at === to) leave(true)
    }
  }

  async function read(): Promise<BlobChunk | undefined> {
    if (data.kind === 'stream') return data.next()
    if (!isUnread) return undefined
    isUnread = false
    return { bytes: data.bytes, release() {} }
  }

  function close(): void {
    isClosed = true
    leave(false)
    if (data.kind === 'stream') data.close()
  }

  return {
    async next(position, end) {
      for (;;) {
        const chunkStart = at
        const chunk = await read()
        if (chunk === undefined) return undefined
        // A block begun now would never be whole: its memory would count for ever, and readers would wait for it.
        if (isClosed) {
          chunk.release()
          return undefined
        }
        keep(chunk.bytes)
        const wanted = chunk.bytes.subarray(Math.max(0, position - chunkStart), Math.max(0, end - chunkStart))
        if (wanted.length > 0) return { bytes: wanted, release: () => chunk.release() }
        chunk.release()
      }
    },
    async finish() {
      try {
        while (at < to && block !== undefined) {
          const chunk = await read()
          if (chunk === undefined) break
          keep(chunk.bytes)
          chunk.release()
        }
      } catch {
        // The reader has all of its bytes; only the block is not stored.
      } finally {
        close()
      }
    },
    close,
  }
}
