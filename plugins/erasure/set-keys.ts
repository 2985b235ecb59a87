/**
 * Keys of the set's own records, which every drive has, in one table: 0xfe, which users of the storage leave to backends; then
 *
 *     s                       the set: what it is made of
 *     i                       how far this drive has come
 *     p                       the greatest epoch that a leader has announced to this drive
 *     u                       this drive has more than `i` says, because it has begun to catch up: with the leader of which epoch
 *     g, key                  this drive lacks its shard of the record, which says that it has it: identity of the data (f64)
 *     r, u16 number           the last changes, in a ring: which keys each of them wrote
 *     b, id                   a shard of a body that is being committed
 *     t, group                (counter) records that have shards, and their bytes; of all groups where it is empty
 *     l, group, 0, generations  (counter) those of them whose shards lie exactly like that
 *     h, u8 shards left, key  (derived) a record that lacks a shard somewhere; shards left as if it had full parity
 *     o, id, key              (derived) a record that has this blob
 *
 * The group of a record is its key up to the first zero byte: its table and what that is divided by, such as the bucket.
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

/** The record's key in that of a note. */
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

/** Of records with fewer shards first. */
export function incompleteKey(shardsLeft: number, recordKey: Uint8Array): Buffer {
  return key('h', Buffer.from([shardsLeft]), recordKey)
}

/** The record's key in the key of an entry of the incomplete. */
export function keyOfIncomplete(entryKey: Buffer): Buffer {
  return entryKey.subarray(3)
}

const idBytes = 26

export function ownerKey(blobId: string, recordKey: Uint8Array): Buffer {
  return key('o', Buffer.from(blobId, 'latin1'), recordKey)
}

/** Every record that has this blob: start and end of their entries. */
export function ownerRange(blobId: string): [Buffer, Buffer] {
  const start = ownerKey(blobId, Buffer.alloc(0))
  const end = Buffer.from(start)
  // Ids are letters and digits: there is always a greater byte.
  end[end.length - 1]!++
  return [start, end]
}

export function keyOfOwner(entryKey: Buffer): Buffer {
  return entryKey.subarray(2 + idBytes)
}
