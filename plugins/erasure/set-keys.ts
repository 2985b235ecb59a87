/**
 * Keys of the set's own records, which every drive has. They are in table 0xfe, which is reserved for backends; then follows
 *
 *     s                       set document: which drive has which slot
 *     i                       progress of this drive
 *     p                       the greatest epoch that a leader has claimed on this drive
 *     u                       this drive has more than `i` says, because it is catching up; epoch of the leader that it gets it from
 *     g, key                  note: this drive lacks its shard, although the record says that it has it; identity of the data (f64)
 *     r, u16 number           ring of recent changes: which keys each of them wrote
 *     b, id                   staged shard of a body that is being committed
 *     t, group                (counter) records with shards, and their bytes; of all groups if it is empty
 *     l, group, 0, generations  (counter) those of them that have exactly these generations
 *     h, u8 shards left, key  (derived) a record that lacks a shard; shards left as if it had full parity
 *     o, id, key              (derived) a record that references this blob
 *
 * The group of a record is its key up to the first zero byte: its table, and how that is divided (such as by bucket).
 * Never changes: see docs/design/on-disk-format.md.
 */
export const tableByte = 0xfe

function key(part: string, ...rest: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([tableByte]), Buffer.from(part, 'latin1'), ...rest])
}

export const setKey = key('s')
export const progressKey = key('i')
export const promiseKey = key('p')
export const unfinishedKey = key('u')

export const notedStart = key('g')
export const notedEnd = key('h')

export function notedKey(recordKey: Uint8Array): Buffer {
  return key('g', recordKey)
}

/** The record's key in the key of a note. */
export function keyOfNoted(noteKey: Buffer): Buffer {
  return noteKey.subarray(2)
}

export const ringSize = 4096

export function ringKey(index: number): Buffer {
  const number = index % ringSize
  return key('r', Buffer.from([number >> 8, number & 0xff]))
}

export const stagedStart = key('b')
export const stagedEnd = key('c')

export function stagedKey(id: string): Buffer {
  return key('b', Buffer.from(id, 'latin1'))
}

export function groupOf(recordKey: Buffer): Buffer {
  const end = recordKey.indexOf(0, 1)
  return end === -1 ? recordKey.subarray(0, 1) : recordKey.subarray(0, end)
}

const zero = Buffer.from([0])

export function totalKey(group: Uint8Array): Buffer {
  return key('t', group)
}

export function ledgerKey(group: Uint8Array, generations: Uint8Array): Buffer {
  return key('l', group, zero, generations)
}

export const incompleteStart = key('h')
export const incompleteEnd = key('i')

/** Sorted: records with fewer shards first. */
export function incompleteKey(shardsLeft: number, recordKey: Uint8Array): Buffer {
  return key('h', Buffer.from([shardsLeft]), recordKey)
}

/** The record's key in the key of a derived entry `h`. */
export function keyOfIncomplete(entryKey: Buffer): Buffer {
  return entryKey.subarray(3)
}

const idBytes = 26

export function ownerKey(blobId: string, recordKey: Uint8Array): Buffer {
  return key('o', Buffer.from(blobId, 'latin1'), recordKey)
}

/** Start and end of the derived entries of all records that reference this blob. */
export function ownerRange(blobId: string): [Buffer, Buffer] {
  const start = ownerKey(blobId, Buffer.alloc(0))
  const end = Buffer.from(start)
  // Ids are letters and digits, so there is always a greater byte.
  end[end.length - 1]!++
  return [start, end]
}

export function keyOfOwner(entryKey: Buffer): Buffer {
  return entryKey.subarray(2 + idBytes)
}
