/** The first message of a client, cut into pieces as a peer may cut it. */
import t from 'tap'
import { createHelloParser, helloBytesMax, parseClientHello } from '../client-hello.ts'

const sized = (lengthBytes: number, ...parts: readonly Buffer[]) => {
  const value = Buffer.concat(parts)
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(value.length, 0, lengthBytes)
  return Buffer.concat([length, value])
}
const record = (bytes: Buffer) => Buffer.concat([Buffer.from([22, 3, 1]), sized(2, bytes)])
const extension = (type: number, value: Buffer) => Buffer.concat([Buffer.from([0, type]), sized(2, value)])
const name = extension(0, sized(2, Buffer.from([0]), sized(2, Buffer.from('WWW.example.test.'))))
const protocols = extension(16, sized(2, sized(1, Buffer.from('h2')), sized(1, Buffer.from('http/1.1'))))
const hello = Buffer.concat([
  Buffer.from([1]),
  sized(
    3,
    Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32)]),
    sized(1),
    sized(2, Buffer.from([0x13, 0x01])),
    sized(1, Buffer.from([0])),
    sized(2, name, protocols),
  ),
])
const read = { state: 'complete', serverName: 'www.example.test', protocols: ['h2', 'http/1.1'] }

/** In so many records. */
function cut(count: number): Buffer {
  const size = Math.ceil(hello.length / count)
  const records: Buffer[] = []
  for (let at = 0; at < hello.length; at += size) records.push(record(hello.subarray(at, at + size)))
  return Buffer.concat(records)
}

t.test('a hello is parsed from one or several records, with any bytes after it', async t => {
  for (const count of [1, 2, 3, 16, hello.length]) {
    t.same(parseClientHello(cut(count)), read, `${count} records`)
    t.same(parseClientHello(Buffer.concat([cut(count), Buffer.from([20, 3, 3, 0, 1, 1])])), read)
  }
  const whole = cut(3)
  for (let bytes = 0; bytes < whole.length; bytes++) {
    t.equal(parseClientHello(whole.subarray(0, bytes)).state, 'incomplete', `${bytes} bytes`)
  }
})

t.test('pieces are taken one by one, wherever they are cut', async t => {
  for (const count of [1, 3, hello.length]) {
    const parse = createHelloParser()
    const bytes = cut(count)
    for (let at = 0; at < bytes.length - 1; at++) {
      t.equal(parse(bytes.subarray(at, at + 1)).state, 'incomplete', `${count} records, byte ${at}`)
    }
    t.same(parse(bytes.subarray(-1)), read)
  }
})

t.test('bytes that are not a hello are detected at the first wrong one', async t => {
  t.equal(parseClientHello(Buffer.concat([record(hello.subarray(0, 9)), record(Buffer.alloc(0))])).state, 'unreadable')
  const endless = record(Buffer.concat([Buffer.from([1, 0, 0x3f, 0xff]), Buffer.alloc(helloBytesMax)]))
  t.equal(parseClientHello(endless.subarray(0, helloBytesMax)).state, 'unreadable')
  for (const first of [0, 2, 21, 23, 71]) t.equal(parseClientHello(Buffer.from([first])).state, 'unreadable')
  t.equal(parseClientHello(record(Buffer.from([2]))).state, 'unreadable', 'another message')
  t.equal(parseClientHello(record(Buffer.from([1, 0xff, 0, 0]))).state, 'unreadable', 'too long')
})
