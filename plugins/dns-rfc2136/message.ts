/** Messages of dynamic updates (RFC 2136), without their signature. */
import { encode } from 'dns-packet'
import type { DnsRecord } from 'svc/plugins/dns/api'

/** Opcode UPDATE, in the flags of the header. */
const updateFlags = 5 << 11
const classNone = 254
const headerBytes = 12
/** Type and class. */
const questionTailBytes = 4

/**
 * Adds or removes one TXT value in a zone. To remove a value the record has the class NONE and no time to live (section 2.5.4); removing
 * an absent value is not an error.
 */
export function updateMessage(
  method: 'add' | 'remove',
  { name, zone, value, ttlSeconds }: DnsRecord,
  id: number,
): Buffer {
  const isAdded = method === 'add'
  const message = encode({
    type: 'query',
    id,
    flags: updateFlags,
    questions: [{ type: 'SOA', name: zone }],
    authorities: [{ type: 'TXT', class: 'IN', name, ttl: isAdded ? ttlSeconds : 0, data: value }],
  })
  if (!isAdded) {
    // The library does not know the class. It compresses no names, so the place of the class is known.
    const recordAt = headerBytes + nameBytes(zone).length + questionTailBytes
    message.writeUInt16BE(classNone, recordAt + nameBytes(name).length + 2)
  }
  return message
}

/** A name in canonical wire format: lower case, not compressed (RFC 4034, section 6.2). */
export function nameBytes(name: string): Buffer {
  const labels = name.toLowerCase().split('.')
  return Buffer.concat([
    ...labels.map(label => Buffer.from([label.length, ...Buffer.from(label, 'latin1')])),
    Buffer.alloc(1),
  ])
}

/** The offset after a name. Throws RangeError beyond the end of the message. */
export function endOfName(message: Buffer, start: number): number {
  let at = start
  for (;;) {
    const length = message.readUInt8(at)
    if (length === 0) return at + 1
    // A pointer to an earlier name ends this one.
    if (length >= 0xc0) return at + 2
    at += length + 1
  }
}

export function skipQuestions(message: Buffer): number {
  let at = headerBytes
  for (let i = message.readUInt16BE(4); i > 0; i--) at = endOfName(message, at) + questionTailBytes
  return at
}
