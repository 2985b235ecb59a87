/**
 * The payload of a request as a stream of pushed chunks: unwrapped, counted, held back when the sink is slow. Nothing is
 * gathered here: at most the slices of one read from the socket wait while a sink's promise is pending.
 */

import type { MaybePromise } from 'svc/kernel'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { PayloadDecoder } from 'svc/plugins/iam/api'
import type { Body, ExpectedDigests } from 'svc/plugins/objects/api'
import { checksumBytes, type PayloadClaims } from './claims.ts'
import { payloadErrors } from './errors.ts'

/**
 * Each piece costs a microsecond or more, however short it is: a body in pieces of one byte would cost a thousand times what its bytes
 * do. So many pieces are free, and beyond them one for so many bytes.
 */
const freePieces = 10_000
const bytesPerPiece = 64

/** The client went away before its request was complete. Never answered: nobody is there to read it. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client closed the connection before the request was complete.')
    this.name = 'ClientGoneError'
  }
}

export class RequestBody implements Body {
  readonly sizeBytes: number | undefined
  /** Bytes that came over the wire so far, framing included. */
  receivedBytes = 0
  readonly #exchange: Exchange
  readonly #checksums: ChecksumsService
  readonly #given: PayloadClaims
  readonly #decoder: PayloadDecoder | undefined
  #expectedDigests: ExpectedDigests
  #begun = false

  constructor(
    exchange: Exchange,
    checksums: ChecksumsService,
    given: PayloadClaims,
    decoder: PayloadDecoder | undefined,
  ) {
    this.#exchange = exchange
    this.#checksums = checksums
    this.#given = given
    this.#decoder = decoder
    this.sizeBytes = given.sizeBytes
    this.#expectedDigests = { md5: given.md5, checksum: given.checksum }
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
    /** What came from the socket and is not wholly taken yet. */
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
      // The rest stays where it is: whoever answers decides between reading it away and closing the connection.
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
    request.on('data', onData)
    request.on('end', onEnd)
    request.on('close', onClose)
  }

  #takeTrailer(trailers: ReadonlyMap<string, string>): void {
    const { trailer, algorithm, md5 } = this.#given
    if (trailer === undefined || algorithm === undefined) return
    const text = trailers.get(trailer)
    if (text === undefined) throw payloadErrors.IncompleteBody(`The trailer ${trailer} did not come.`)
    this.#expectedDigests = {
      md5,
      checksum: { algorithm, value: checksumBytes(trailer, text, this.#checksums.size(algorithm)) },
    }
  }
}

/**
 * Frees the memory of a chunk at once. Node's parser makes a buffer of its own for each, 64 KiB of them a time; left to
 * the garbage collector they cost a full collection every few hundred chunks, a third of a large upload's CPU.
 */
function giveBack(chunk: Buffer): void {
  const { buffer } = chunk
  // Shorter than its memory: others may have parts of it.
  if (chunk.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

function incomplete(announcedBytes: number, receivedBytes: number) {
  return payloadErrors.IncompleteBody('The request body does not have the length that the request announced.', {
    extra: { NumberBytesExpected: String(announcedBytes), NumberBytesProvided: String(receivedBytes) },
  })
}

/** What an operation gets that takes no payload. */
export const noBody: Body = {
  sizeBytes: 0,
  expectedDigests: () => ({ md5: undefined, checksum: undefined }),
  consume: () => Promise.resolve(),
}
