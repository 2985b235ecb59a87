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
  /** No TLS, or a broken hello: the TLS server answers it as it answers such things. */
  | { readonly state: 'unreadable' }
  | {
      readonly state: 'complete'
      /** Lower case, without a final dot; undefined where the client names none. */
      readonly serverName: string | undefined
      /** As offered for ALPN, in the order of the client. */
      readonly protocols: readonly string[]
    }

const incomplete: ClientHello = { state: 'incomplete' }
const unreadable: ClientHello = { state: 'unreadable' }

const recordHandshake = 22
const messageClientHello = 1
const extensionServerName = 0
const extensionProtocols = 16

/** Parses the beginning of a connection; never asks for more than `helloBytesMax`. */
export function parseClientHello(bytes: Buffer): ClientHello {
  const message = joinRecords(bytes)
  if (!Buffer.isBuffer(message)) return message
  try {
    return parseMessage(message)
  } catch (error) {
    if (error instanceof RangeError) return unreadable
    throw error
  }
}

/** The handshake message out of one or several records; a client may cut it anywhere. */
function joinRecords(bytes: Buffer): Buffer | ClientHello {
  const parts: Buffer[] = []
  let joinedBytes = 0
  let position = 0
  while (position < bytes.length) {
    if (bytes[position] !== recordHandshake) return unreadable
    if (position + 5 > bytes.length) break
    if (bytes[position + 1] !== 3) return unreadable
    const recordBytes = bytes.readUInt16BE(position + 3)
    const part = bytes.subarray(position + 5, position + 5 + recordBytes)
    parts.push(part)
    joinedBytes += part.length
    const joined = parts.length === 1 ? part : Buffer.concat(parts)
    if (joinedBytes >= 1 && joined[0] !== messageClientHello) return unreadable
    if (joinedBytes >= 4) {
      const messageBytes = 4 + joined.readUIntBE(1, 3)
      if (messageBytes > helloBytesMax) return unreadable
      if (joinedBytes >= messageBytes) return joined.subarray(4, messageBytes)
    }
    if (part.length < recordBytes) break
    if (recordBytes === 0) return unreadable
    position += 5 + recordBytes
  }
  return bytes.length >= helloBytesMax ? unreadable : incomplete
}

/** Throws RangeError where a length leads out of the message. */
function parseMessage(message: Buffer): ClientHello {
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
  let received: Buffer = Buffer.alloc(0)
  const cancelTimeout = after(timeoutMs, () => finish(undefined))
  socket.on('readable', onReadable)
  socket.on('close', onGone)
  socket.on('error', onGone)

  function onReadable(): void {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const hello = parseClientHello(received)
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
    if (received.length > 0) socket.unshift(received)
    // The stream leaves its `readable` mode in the next tick; only then may a server attach to it.
    setImmediate(() => {
      if (socket.destroyed) return
      done(hello)
      socket.off('error', onGone)
    })
  }
}
