/** Sends one message to a DNS server and receives its answer, over its own connection. */
import { createSocket } from 'node:dgram'
import type { LookupAddress } from 'node:dns'
import { connect } from 'node:net'
import type { AddressGuard } from 'svc/plugins/http-client/api'

const answerMs = 10_000
/** Datagrams are lost: the same is sent again while there is no answer. */
const resendMs = 2000
const messageBytesMax = 65_535
const headerBytes = 12

export interface Server {
  readonly host: string
  readonly port: number
}

export interface ExchangeOptions {
  readonly server: Server
  readonly guard: AddressGuard
  readonly signal: AbortSignal
}

/** The answer with the id of the message. Rejects with a sentence without a dot. */
export function exchange(transport: 'tcp' | 'udp', message: Buffer, options: ExchangeOptions): Promise<Buffer> {
  const { server, guard, signal } = options
  signal.throwIfAborted()
  guard.check(server.host)
  const place = `the nameserver ${server.host}:${server.port}`
  return new Promise((resolve, reject) => {
    let close = () => {}
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      close()
      finish()
    }
    const fail = (error: Error) => settle(() => reject(error))
    const abort = () => fail(signal.reason as Error)
    const timer = setTimeout(() => fail(new Error(`${place} gave no answer within ${answerMs / 1000} s`)), answerMs)
    signal.addEventListener('abort', abort, { once: true })
    const take = (bytes: Buffer): void => {
      const isAnswer = bytes.length >= headerBytes && bytes.readUInt16BE(0) === message.readUInt16BE(0)
      if (isAnswer && (bytes[2]! & 0x80) !== 0) settle(() => resolve(bytes))
      // Over UDP any host can send an answer; over TCP only the server can.
      else if (transport === 'tcp') fail(new Error(`${place} gave a malformed answer`))
    }
    const lost = (error: Error) => fail(new Error(`${place}: ${error.message}`))
    close = transport === 'tcp' ? overTcp(message, options, take, lost) : overUdp(message, options, take, lost)
  })
}

type Take = (bytes: Buffer) => void
type Lost = (error: Error) => void

/** Prefixes each message with its length (RFC 1035, section 4.2.2). Returns the function that closes the connection. */
function overTcp(message: Buffer, { server, guard }: ExchangeOptions, take: Take, lost: Lost): () => void {
  const socket = connect({ ...server, lookup: guard.lookup })
  let received = Buffer.alloc(0)
  socket.once('error', lost)
  socket.once('close', () => lost(new Error('it ended the connection without an answer')))
  socket.on('data', chunk => {
    received = Buffer.concat([received, chunk])
    const end = received.length < 2 ? Number.POSITIVE_INFINITY : 2 + received.readUInt16BE(0)
    if (received.length >= end) take(received.subarray(2, end))
    else if (received.length > messageBytesMax + 2) lost(new Error('its answer is too long'))
  })
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  socket.write(Buffer.concat([length, message]))
  return () => {
    socket.removeAllListeners('close')
    socket.destroy()
  }
}

function overUdp(message: Buffer, { server, guard }: ExchangeOptions, take: Take, lost: Lost): () => void {
  let resend: NodeJS.Timeout | undefined
  let end = () => {}
  let isEnded = false
  guard.lookup(server.host, { all: true }, (error, found) => {
    if (isEnded) return
    if (error !== null) return lost(error)
    const [first] = found as LookupAddress[]
    const socket = createSocket(first!.family === 6 ? 'udp6' : 'udp4')
    end = () => socket.close()
    socket.on('error', lost)
    socket.on('message', take)
    // Connected: the system drops datagrams of other senders, and reports a closed port.
    socket.connect(server.port, first!.address, () => {
      const send = () => socket.send(message)
      send()
      resend = setInterval(send, resendMs)
    })
  })
  return () => {
    isEnded = true
    clearInterval(resend)
    end()
  }
}
