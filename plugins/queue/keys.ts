/**
 * Record keys of the queue: the table `q`. Names of families and lanes hold no 00, so that everything of a lane lies together, in the
 * order of the commits.
 *
 *     q w <family> 00 <lane> 00 <10 bytes>    an entry that waits; the bytes are its id
 *     q d <family> 00 <lane> 00 <10 bytes>    a dead letter, under the id that the entry had
 *     q n <family> 00 <lane>                  (derived, counter) entries that wait, bytes of their payloads, dead letters
 *
 * An id is the sequence of the commit (8 bytes) and the number within the commit (2 bytes), both big-endian.
 */
import { recordTable } from 'svc/plugins/storage/api'

const part = { waiting: 0x77, dead: 0x64, count: 0x6e } as const
export const idBytes = 10
/** Entries of all lanes of a family that one commit may put. */
export const entriesPerCommitMax = 65_536
const laneBytesMax = 200
const idPattern = /^[0-9a-f]{20}$/

/** Where a lane lies: what its keys begin with. */
export interface LanePlace {
  readonly family: string
  readonly lane: string
  readonly waiting: Buffer
  readonly dead: Buffer
  readonly count: Buffer
}

export function isFamilyName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,62}$/.test(name)
}

/** Throws RangeError for what cannot be the name of a lane: 1 to 200 bytes of UTF-8 without 00. */
export function lanePlace(family: string, lane: string): LanePlace {
  if (lane === '' || !lane.isWellFormed() || lane.includes('\0') || Buffer.byteLength(lane) > laneBytesMax) {
    throw new RangeError(`queue: a lane has a name of 1 to ${laneBytesMax} bytes without 00`)
  }
  const names = `${family}\0${lane}`
  return {
    family,
    lane,
    waiting: join(part.waiting, `${names}\0`),
    dead: join(part.dead, `${names}\0`),
    count: join(part.count, names),
  }
}

/** The key of the entry with this number in the commit with this sequence. */
export function entryKey(prefix: Buffer, sequence: number, number: number): Buffer {
  const key = Buffer.allocUnsafe(prefix.length + idBytes)
  prefix.copy(key)
  key.writeUInt32BE(Math.floor(sequence / 0x1_0000_0000), prefix.length)
  key.writeUInt32BE(sequence % 0x1_0000_0000, prefix.length + 4)
  key.writeUInt16BE(number, prefix.length + 8)
  return key
}

/** The key under the same id with another prefix, as of a dead letter whose entry has this key. */
export function keyWithPrefix(prefix: Buffer, key: Buffer): Buffer {
  return Buffer.concat([prefix, key.subarray(key.length - idBytes)])
}

export function idOf(key: Buffer): string {
  return key.toString('hex', key.length - idBytes)
}

/** The key of an id with a prefix; undefined for what is no id. */
export function keyOf(prefix: Buffer, id: string): Buffer | undefined {
  return idPattern.test(id) ? Buffer.concat([prefix, Buffer.from(id, 'hex')]) : undefined
}

/** The first possible id behind everything that the commit with this sequence and those before it have put. */
export function idAfter(sequence: number): string {
  return `${(sequence + 1).toString(16).padStart(16, '0')}0000`
}

/** The first possible key behind an id. */
export function keyAfter(prefix: Buffer, id: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(id, 'hex'), Buffer.from([0])])
}

/** The smallest key behind everything that begins with this prefix of a lane. */
export function endOf(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix)
  // In the place of the 00 that ends the name.
  end[end.length - 1] = 1
  return end
}

/** Everything of a family: once what waits, once the dead letters. */
export function familyPrefixes(family: string): readonly Buffer[] {
  return [join(part.waiting, `${family}\0`), join(part.dead, `${family}\0`)]
}

/** The counter of the lane that a record belongs to; `isDead` tells what the record is. Undefined for other keys of the table. */
export function counterOf(key: Buffer): { readonly count: Buffer; readonly isDead: boolean } | undefined {
  const kind = key[1]
  if (kind !== part.waiting && kind !== part.dead) return undefined
  const count = Buffer.from(key.subarray(0, key.length - idBytes - 1))
  count[1] = part.count
  return { count, isDead: kind === part.dead }
}

function join(kind: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([recordTable.queue, kind]), Buffer.from(text, 'utf8')])
}
