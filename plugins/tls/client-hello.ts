/**
 * The first message of a TLS client (RFC 8446, 4.1.2), read before the TLS server sees the connection: which name the client asks for and
 * which protocols it offers. Node.js tells a server the protocols only after it has chosen the certificate, and the challenge
 * `tls-alpn-01` (RFC 8737) needs the choice to depend on them.
 */
import type { Socket } from 'node:net'

/** Records of a hello together, in bytes. Browsers send under 2 KiB. */
export const helloBytesMax = 16 * 1024

export type ClientHello =
  | { readonly state: 'incomplete' }
  /** Not TLS, or a malformed hello: the TLS server answers it as usual. */
  | { readonly state: 'unreadable' }
  | {
      readonly state: 'complete'
      /** Lower case, without a final dot; undefined where the client names none. */
      readonly serverName: string | undefined
      /** Protocols offered for ALPN, in the client's order. */
      readonly protocols: readonly string[]
    }

const incomplete: ClientHello = { state: 'incomplete' }
const unreadable: ClientHello = { state: 'unreadable' }

const recordHandshake = 22
const messageClientHello = 1
const extensionServerName = 0
const extensionProtocols = 16

/** Parses the beginning of a connection; never asks for more than `helloBytesMax`. */
export const parseClientHello = (bytes: Buffer): ClientHello => createHelloParser()(bytes)

/**
 * Parses the begin of a connection piece by piece, until the result is not `incomplete`. The handshake message is in one or several
 * records, and a client may split records and pieces anywhere. Each byte is processed once, because the client is not yet authenticated.
 */
export function createHelloParser(): (piece: Buffer) => ClientHello {
  const header = Buffer.alloc(5)
  let headerBytes = 0
  let recordBytesLeft = 0
  /** Its type and length, then as many bytes as they state. */
  let message = Buffer.alloc(4)
  let messageBytes = 0
  let receivedBytes = 0

  const takeMessage = (part: Buffer): ClientHello => {
    for (let at = 0; at < part.length; ) {
      const count = part.copy(message, messageBytes, at)
      at += count
      messageBytes += count
      if (message[0] !== messageClientHello) return unreadable
      if (messageBytes < message.length) continue
      if (messageBytes > 4) return parseMessage(message.subarray(4))
      const wholeBytes = 4 + message.readUIntBE(1, 3)
      if (wholeBytes === 4 || wholeBytes > helloBytesMax) return unreadable
      message = Buffer.concat([message], wholeBytes)
    }
    return incomplete
  }

  return piece => {
    receivedBytes += piece.length
    for (let at = 0; at < piece.length; ) {
      if (recordBytesLeft === 0) {
        header[headerBytes++] = piece[at++]!
        if (header[0] !== recordHandshake || (headerBytes > 1 && header[1] !== 3)) return unreadable
        if (headerBytes < header.length) continue
        headerBytes = 0
        recordBytesLeft = header.readUInt16BE(3)
        if (recordBytesLeft === 0) return unreadable
        continue
      }
      const part = piece.subarray(at, at + recordBytesLeft)
      at += part.length
      recordBytesLeft -= part.length
      const hello = takeMessage(part)
      if (hello.state !== 'incomplete') return hello
    }
    return receivedBytes >= helloBytesMax ? unreadable : incomplete
  }
}

function parseMessage(message: Buffer): ClientHello {
  try {
    return readMessage(message)
  } catch (error) {
    if (error instanceof RangeError) return unreadable
    throw error
  }
}

/** Throws RangeError where a length leads out of the message. */
function readMessage(message: Buffer): ClientHello {
  // Version, random; then session id, cipher suites and compression methods, each with its length in front.
  let position = 34
  position += 1 + message.readUInt8(position)
  position += 2 + message.readUInt16BE(position)
  position += 1 + message.readUInt8(position)
  let serverName: string | undefined
  let protocols: readonly string[] = []
  if (position < message.length) {
    const extensions = take(message, position, 2)
    for (let at = 0; at < extensions.length; ) {
      const type = extensions.readUInt16BE(at)
      const value = take(extensions, at + 2, 2)
      at += 4 + value.length
      if (type === extensionServerName) serverName = readServerName(value)
      if (type === extensionProtocols) protocols = readProtocols(value)
    }
  }
  return { state: 'complete', serverName, protocols }
}

/** A value behind its length of so many bytes. */
function take(buffer: Buffer, position: number, lengthBytes: number): Buffer {
  const start = position + lengthBytes
  const end = start + buffer.readUIntBE(position, lengthBytes)
  if (end > buffer.length) throw new RangeError('cut short')
  return buffer.subarray(start, end)
}

function readServerName(value: Buffer): string | undefined {
  const names = take(value, 0, 2)
  if (names.length === 0 || names[0] !== 0) return undefined
  return plainServerName(take(names, 1, 2).toString('latin1'))
}

function readProtocols(value: Buffer): string[] {
  const list = take(value, 0, 2)
  const protocols: string[] = []
  for (let at = 0; at < list.length; ) {
    const name = take(list, at, 1)
    protocols.push(name.toString('latin1'))
    at += 1 + name.length
  }
  return protocols
}

/** A name as certificates are looked up by it. */
export function plainServerName(name: string): string {
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
}

/**
 * Reads the hello of a fresh connection and puts all of it back, so that a TLS server finds the connection untouched. `done` is called
 * once, not before the next turn of the event loop, and never when the peer has closed; `undefined` means that no hello came in time.
 */
export function readClientHello(
  socket: Socket,
  after: (delayMs: number, callback: () => void) => () => void,
  timeoutMs: number,
  done: (hello: Exclude<ClientHello, { state: 'incomplete' }> | undefined) => void,
): void {
  const pieces: Buffer[] = []
  const parse = createHelloParser()
  const cancelTimeout = after(timeoutMs, () => finish(undefined))
  socket.on('readable', onReadable)
  socket.on('close', onGone)
  socket.on('error', onGone)

  function onReadable(): void {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    pieces.push(chunk)
    const hello = parse(chunk)
    if (hello.state !== 'incomplete') finish(hello)
  }

  function onGone(): void {
    detach()
    socket.destroy()
  }

  function detach(): void {
    cancelTimeout()
    socket.off('readable', onReadable)
    socket.off('close', onGone)
  }

  function finish(hello: Exclude<ClientHello, { state: 'incomplete' }> | undefined): void {
    detach()
    if (pieces.length > 0) socket.unshift(Buffer.concat(pieces))
    // The stream leaves its `readable` mode in the next tick; only then may a server attach to it.
    setImmediate(() => {
      if (socket.destroyed) return
      done(hello)
      socket.off('error', onGone)
    })
  }
}
