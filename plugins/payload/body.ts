/**
 * The payload of a request as a stream of pushed chunks: decoded, counted, with back-pressure from the sink. It buffers at most
 * the slices of one read from the socket, while a promise of the sink is pending.
 */

import type { MaybePromise } from 'svc/kernel'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { PayloadDecoder } from 'svc/plugins/iam/api'
import type { Body, ExpectedDigests } from 'svc/plugins/objects/api'
import { payloadErrors } from './errors.ts'
import { checksumBytes, type ExpectedPayload } from './expected-payload.ts'

/**
 * Each piece costs a microsecond or more, so a body in pieces of one byte would cost a thousand times the CPU of its bytes. The first
 * `freePieces` may have any size; after them, pieces must have `bytesPerPiece` bytes on average.
 */
const freePieces = 10_000
const bytesPerPiece = 64

/** The client closed the connection before its request was complete. It gets no answer. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client closed the connection before the request was complete.')
    this.name = 'ClientGoneError'
  }
}

export class RequestBody implements Body {
  readonly sizeBytes: number | undefined
  /** Bytes received so far, including the framing. */
  receivedBytes = 0
  readonly #exchange: Exchange
  readonly #checksums: ChecksumsService
  readonly #expected: ExpectedPayload
  readonly #decoder: PayloadDecoder | undefined
  #expectedDigests: ExpectedDigests
  #begun = false

  constructor(
    exchange: Exchange,
    checksums: ChecksumsService,
    expected: ExpectedPayload,
    decoder: PayloadDecoder | undefined,
  ) {
    this.#exchange = exchange
    this.#checksums = checksums
    this.#expected = expected
    this.#decoder = decoder
    this.sizeBytes = expected.sizeBytes
    this.#expectedDigests = { md5: expected.md5, checksum: expected.checksum }
  }

  expectedDigests(): ExpectedDigests {
    return this.#expectedDigests
  }

  consume(sink: (chunk: Buffer) => MaybePromise<void>): Promise<void> {
    if (this.#begun) throw new Error('A body can be consumed once.')
    this.#begun = true
    this.#exchange.continue()
    return new Promise((resolve, reject) => this.#read(sink, resolve, reject))
  }

  #read(sink: (chunk: Buffer) => MaybePromise<void>, resolve: () => void, reject: (error: unknown) => void): void {
    const { request } = this.#exchange
    const { sizeBytes } = this
    const decoder = this.#decoder
    const waiting: Buffer[] = []
    let decodedBytes = 0
    let pieces = 0
    let isHeld = false
    let isEnded = false
    let isSettled = false
    /** Bytes from the socket that the sink has not taken completely. */
    let received: Buffer | undefined

    const settle = () => {
      isSettled = true
      request.off('data', onData)
      request.off('end', onEnd)
      request.off('close', onClose)
    }
    const fail = (error: unknown) => {
      if (isSettled) return
      settle()
      // The rest is not read: the code that answers decides between draining the request and closing the connection.
      request.pause()
      reject(error)
    }
    const finish = () => {
      try {
        const trailers = decoder?.end()
        if (sizeBytes !== undefined && decodedBytes !== sizeBytes) throw incomplete(sizeBytes, decodedBytes)
        if (trailers !== undefined) this.#takeTrailer(trailers)
      } catch (error) {
        fail(error)
        return
      }
      settle()
      resolve()
    }
    const deliver = (payload: Buffer) => {
      const taken = sink(payload)
      if (taken === undefined) return
      isHeld = true
      request.pause()
      taken.then(proceed, fail)
    }
    const proceed = () => {
      isHeld = false
      if (isSettled) return
      try {
        while (!isHeld && waiting.length > 0) deliver(waiting.shift()!)
      } catch (error) {
        fail(error)
        return
      }
      if (isHeld) return
      takenWhole()
      if (isEnded) finish()
      else request.resume()
    }
    const countPiece = () => {
      if (++pieces > freePieces && (pieces - freePieces) * bytesPerPiece > this.receivedBytes) {
        throw payloadErrors.InvalidChunkSizeError()
      }
    }
    const emit = (payload: Buffer) => {
      countPiece()
      decodedBytes += payload.length
      if (sizeBytes !== undefined && decodedBytes > sizeBytes) throw incomplete(sizeBytes, decodedBytes)
      if (isHeld) waiting.push(payload)
      else deliver(payload)
    }
    const onData = (bytes: Buffer) => {
      this.receivedBytes += bytes.length
      received = bytes
      try {
        if (decoder === undefined) emit(bytes)
        else {
          countPiece()
          decoder.push(bytes, emit)
        }
      } catch (error) {
        fail(error)
        return
      }
      if (!isHeld) takenWhole()
    }
    const takenWhole = () => {
      if (received !== undefined) giveBack(received)
      received = undefined
    }
    const onEnd = () => {
      isEnded = true
      if (!isHeld) finish()
    }
    // A request closes by itself after its end, which may come while the sink still holds the last chunk.
    const onClose = () => {
      if (!isEnded) fail(new ClientGoneError())
    }

    if (request.destroyed && !request.readableEnded) {
      fail(new ClientGoneError())
      return
    }
    // A request without a body has ended when it comes, and tells nobody.
    if (request.readableEnded) {
      finish()
      return
    }
    request.on('data', onData)
    request.on('end', onEnd)
    request.on('close', onClose)
  }

  #takeTrailer(trailers: ReadonlyMap<string, string>): void {
    const { trailer, algorithm, md5 } = this.#expected
    if (trailer === undefined || algorithm === undefined) return
    const text = trailers.get(trailer)
    if (text === undefined) throw payloadErrors.IncompleteBody(`The trailer ${trailer} is missing.`)
    this.#expectedDigests = {
      md5,
      checksum: { algorithm, value: checksumBytes(trailer, text, this.#checksums.size(algorithm)) },
    }
  }
}

/**
 * Frees the memory of a chunk at once. Node's parser allocates a buffer of up to 64 KiB for each. If the garbage collector
 * frees them, it needs a full collection every few hundred chunks: a third of the CPU of a large upload.
 */
function giveBack(chunk: Buffer): void {
  const { buffer } = chunk
  // A chunk that is shorter than its memory may share it with others.
  if (chunk.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

function incomplete(announcedBytes: number, receivedBytes: number) {
  return payloadErrors.IncompleteBody('The request body does not have the length that the request announced.', {
    extra: { NumberBytesExpected: String(announcedBytes), NumberBytesProvided: String(receivedBytes) },
  })
}

/** The body for operations without a payload. */
export const noBody: Body = {
  sizeBytes: 0,
  expectedDigests: () => ({ md5: undefined, checksum: undefined }),
  consume: () => Promise.resolve(),
}
