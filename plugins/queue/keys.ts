/**
 * Record keys of the queue: the table `q`. Names of topics and queues have no byte 00, so the records of a queue are adjacent, in the
 * order of the commits.
 *
 *     q w <topic> 00 <queue> 00 <10 bytes>    a waiting entry; the bytes are its id
 *     q d <topic> 00 <queue> 00 <10 bytes>    a dead letter; the bytes are an id, too, of the commit that gave it up
 *     q n <topic> 00 <queue>                  (derived, counter) waiting entries, bytes of their payloads, dead letters
 *
 * An id is the sequence of the commit (8 bytes) and the number within the commit (2 bytes), both big-endian.
 */
import { recordTable } from 'svc/plugins/storage/api'

const part = { waiting: 0x77, dead: 0x64, count: 0x6e } as const
export const idBytes = 10
/** Entries that one commit may put. */
export const entriesPerCommitMax = 65_536
const queueNameBytesMax = 200
const idPattern = /^[0-9a-f]{20}$/

/** The prefixes of a queue's keys. */
export interface QueuePlace {
  readonly topic: string
  readonly queue: string
  readonly waiting: Buffer
  readonly dead: Buffer
  readonly count: Buffer
}

export function isTopicName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,62}$/.test(name)
}

/** Throws RangeError unless the name of the queue has 1 to 200 bytes of UTF-8 without 00. */
export function queuePlace(topic: string, queue: string): QueuePlace {
  if (queue === '' || !queue.isWellFormed() || queue.includes('\0') || Buffer.byteLength(queue) > queueNameBytesMax) {
    throw new RangeError(`queue: a queue has a name of 1 to ${queueNameBytesMax} bytes without 00`)
  }
  const names = `${topic}\0${queue}`
  return {
    topic,
    queue,
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

export function idOf(key: Buffer): string {
  return key.toString('hex', key.length - idBytes)
}

/** The key of an id with a prefix; undefined for malformed ids. */
export function keyOf(prefix: Buffer, id: string): Buffer | undefined {
  return idPattern.test(id) ? Buffer.concat([prefix, Buffer.from(id, 'hex')]) : undefined
}

/** The smallest id that a commit after this sequence can put. */
export function idAfter(sequence: number): string {
  return `${(sequence + 1).toString(16).padStart(16, '0')}0000`
}

/** The first possible key behind an id. */
export function keyAfter(prefix: Buffer, id: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(id, 'hex'), Buffer.from([0])])
}

/** The smallest key behind everything that begins with this prefix of a queue. */
export function endOf(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix)
  // Replaces the 00 that ends the name.
  end[end.length - 1] = 1
  return end
}

/** The prefixes of a topic's waiting entries and dead letters. */
export function topicPrefixes(topic: string): readonly Buffer[] {
  return [join(part.waiting, `${topic}\0`), join(part.dead, `${topic}\0`)]
}

/** The counter of a record's queue; `isDead`: the record is a dead letter. Undefined for other keys of the table. */
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
