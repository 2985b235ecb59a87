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
import type { CachedObject, OriginObject } from '../api.ts'
import type { Unfinished } from './body.ts'
import type { Collapsing } from './collapsing.ts'
import { blockId, type Memory } from './memory.ts'

export interface BlockContext {
  readonly memory: Memory
  readonly collapsing: Collapsing
  /** Beyond its bound bytes pass through and are not kept. */
  readonly unfinished: Unfinished
}

export interface ObjectSource {
  readonly identity: string
  readonly sizeBytes: number
  readonly blockSize: number
  /** The object as the origin has it now; undefined where its identity is another. */
  reopen(): Promise<OriginObject | undefined>
}

/** `object`: as it was read for this request. */
export function objectBody(context: BlockContext, source: ObjectSource, object?: OriginObject): CachedObject {
  const { identity, sizeBytes, blockSize } = source
  const idOf = (block: number) => blockId('block', identity, blockSize, block)
  return {
    sizeBytes,
    open(start, length) {
      if (length === 0) return { data: { kind: 'whole', bytes: Buffer.alloc(0) }, isCached: true }
      const first = Math.floor(start / blockSize)
      const last = Math.floor((start + length - 1) / blockSize)
      if (first === last) {
        const bytes = context.memory.block(idOf(first))
        const from = first * blockSize
        if (bytes !== undefined)
          return { data: { kind: 'whole', bytes: bytes.subarray(start - from, start - from + length) }, isCached: true }
      }
      let isCached = true
      for (let block = first; block <= last && isCached; block++) isCached = context.memory.hasBlock(idOf(block))
      const opening = isCached || object !== undefined ? object : source.reopen()
      return chain(opening, opened =>
        !isCached && opened === undefined
          ? undefined
          : { data: readBlocks(context, source, idOf, { start, end: start + length }, opened), isCached },
      )
    },
  }
}

/** As drives hand out bytes: at most three are on their way to a client. */
const chunkBytesMax = 512 * 1024

interface Span {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

function readBlocks(
  context: BlockContext,
  source: ObjectSource,
  idOf: (block: number) => string,
  { start, end }: Span,
  opened: OriginObject | undefined,
): ObjectData {
  const { memory, collapsing } = context
  const { blockSize } = source
  let position = start
  let filling: Filling | undefined
  let isClosed = false

  async function openOrigin(): Promise<Filling> {
    const object = opened ?? (await source.reopen())
    if (object === undefined) throw new Error('The object was replaced while it was being sent.')
    // From the beginning of the block, so that it is whole, to the end of the last one.
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
        const id = idOf(block)
        let bytes = memory.block(id)
        const running = bytes === undefined ? collapsing.running(id) : undefined
        if (running !== undefined) {
          await collapsing.wait(running)
          bytes = memory.block(id)
        }
        if (bytes !== undefined) {
          const from = block * blockSize
          const part = bytes.subarray(position - from, Math.min(end - from, blockSize, position - from + chunkBytesMax))
          position += part.length
          return { bytes: part, release() {} }
        }
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
      if (position >= end) void filling?.finish()
      else filling?.close()
    },
  }
}

interface Filling {
  /** The next bytes from `position` on, and none from `end` on. */
  next(position: number, end: number): Promise<BlobChunk | undefined>
  /** Reads the block that was begun to its end, and closes. */
  finish(): Promise<void>
  close(): void
}

/** Passes bytes of the origin on, and keeps whole blocks of them. */
function createFilling(
  data: ObjectData,
  { from, to }: { readonly from: number; readonly to: number },
  { memory, collapsing, unfinished }: BlockContext,
  { blockSize }: ObjectSource,
  idOf: (block: number) => string,
): Filling {
  let at = from
  /** The block that is being read, if it is kept. */
  let block: { readonly id: string; readonly bytes: Buffer; readonly end: (value?: undefined) => void } | undefined
  let isUnread = data.kind === 'whole'

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
    if (isWhole) memory.putBlock(block.id, block.bytes)
    block.end()
    block = undefined
  }

  /** Cuts at the ends of blocks. */
  function keep(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      const within = at % blockSize
      if (within === 0) begin()
      const length = Math.min(blockSize - within, to - at, rest.length)
      // A chunk's memory is used again after its release.
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
    leave(false)
    if (data.kind === 'stream') data.close()
  }

  return {
    async next(position, end) {
      for (;;) {
        const chunkStart = at
        const chunk = await read()
        if (chunk === undefined) return undefined
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
        // The reader has all of its bytes; the rest of the block is only not kept.
      } finally {
        close()
      }
    },
    close,
  }
}
