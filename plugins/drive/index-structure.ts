/**
 * Checks the file of an LMDB index without LMDB, which maps the file and may crash on damage. Walks every page of the newest
 * snapshot and verifies page heads, node layout, key order (against the keys of the levels above, too), the counts of each tree
 * and the list of free pages; no page may be used twice. It does not look at values: it hands each entry to the caller, and
 * `index-check.ts` compares them with the digest.
 *
 * The format is that of lmdb 3.5 for Node.js (data version 2, heads of 24 bytes, free lists with runs) on little-endian machines.
 * Millions of entries are looked at before a server that was killed serves, so numbers are read from typed arrays, and an entry costs no more
 * than the two views of it that the caller gets.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const headBytes = 24
const metaBytes = 144
const treeBytes = 48
const nodeHeadBytes = 8
const overflowRefBytes = 24
const magic = 0xbeefc0de
const dataVersion = 2
const flags = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 }
/** Flags that LMDB uses in memory and may leave in page heads on disk. */
const transientFlags = 0xe000
const nodeFlags = { overflow: 0x01, tree: 0x02 }
const metaPageCount = 2
const levelsMax = 32
const noRoot = 0xffff_ffff_ffff_ffffn

class Unsound extends Error {}

/** A page in memory, and the 16-bit numbers of which its head and the heads of its nodes consist. */
interface Page {
  readonly bytes: Buffer
  readonly units: Uint16Array
}

/** A key within a page. */
interface Key {
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
}

type Compare = (a: Buffer, aFrom: number, aTo: number, b: Buffer, bFrom: number, bTo: number) => number
/** The value is missing where it lies on pages of its own. */
type OnLeaf = (
  key: Buffer,
  value: Buffer | undefined,
  isTree: boolean,
  overflowPage: number,
  valueBytes: number,
) => void
/** Gets each entry of each table, in views that are valid during the call and may be written to. Returns the problem with it, if there is one. */
export type OnEntry = (table: string, key: Buffer, value: Buffer) => string | undefined

interface Tree {
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
  readonly root: number | undefined
}

interface Meta {
  readonly pageBytes: number
  readonly lastPage: number
  readonly txnId: number
  readonly free: Tree
  readonly main: Tree
}

/** The problem with `data.mdb` at this path, or undefined. `onProgress` is called for each page. */
export function checkStructure(file: string, onProgress: () => void, onEntry: OnEntry): string | undefined {
  const fd = openSync(file, 'r')
  try {
    new StructureCheck(fd, onProgress, onEntry).run()
    return undefined
  } catch (error) {
    if (error instanceof Unsound) return error.message
    throw error
  } finally {
    closeSync(fd)
  }
}

class StructureCheck {
  readonly #fd: number
  readonly #onProgress: () => void
  readonly #onEntry: OnEntry
  #meta!: Meta
  #filePages = 0
  #used = new Uint8Array(0)
  /** One page per level of the tree being walked; the keys of upper levels bound those below. */
  readonly #levels: Page[] = []
  readonly #head = Buffer.alloc(headBytes)
  /** Of the nodes of a page: where each begins, and its size. */
  #spans = new Uint32Array(0)

  constructor(fd: number, onProgress: () => void, onEntry: OnEntry) {
    this.#fd = fd
    this.#onProgress = onProgress
    this.#onEntry = onEntry
  }

  run(): void {
    this.#meta = this.#newestMeta()
    const { pageBytes, lastPage, free, main } = this.#meta
    this.#filePages = Math.floor(fstatSync(this.#fd).size / pageBytes)
    // The file is shorter than that when its last pages are free.
    if (lastPage >= this.#filePages * 2 + 65_536) throw new Unsound(`its last page is ${lastPage}, far behind its end`)
    this.#used = new Uint8Array((lastPage >> 3) + 1)
    this.#spans = new Uint32Array(pageBytes >> 1)
    this.#walk(free, compareIntegers, (key, value, _isTree, page, bytes) => {
      if (key.length !== 8) throw new Unsound('an entry of the free list has no transaction number')
      this.#markFreePages(value ?? this.#overflowValue(page, bytes))
    })
    const tables = new Map<string, Tree>()
    this.#walk(main, compareBytes, (key, value, isTree) => {
      if (!isTree) return
      if (value?.length !== treeBytes) throw new Unsound('the root record of a table is truncated')
      // LMDB finds no other: it would create an empty table beside it.
      if (key.at(-1) !== 0) throw new Unsound('the name of a table does not end in a zero')
      // LMDB would look for keys in another order, or for several values of a key.
      if (value.readUInt16LE(4) !== 0) throw new Unsound('a table has unknown flags')
      tables.set(key.toString('latin1', 0, key.length - 1), readTree(value, 0))
    })
    for (const [name, tree] of tables) {
      this.#walk(tree, compareBytes, (key, value, _isTree, page, bytes) => {
        const problem = this.#onEntry(name, key, value ?? this.#overflowValue(page, bytes))
        if (problem !== undefined) throw new Unsound(problem)
      })
    }
  }

  #newestMeta(): Meta {
    const page = Buffer.alloc(65_536)
    const bytes = readSync(this.#fd, page, 0, page.length, 0)
    if (bytes < headBytes + metaBytes) throw new Unsound('it is too short')
    const first = readMeta(page, 0)
    if (bytes < first.pageBytes + headBytes + metaBytes) throw new Unsound('it is too short')
    const second = readMeta(page.subarray(first.pageBytes), 1)
    if (second.pageBytes !== first.pageBytes) throw new Unsound('its page sizes differ')
    return first.txnId >= second.txnId ? first : second
  }

  #markUsed(page: number, count: number): void {
    if (page < metaPageCount || page + count - 1 > this.#meta.lastPage)
      throw new Unsound(`page ${page} lies outside of it`)
    for (let at = page; at < page + count; at++) {
      const bit = 1 << (at & 7)
      if ((this.#used[at >> 3]! & bit) !== 0) throw new Unsound(`page ${at} is used twice`)
      this.#used[at >> 3]! |= bit
    }
  }

  #read(into: Buffer, page: number): void {
    if (page >= this.#filePages) throw new Unsound(`page ${page} lies behind its end`)
    readSync(this.#fd, into, 0, into.length, page * this.#meta.pageBytes)
  }

  /** Returns the page's flags. */
  #checkHead(head: Buffer, page: number): number {
    if (readNumber(head, 0) !== page) throw new Unsound(`the head of page ${page} has another page number`)
    if (readNumber(head, 8) > this.#meta.txnId)
      throw new Unsound(`page ${page} is of a later transaction than the snapshot`)
    return head.readUInt16LE(18) & ~transientFlags
  }

  #overflowValue(page: number, bytes: number): Buffer {
    const value = Buffer.alloc(bytes)
    readSync(this.#fd, value, 0, bytes, page * this.#meta.pageBytes + headBytes)
    return value
  }

  /**
   * The list is a length, then page numbers. 0 is an unused slot; a negative number is the length of the run that begins at the
   * next one.
   */
  #markFreePages(list: Buffer): void {
    const count = readNumber(list, 0)
    if ((count + 1) * 8 > list.length) throw new Unsound('a list of free pages is truncated')
    for (let i = 1; i <= count; i++) {
      const entry = list.readBigInt64LE(i * 8)
      if (entry === 0n) continue
      if (entry > 0n) this.#markUsed(readNumber(list, i * 8), 1)
      else {
        const run = Number(-entry)
        if (++i * 8 >= list.length) throw new Unsound('a list of free pages is truncated')
        if (run > this.#meta.lastPage) throw new Unsound('a run of free pages is too long')
        this.#markUsed(readNumber(list, i * 8), run)
      }
    }
  }

  #walk(tree: Tree, compare: Compare, onLeaf: OnLeaf): void {
    const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
    const { root, depth } = tree
    if (depth > levelsMax) throw new Unsound(`a tree has ${depth} levels`)
    if (root !== undefined) this.#visit(root, 1, tree, found, undefined, undefined, compare, onLeaf)
    for (const name of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const) {
      if (found[name] !== tree[name]) throw new Unsound(`a tree has ${found[name]} ${name} instead of ${tree[name]}`)
    }
  }

  #visit(
    page: number,
    level: number,
    tree: Tree,
    found: { branchPages: number; leafPages: number; overflowPages: number; entries: number },
    low: Key | undefined,
    high: Key | undefined,
    compare: Compare,
    onLeaf: OnLeaf,
  ): void {
    this.#onProgress()
    this.#markUsed(page, 1)
    this.#levels[level] ??= makePage(this.#meta.pageBytes)
    const content = this.#levels[level]
    this.#read(content.bytes, page)
    const isLeaf = level === tree.depth
    if (this.#checkHead(content.bytes, page) !== (isLeaf ? flags.leaf : flags.branch))
      throw new Unsound(`page ${page} has an unexpected type`)
    if (isLeaf) found.leafPages++
    else found.branchPages++
    const count = this.#checkLayout(content, page, isLeaf)
    this.#checkOrder(content, page, count, isLeaf, low, high, compare)
    if (isLeaf) {
      found.entries += count
      for (let i = 0; i < count; i++) found.overflowPages += this.#leafNode(content, nodeAt(content, i), onLeaf)
      return
    }
    for (let i = 0; i < count; i++) {
      const child = content.bytes.readUIntLE(nodeAt(content, i), 6)
      const from = i === 0 ? low : keyOf(content, i)
      const to = i + 1 < count ? keyOf(content, i + 1) : high
      this.#visit(child, level + 1, tree, found, from, to, compare, onLeaf)
    }
  }

  /** Checks that the nodes fill their part of the page without gap or overlap. Returns their number. */
  #checkLayout({ bytes, units }: Page, page: number, isLeaf: boolean): number {
    const end = bytes.length - headBytes
    const lower = units[10]!
    const upper = units[11]!
    const count = lower >> 1
    if ((lower & 1) !== 0 || lower > upper || upper > end || count === 0)
      throw new Unsound(`the bounds of page ${page} are wrong`)
    const spans = this.#spans.subarray(0, count)
    for (let i = 0; i < count; i++) {
      const offset = units[(headBytes >> 1) + i]!
      if (offset < upper || offset + nodeHeadBytes > end || (offset & 1) !== 0)
        throw new Unsound(`a node of page ${page} lies outside of it`)
      const unit = (headBytes + offset) >> 1
      let size = nodeHeadBytes + units[unit + 3]!
      if (isLeaf) {
        const isOverflow = (units[unit + 2]! & nodeFlags.overflow) !== 0
        size += isOverflow ? overflowRefBytes : units[unit]! + units[unit + 1]! * 65_536
      }
      size += size & 1
      if (offset + size > end) throw new Unsound(`a node of page ${page} lies outside of it`)
      spans[i] = offset * 65_536 + size
    }
    spans.sort()
    let next = upper
    for (let i = 0; i < count; i++) {
      const span = spans[i]!
      if (span >>> 16 !== next) throw new Unsound(`the nodes of page ${page} overlap or leave a gap`)
      next += span & 0xffff
    }
    if (next !== end) throw new Unsound(`the nodes of page ${page} do not fill it`)
    return count
  }

  /** The keys of a page increase, and lie between those of the levels above. The first one of a branch is not used. */
  #checkOrder(
    content: Page,
    page: number,
    count: number,
    isLeaf: boolean,
    low: Key | undefined,
    high: Key | undefined,
    compare: Compare,
  ): void {
    const { bytes, units } = content
    const first = isLeaf ? 0 : 1
    if (first >= count) return
    let { from, to } = keyOf(content, first)
    let isInOrder = low === undefined || compare(low.bytes, low.from, low.to, bytes, from, to) <= 0
    for (let i = first + 1; i < count; i++) {
      const at = nodeAt(content, i)
      const nextFrom = at + nodeHeadBytes
      const nextTo = nextFrom + units[(at + 6) >> 1]!
      if (compare(bytes, from, to, bytes, nextFrom, nextTo) >= 0) isInOrder = false
      from = nextFrom
      to = nextTo
    }
    if (high !== undefined && compare(bytes, from, to, high.bytes, high.from, high.to) >= 0) isInOrder = false
    if (!isInOrder) throw new Unsound(`the keys of page ${page} are not in order`)
  }

  /** Returns the number of overflow pages of the node's value. */
  #leafNode({ bytes, units }: Page, at: number, onLeaf: OnLeaf): number {
    const unit = at >> 1
    const valueBytes = units[unit]! + units[unit + 1]! * 65_536
    const marks = units[unit + 2]!
    const from = at + nodeHeadBytes + units[unit + 3]!
    if ((marks & ~(nodeFlags.overflow | nodeFlags.tree)) !== 0) throw new Unsound('a node has unknown flags')
    const key = bytes.subarray(at + nodeHeadBytes, from)
    const isTree = (marks & nodeFlags.tree) !== 0
    if ((marks & nodeFlags.overflow) === 0) {
      onLeaf(key, bytes.subarray(from, from + valueBytes), isTree, 0, valueBytes)
      return 0
    }
    const page = readNumber(bytes, from)
    const count = readNumber(bytes, from + 16)
    if (count * this.#meta.pageBytes < headBytes + valueBytes)
      throw new Unsound(`the value on page ${page} is truncated`)
    this.#markUsed(page, count)
    if (page + count > this.#filePages) throw new Unsound(`page ${page} lies behind its end`)
    this.#read(this.#head, page)
    if (this.#checkHead(this.#head, page) !== flags.overflow || this.#head.readUInt32LE(20) !== count)
      throw new Unsound(`page ${page} has an unexpected type`)
    onLeaf(key, undefined, isTree, page, valueBytes)
    return count
  }
}

function makePage(pageBytes: number): Page {
  const bytes = Buffer.alloc(pageBytes)
  return { bytes, units: new Uint16Array(bytes.buffer, bytes.byteOffset, pageBytes >> 1) }
}

/** Where the node begins in its page. */
function nodeAt({ units }: Page, i: number): number {
  return headBytes + units[(headBytes >> 1) + i]!
}

function keyOf(page: Page, i: number): Key {
  const from = nodeAt(page, i) + nodeHeadBytes
  return { bytes: page.bytes, from, to: from + page.units[(from - 2) >> 1]! }
}

function readMeta(page: Buffer, number: number): Meta {
  if (page.readUInt16LE(18) !== flags.meta || readNumber(page, 0) !== number) throw new Unsound('its head is damaged')
  const meta = page.subarray(headBytes)
  if (meta.readUInt32LE(0) !== magic) throw new Unsound('it is not an LMDB file')
  if (meta.readUInt16LE(4) !== dataVersion) throw new Unsound(`its format is version ${meta.readUInt16LE(4)}`)
  const pageBytes = meta.readUInt32LE(24)
  if (pageBytes < 4096 || pageBytes > 32_768 || (pageBytes & (pageBytes - 1)) !== 0)
    throw new Unsound(`its pages have ${pageBytes} bytes`)
  return {
    pageBytes,
    free: readTree(meta, 24),
    main: readTree(meta, 72),
    lastPage: readNumber(meta, 120),
    txnId: readNumber(meta, 128),
  }
}

function readTree(from: Buffer, at: number): Tree {
  const root = from.readBigUInt64LE(at + 40)
  return {
    depth: from.readUInt16LE(at + 6),
    branchPages: readNumber(from, at + 8),
    leafPages: readNumber(from, at + 16),
    overflowPages: readNumber(from, at + 24),
    entries: readNumber(from, at + 32),
    root: root === noRoot ? undefined : readNumber(from, at + 40),
  }
}

/** Reads a page number, transaction number or count. More than 48 bits cannot be right. */
function readNumber(from: Buffer, at: number): number {
  if (at + 8 > from.length || from.readUInt16LE(at + 6) !== 0) throw new Unsound('a number in it is too large')
  return from.readUIntLE(at, 6)
}

/** As `Buffer.compare`, whose call alone takes longer than to compare a key. */
function compareBytes(a: Buffer, aFrom: number, aTo: number, b: Buffer, bFrom: number, bTo: number): number {
  const length = Math.min(aTo - aFrom, bTo - bFrom)
  for (let i = 0; i < length; i++) {
    const difference = a[aFrom + i]! - b[bFrom + i]!
    if (difference !== 0) return difference
  }
  return aTo - aFrom - (bTo - bFrom)
}

function compareIntegers(a: Buffer, aFrom: number, aTo: number, b: Buffer, bFrom: number, bTo: number): number {
  if (aTo - aFrom !== 8 || bTo - bFrom !== 8) return aTo - aFrom - (bTo - bFrom)
  return Number(a.readBigUInt64LE(aFrom) - b.readBigUInt64LE(bFrom))
}
