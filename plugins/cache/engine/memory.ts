/**
 * The memory of a thread: entries by the id of their key, and blocks of bytes, within one budget. Answers of objects are packed (`packed.ts`), small
 * ones together in pages (`../memory/pages.ts`). Decoded views of recently used ones are kept.
 */
import { hash } from 'node:crypto'
import { Ghosts } from '../memory/ghosts.ts'
import { atOnceBytesMax, entryOverheadBytes } from '../memory/memory-tier.ts'
import { type Owners, Pages, pagedBytes, recordBytesMax } from '../memory/pages.ts'
import { Sieve, type SieveQueue } from '../memory/sieve.ts'
import type { Quota } from '../policy/policy.ts'
import { PackedVariant, pack } from './packed.ts'
import { type Entry, entryBytes, entryOf, isList, type Variant, variantsOf } from './variant.ts'

export interface Memory {
  /** The entry with this id. Counts as a use of it. */
  entry(id: string): Entry | undefined
  /** The entry with this id, without counting a use. */
  peek(id: string): Entry | undefined
  /** `quota`: the quota that counts the entry; undefined: that of the entry that it replaces. */
  put(id: string, entry: Entry, quota: Quota | undefined): boolean
  delete(id: string): void
  block(id: string): Buffer | undefined
  hasBlock(id: string): boolean
  /**
   * A block of more than 64 KiB that would evict others is kept only at its second attempt, if that comes soon. False: it is not kept. `bytes` are
   * copied if they share their memory with others, or if they are only lent.
   */
  putBlock(id: string, bytes: Buffer, quota: Quota | undefined, isLent?: boolean): boolean
  /** Sets the quotas that exist from now on. Entries that other quotas count are hardly looked up any more: each `put` deletes some of them. */
  keepQuotas(quotas: readonly Quota[]): void
  /** Number of queues of quotas, with those of former quotas that still have entries. */
  readonly queueCount: number
  /** Ids of entries and blocks, from the oldest on; `peek` tells which are entries. */
  ids(): MapIterator<string>
  readonly usage: { readonly entries: number; readonly bytes: number; readonly evictions: number }
  /** Bytes of all pages, which hold the small answers, full or not. */
  readonly pageBytes: number
  readonly budgetBytes: number
}

/** The id of a block, from parts that no other block has: 32 characters of one byte each. */
export const blockId = (...parts: readonly (string | number)[]): string => hash('sha256', parts.join('\n'), 'binary')

/** Memory of one view: its decoded objects, and its place among the recent views. */
const viewBytes = 1536
const viewsMax = 2048
/** Largest share of the budget for views. */
const viewsShare = 1 / 32

/** Entries of former quotas that are deleted with each `put`. */
const droppedAtOnce = 16

/** Memory of a packed answer beside its buffer: key and place, the object of the buffer, the overhead of the allocator. */
const packedOverheadBytes = 448
/** The same for an answer in a page, which has no buffer of its own. */
const pagedOverheadBytes = 144

/** Reused for each answer that goes into a page. */
const scratch = new ArrayBuffer(recordBytesMax)
const forPacking = (bytes: number) => (bytes <= recordBytesMax ? scratch : new ArrayBuffer(bytes))

/**
 * The entry with bodies in buffers of their own: an origin's body may share its memory with others, and one small body would keep a whole slab alive.
 */
const withOwnBodies = (entry: Entry): Entry => entryOf(variantsOf(entry).map(withOwnBody))

function withOwnBody(variant: Variant): Variant {
  const { body } = variant
  if (variant instanceof PackedVariant) return variant.own()
  if (body === undefined || body.length === body.buffer.byteLength) return variant
  return { ...variant, body: ownBytes(body) }
}

const ownBytes = (bytes: Buffer): Buffer => (bytes.length === bytes.buffer.byteLength ? bytes : copyOf(bytes))

function copyOf(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}

/** Id of the queue of a quota. The same quota within another one has a different queue. */
const queueId = ({ id, within }: Quota): string => `${within?.id ?? ''} ${id}`

/** A number is the location of a packed answer in the pages. */
type Stored = number | ArrayBuffer | Buffer | Entry

/** `share`: this thread's share of quotas, which are for all threads. */
export function createMemory(budgetBytes: number, share = 1): Memory {
  const viewCount = Math.min(viewsMax, Math.floor((budgetBytes * viewsShare) / viewBytes))
  const views = new Sieve<PackedVariant>({ budgetBytes: viewCount })
  const all = new Sieve<Stored>({
    budgetBytes: budgetBytes - viewCount * viewBytes,
    onEvict: id => void views.delete(id),
    onRemove: value => typeof value === 'number' && pages.remove(value),
  })
  const pages = new Pages()
  const owners: Owners = {
    isAt: (owner, location) => all.at(owner)?.value === location,
    moved(owner, location) {
      // A view of the old location would write to bytes that are no longer used.
      views.delete((all.at(owner) as { readonly key: string }).key)
      all.changeAt(owner, location)
    },
  }
  const ghosts = new Ghosts(budgetBytes)
  const queues = new Map<string, SieveQueue>()
  let dropped: readonly SieveQueue[] = []

  function queueOf(quota: Quota | undefined): SieveQueue | undefined {
    if (quota === undefined) return undefined
    const within = queueOf(quota.within)
    const id = queueId(quota)
    const limitBytes = Math.floor(quota.bytes * share)
    const known = queues.get(id)
    if (known === undefined) {
      const queue = all.queue(limitBytes, within)
      if (queue !== undefined) queues.set(id, queue)
      return queue ?? within
    }
    if (known.limitBytes !== limitBytes) {
      known.limitBytes = limitBytes
      all.settle(known)
    }
    return known
  }

  function dropSome(): void {
    if (dropped.length === 0) return
    let left = droppedAtOnce
    for (const queue of dropped) {
      for (; left > 0; left--) {
        const id = all.deleteOldest(queue)
        if (id === undefined) break
        views.delete(id)
      }
    }
    // Inner queues come behind the queues around them, so they are freed first.
    const freed = new Set([...dropped].reverse().filter(queue => all.free(queue)))
    if (freed.size > 0) dropped = dropped.filter(queue => !freed.has(queue))
  }

  const isPacked = (found: Stored | undefined): found is number | ArrayBuffer =>
    typeof found === 'number' || found instanceof ArrayBuffer

  function viewOf(found: number | ArrayBuffer): PackedVariant {
    if (typeof found !== 'number') return new PackedVariant(found)
    const { buffer, offset, length } = pages.get(found)
    return new PackedVariant(buffer, offset, length)
  }

  function putIntoPage(id: string, bytes: Buffer, queue: SieveQueue | undefined): boolean {
    const location = pages.add(bytes)
    const costBytes = pagedBytes(bytes.length) + pagedOverheadBytes
    const isKept = all.set(id, location, costBytes, queue)
    if (isKept) pages.own(location, all.placeOf(id) as number)
    else pages.remove(location)
    pages.tidy(owners, costBytes)
    return isKept
  }

  const blockOf = (found: Stored | undefined) => (Buffer.isBuffer(found) ? found : undefined)

  return {
    entry(id) {
      const found = all.get(id)
      if (!isPacked(found)) return Buffer.isBuffer(found) ? undefined : found
      const known = views.get(id)
      if (known !== undefined) return known
      const view = viewOf(found)
      views.set(id, view, 1)
      return view
    },
    peek(id) {
      const found = all.peek(id)
      if (!isPacked(found)) return Buffer.isBuffer(found) ? undefined : found
      return views.peek(id) ?? viewOf(found)
    },
    put(id, entry, quota) {
      dropSome()
      views.delete(id)
      const packed = isList(entry) ? undefined : entry instanceof PackedVariant ? entry : pack(entry, forPacking)
      if (packed === undefined) {
        const costBytes = entryBytes(entry)
        const isKept = all.set(id, withOwnBodies(entry), costBytes, queueOf(quota))
        pages.tidy(owners, costBytes)
        return isKept
      }
      if (packed.bytes.length <= recordBytesMax) return putIntoPage(id, packed.bytes, queueOf(quota))
      const { buffer } = packed.own()
      const costBytes = buffer.byteLength + packedOverheadBytes
      const isKept = all.set(id, buffer, costBytes, queueOf(quota))
      pages.tidy(owners, costBytes)
      return isKept
    },
    delete(id) {
      views.delete(id)
      all.delete(id)
      pages.tidy(owners)
    },
    block: id => blockOf(all.get(id)),
    hasBlock: id => blockOf(all.peek(id)) !== undefined,
    putBlock(id, bytes, quota, isLent = false) {
      dropSome()
      const queue = queueOf(quota)
      const costBytes = bytes.length + entryOverheadBytes
      const isFree = all.hasRoom(costBytes, queue)
      const isKnown = bytes.length <= atOnceBytesMax || ghosts.remember(Buffer.from(id, 'latin1'), bytes.length)
      if (!isFree && !isKnown) return false
      const isKept = all.set(id, isLent ? copyOf(bytes) : ownBytes(bytes), costBytes, queue)
      // Evicted answers may have been in pages.
      pages.tidy(owners, costBytes)
      return isKept
    },
    keepQuotas(quotas) {
      const kept = new Set(quotas.map(queueId))
      const gone = [...queues].filter(([id]) => !kept.has(id))
      for (const [id] of gone) queues.delete(id)
      dropped = [...dropped, ...gone.map(([, queue]) => queue)]
    },
    get pageBytes() {
      return pages.bytes
    },
    get queueCount() {
      return all.queueCount
    },
    ids: () => all.keys(),
    get usage() {
      return { entries: all.size, bytes: all.bytes + views.size * viewBytes, evictions: all.evictions }
    },
    budgetBytes,
  }
}
