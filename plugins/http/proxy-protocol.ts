/**
 * The PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt): a header before all other bytes of a connection, also before TLS, in
 * which a load balancer sends the client's address. It is read before the server handles the connection, and bounded in size and time. A
 * connection that does not begin with it is closed: a listener that expects the header must not be reachable without one.
 */
import { isIPv4, isIPv6, type Socket } from 'node:net'
import { crc32c } from '@node-rs/crc32'
import { plainAddress } from './address.ts'

/** Longest version 1 header, including CR LF. */
const textBytesMax = 107
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const binaryHeadBytes = 16
/** Addresses and extensions; real headers have 12 to about 500 bytes. */
const binaryBodyBytesMax = 4096
const typeChecksum = 0x03
const typeSsl = 0x20
const clientSslFlag = 0x01

export interface ProxySource {
  readonly address: string
  readonly port: number
}

export type ProxyHeader =
  | { readonly state: 'incomplete' }
  | { readonly state: 'invalid'; readonly reason: string }
  | {
      readonly state: 'complete'
      /** Length of the header; the bytes after it belong to the connection. */
      readonly bytes: number
      /** Undefined: a connection of the proxy itself (a health check), or an unknown source. */
      readonly source: ProxySource | undefined
      /** The client used TLS to the proxy. */
      readonly secure: boolean
    }

const incomplete: ProxyHeader = { state: 'incomplete' }

/** Parses the beginning of a connection; `incomplete` requests more bytes, never more than the bounds above. */
export function parseProxyHeader(buffer: Buffer): ProxyHeader {
  if (buffer.length === 0) return incomplete
  if (buffer[0] === signature[0]) return parseBinary(buffer)
  return parseText(buffer)
}

function invalid(reason: string): ProxyHeader {
  return { state: 'invalid', reason }
}

function parseText(buffer: Buffer): ProxyHeader {
  const prefix = 'PROXY '
  const seen = buffer.toString('latin1', 0, Math.min(prefix.length, buffer.length))
  if (!prefix.startsWith(seen)) return invalid('no PROXY header')
  const end = buffer.subarray(0, textBytesMax).indexOf('\r\n')
  if (end < 0) return buffer.length >= textBytesMax ? invalid('PROXY line too long') : incomplete
  const fields = buffer.toString('latin1', 0, end).split(' ')
  const bytes = end + 2
  if (fields[1] === 'UNKNOWN') return { state: 'complete', bytes, source: undefined, secure: false }
  const isAddress = fields[1] === 'TCP4' ? isIPv4 : fields[1] === 'TCP6' ? isIPv6 : undefined
  if (isAddress === undefined || fields.length !== 6) return invalid('malformed PROXY line')
  const [, , source, destination, sourcePort, destinationPort] = fields
  if (!isAddress(source) || !isAddress(destination) || !isPort(sourcePort) || !isPort(destinationPort)) {
    return invalid('malformed PROXY line')
  }
  const address = plainAddress(source.toLowerCase())
  return { state: 'complete', bytes, source: { address, port: Number(sourcePort) }, secure: false }
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65535
}

function parseBinary(buffer: Buffer): ProxyHeader {
  const known = Math.min(buffer.length, signature.length)
  if (buffer.compare(signature, 0, known, 0, known) !== 0) return invalid('no PROXY header')
  if (buffer.length < binaryHeadBytes) return incomplete
  if (buffer[12] >> 4 !== 2) return invalid('unknown PROXY version')
  const command = buffer[12] & 0x0f
  if (command > 1) return invalid('unknown PROXY command')
  const bodyBytes = buffer.readUInt16BE(14)
  if (bodyBytes > binaryBodyBytesMax) return invalid('PROXY header too long')
  const bytes = binaryHeadBytes + bodyBytes
  if (buffer.length < bytes) return incomplete
  const header = buffer.subarray(0, bytes)
  const local = command === 0
  const family = header[13]
  let source: ProxySource | undefined
  let extensions = bytes
  if (family === 0x11) {
    if (bodyBytes < 12) return invalid('PROXY addresses cut short')
    source = { address: header.subarray(16, 20).join('.'), port: header.readUInt16BE(24) }
    extensions = 28
  } else if (family === 0x21) {
    if (bodyBytes < 36) return invalid('PROXY addresses cut short')
    source = { address: textOfIpv6(header, 16), port: header.readUInt16BE(48) }
    extensions = 52
  } else if (!local && family !== 0x00) {
    return invalid('PROXY header for something other than TCP')
  }
  if (local) return { state: 'complete', bytes, source: undefined, secure: false }
  const secure = readExtensions(header, extensions)
  if (typeof secure === 'string') return invalid(secure)
  return { state: 'complete', bytes, source, secure }
}

/** Reads the extensions (type, length, value); true if the client used TLS, a string if they are malformed. */
function readExtensions(header: Buffer, start: number): boolean | string {
  let secure = false
  let position = start
  while (position < header.length) {
    if (position + 3 > header.length) return 'PROXY extension cut short'
    const type = header[position]
    const length = header.readUInt16BE(position + 1)
    const value = position + 3
    if (value + length > header.length) return 'PROXY extension cut short'
    if (type === typeSsl && length >= 5) secure = (header[value] & clientSslFlag) !== 0
    if (type === typeChecksum) {
      if (length !== 4) return 'malformed PROXY checksum'
      const zeroed = Buffer.from(header)
      zeroed.fill(0, value, value + 4)
      if (crc32c(zeroed) !== header.readUInt32BE(value)) return 'wrong PROXY checksum'
    }
    position = value + length
  }
  return secure
}

function textOfIpv6(buffer: Buffer, offset: number): string {
  const groups: string[] = []
  for (let index = 0; index < 16; index += 2) groups.push(buffer.readUInt16BE(offset + index).toString(16))
  // The URL parser of the platform implements RFC 5952 (shortest form, lower case).
  const text = new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text)
  if (mapped === null) return text
  return buffer.subarray(offset + 12, offset + 16).join('.')
}

export type ProxyOutcome =
  | { readonly ok: true; readonly source: ProxySource | undefined; readonly secure: boolean }
  | { readonly ok: false; readonly reason: string }

/**
 * Reads the header from a new connection and puts back the bytes after it, so that the server handles the connection as if there had been
 * no header. `done` is called once, not before the next turn of the event loop, and never if the peer closed the connection.
 */
export function readProxyHeader(
  socket: Socket,
  after: (delayMs: number, callback: () => void) => () => void,
  timeoutMs: number,
  done: (outcome: ProxyOutcome) => void,
): void {
  let received: Buffer = Buffer.alloc(0)
  const cancelTimeout = after(timeoutMs, () => finish({ ok: false, reason: 'no PROXY header in time' }))
  socket.on('readable', onReadable)
  socket.on('close', onGone)
  socket.on('error', onGone)

  function onReadable(): void {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const header = parseProxyHeader(received)
    if (header.state === 'incomplete') return
    if (header.state === 'invalid') {
      finish({ ok: false, reason: header.reason })
      return
    }
    const rest = received.subarray(header.bytes)
    if (rest.length > 0) socket.unshift(rest)
    finish({ ok: true, source: header.source, secure: header.secure })
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

  function finish(outcome: ProxyOutcome): void {
    detach()
    // The stream leaves its `readable` mode in the next tick; the server must not attach to it before.
    setImmediate(() => {
      if (socket.destroyed) return
      done(outcome)
      socket.off('error', onGone)
    })
  }
}
