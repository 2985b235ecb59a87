/**
 * What librdkafka's brokers lack, in front of one of them: TLS with client certificates, and logging in by PLAIN and SCRAM. Sources:
 * https://kafka.apache.org/protocol, RFC 4616, RFC 5802.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Test } from 'tap'

const saslHandshake = 17
const saslAuthenticate = 36
const apiVersions = 18
const metadata = 3

export interface FrontOptions {
  readonly broker: string
  /** Its address. Default 127.0.0.1. */
  readonly host?: string
  /** The broker names itself, and later requests go to that name. */
  readonly isIntroduction?: boolean
  readonly tls?: TlsOptions
  readonly sasl?: { readonly user: string; readonly password: string }
  /** Changes an answer before it is sent; the first 8 bytes are its length and correlation id. Undefined: the connection ends. */
  readonly alter?: (apiKey: number, answer: Buffer) => Buffer | undefined
}

export interface Front {
  readonly broker: string
  /** Names of the mechanisms that clients requested. */
  readonly mechanisms: readonly string[]
}

export async function startFront(t: Test, options: FrontOptions): Promise<Front> {
  const brokerPort = Number(options.broker.split(':')[1])
  const sockets = new Set<Socket>()
  const mechanisms: string[] = []
  const { host = '127.0.0.1' } = options
  let ownPort = 0

  const accept = (socket: Socket) => {
    const broker = connect(brokerPort, '127.0.0.1')
    for (const one of [socket, broker]) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        socket.destroy()
        broker.destroy()
      })
    }
    const asked = new Map<number, number>()
    const login = options.sasl && createLogin(options.sasl)
    socket.on(
      'data',
      eachFrame(frame => {
        const apiKey = frame.readInt16BE(4)
        if (login !== undefined && (apiKey === saslHandshake || apiKey === saslAuthenticate)) {
          const { answer, mechanism } = login.take(apiKey, frame)
          if (mechanism !== undefined) mechanisms.push(mechanism)
          socket.write(answer)
          return
        }
        if (login !== undefined && !login.isDone() && apiKey !== apiVersions) return void socket.destroy()
        asked.set(frame.readInt32BE(8), apiKey)
        broker.write(frame)
      }),
    )
    broker.on(
      'data',
      eachFrame(frame => {
        const apiKey = asked.get(frame.readInt32BE(4)) ?? -1
        const answer = Buffer.from(frame)
        if (apiKey === metadata && options.isIntroduction !== true) {
          // Its own port, so that no client connects to the broker directly.
          const at = answer.indexOf(int32(brokerPort), 8)
          if (at > 0) answer.writeInt32BE(ownPort, at)
        }
        const altered = options.alter === undefined ? answer : options.alter(apiKey, answer)
        if (altered === undefined) socket.destroy()
        else socket.write(altered)
      }),
    )
  }
  const server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept)
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  ownPort = (server.address() as AddressInfo).port
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { broker: `${host}:${ownPort}`, mechanisms }
}

function eachFrame(take: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return chunk => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const frame = rest.subarray(0, 4 + rest.readInt32BE(0))
      rest = rest.subarray(frame.length)
      take(frame)
    }
  }
}

function createLogin({ user, password }: { user: string; password: string }) {
  let mechanism = ''
  let isDone = false
  let scram: { readonly firstBare: string; readonly serverFirst: string; readonly salt: Buffer } | undefined

  const authenticate = (bytes: Buffer): Buffer | undefined => {
    if (mechanism === 'PLAIN') {
      isDone = bytes.toString() === `\0${user}\0${password}`
      return isDone ? Buffer.alloc(0) : undefined
    }
    const hash = mechanism === 'SCRAM-SHA-256' ? 'sha256' : 'sha512'
    const text = bytes.toString()
    if (scram === undefined) {
      const firstBare = text.slice('n,,'.length)
      const nonce = `${/r=([^,]+)/.exec(firstBare)![1]}${randomBytes(9).toString('base64')}`
      const salt = randomBytes(16)
      scram = { firstBare, salt, serverFirst: `r=${nonce},s=${salt.toString('base64')},i=4096` }
      return Buffer.from(scram.serverFirst)
    }
    const hmac = (key: Buffer, data: string) => createHmac(hash, key).update(data).digest()
    const salted = pbkdf2Sync(password, scram.salt, 4096, hash === 'sha256' ? 32 : 64, hash)
    const clientKey = hmac(salted, 'Client Key')
    const [withoutProof, proof] = text.split(',p=') as [string, string]
    const message = `${scram.firstBare},${scram.serverFirst},${withoutProof}`
    const signature = hmac(createHash(hash).update(clientKey).digest(), message)
    const expected = Buffer.from(clientKey.map((byte, i) => byte ^ signature[i]!))
    isDone = Buffer.from(proof, 'base64').equals(expected) && scram.firstBare.startsWith(`n=${user},`)
    return isDone ? Buffer.from(`v=${hmac(hmac(salted, 'Server Key'), message).toString('base64')}`) : undefined
  }

  return {
    isDone: () => isDone,
    take(apiKey: number, frame: Buffer): { answer: Buffer; mechanism?: string } {
      const correlation = frame.subarray(8, 12)
      const body = 14 + frame.readInt16BE(12)
      if (apiKey === saslHandshake) {
        mechanism = frame.toString('utf8', body + 2, body + 2 + frame.readInt16BE(body))
        const name = Buffer.from(mechanism)
        return { mechanism, answer: framed(correlation, int16(0), int32(1), int16(name.length), name) }
      }
      // Version 2: one byte of tags after the head, then compact bytes.
      let at = body + 1
      let length = 0
      for (let shift = 0; ; shift += 7) {
        const byte = frame[at++]!
        length |= (byte & 127) << shift
        if (byte < 128) break
      }
      const bytes = authenticate(frame.subarray(at, at + length - 1))
      // A broker that repeats the request in its error.
      const words = Buffer.from(`no ${user} with ${password}: ${frame.toString('latin1', at, at + 40)}`).subarray(
        0,
        120,
      )
      const tags = Buffer.from([0])
      const answer =
        bytes === undefined
          ? framed(correlation, tags, int16(58), compact(words), compact(Buffer.alloc(0)), Buffer.alloc(8), tags)
          : framed(correlation, tags, int16(0), tags, compact(bytes), Buffer.alloc(8), tags)
      return { answer }
    },
  }
}

function framed(...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([int32(body.length), body])
}

function compact(bytes: Buffer): Buffer {
  const length = bytes.length + 1
  return Buffer.concat([Buffer.from(length < 128 ? [length] : [(length & 127) | 128, length >> 7]), bytes])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
