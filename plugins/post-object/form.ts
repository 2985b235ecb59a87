/**
 * Reads multipart/form-data: first the fields, up to the file, then the file as a stream. What follows the file is read and ignored,
 * as on AWS, but the form must be whole: a file whose form breaks off is never complete. Memory is bounded by the fields (20 KiB) and
 * by what the parser holds back while the file's consumer is busy. Source: RFC 7578; AWS "POST Object".
 */
import { createRequire } from 'node:module'
import type { Readable } from 'node:stream'
import type { BusboyConfig, BusboyInstance } from '@fastify/busboy'
import type { CatalogError, MaybePromise } from 'svc/kernel'
import type { Body } from 'svc/plugins/objects/api'
import { formErrors } from './errors.ts'
import { fieldText, onHeads, type PartHead, type RawHead, readHead } from './part-heads.ts'

/** Names and values of all fields before the file, in bytes, as on AWS. */
const fieldBytesMax = 20 * 1024
const fieldsMax = 200

export interface PostedForm {
  /** By lower-case name; each came once. */
  readonly fields: ReadonlyMap<string, string>
  /** Without folders; empty where the browser gave none. */
  readonly fileName: string
  /** Feeds the file; resolves when the whole form has come. */
  consume(sink: (chunk: Buffer) => MaybePromise<void>): Promise<void>
  /** Gives the rest of the body up: to be called when the file is not wanted. Nothing is read any more. */
  abandon(): void
}

const options: Omit<BusboyConfig, 'headers'> = {
  // A character for each byte: the parser would take what is not of its character set for U+FFFD, and two keys for one.
  defCharset: 'latin1',
  limits: {
    fieldSize: fieldBytesMax + 1,
    fields: fieldsMax + 1,
    headerPairs: 32,
    headerSize: 16 * 1024,
  },
  isPartAFile: name => name?.toLowerCase() === 'file',
}

/** Resolves when the file begins. Rejects with `formErrors`, and with what reading the body rejects with. */
export function readForm(body: Body, contentType: string): Promise<PostedForm> {
  return new Promise((resolve, reject) => {
    const parser = createParser(contentType)
    const fields = new Map<string, string>()
    let fieldBytes = 0
    let part: PartHead = {}
    let file: Readable | undefined
    let failure: unknown
    let refuseChunk: ((error: unknown) => void) | undefined

    const fail = (error: unknown) => {
      failure ??= error
      refuseChunk?.(failure)
    }
    const onHead = (head: RawHead) => {
      if (file !== undefined) return
      try {
        part = readHead(head)
      } catch (error) {
        fail(error)
      }
    }
    const onField = (name: string | undefined, bytes: string) => {
      if (file !== undefined) return
      if (name === undefined || name === '') return fail(formErrors.MalformedPOSTRequest('A field has no name.'))
      fieldBytes += Buffer.byteLength(name) + bytes.length
      if (fieldBytes > fieldBytesMax || fields.size >= fieldsMax) {
        return fail(formErrors.MaxPostPreDataLengthExceededError())
      }
      const lower = name.toLowerCase()
      if (fields.has(lower)) return fail(formErrors.MalformedPOSTRequest(`The field ${name} came twice.`))
      try {
        fields.set(lower, fieldText(name, bytes, part.charset))
      } catch (error) {
        fail(error)
      }
    }
    const onFile = (_name: string, stream: Readable, fileName: string | undefined) => {
      if (file !== undefined || failure !== undefined) {
        stream.on('error', fail)
        stream.resume()
        return
      }
      file = stream
      stream.on('error', () => fail(formErrors.MalformedPOSTRequest('The form breaks off.')))
      resolve({
        fields,
        fileName: part.fileName ?? fileName ?? '',
        consume: sink => consumeFile(stream, whole, fail, sink),
        abandon: () => fail(new AbandonedError()),
      })
    }
    onHeads(parser, onHead)
    parser.on('field', onField)
    parser.on('file', onFile)
    parser.on('error', cause => fail(malformed(cause)))

    /** The parser keeps slices of what it is given, and a chunk is only lent. */
    const feed = (chunk: Buffer) =>
      new Promise<void>((taken, refused) => {
        if (failure !== undefined) return refused(failure)
        refuseChunk = refused
        parser.write(Buffer.from(chunk), error => (error ? fail(malformed(error)) : taken()))
      })
    const whole = body.consume(feed).then(() => {
      return new Promise<void>((done, refused) => {
        if (failure !== undefined) return refused(failure)
        refuseChunk = refused
        parser.once('finish', done)
        parser.end()
      })
    })
    whole.then(() => {
      if (file === undefined) reject(formErrors.IncorrectNumberOfFilesInPostRequest())
    }, reject)
  })
}

class AbandonedError extends Error {
  constructor() {
    super('The form was given up.')
    this.name = 'AbandonedError'
  }
}

function createParser(contentType: string): BusboyInstance {
  // Loaded with the first form: a start is to do without it.
  const { Busboy } = createRequire(import.meta.url)('@fastify/busboy') as typeof import('@fastify/busboy')
  try {
    return new Busboy({ ...options, headers: { 'content-type': contentType } })
  } catch (cause) {
    throw malformed(cause)
  }
}

function malformed(cause: unknown): CatalogError {
  return formErrors.MalformedPOSTRequest(undefined, { cause })
}

function consumeFile(
  stream: Readable,
  whole: Promise<void>,
  fail: (error: unknown) => void,
  sink: (chunk: Buffer) => MaybePromise<void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const refuse = (error: unknown) => {
      isOver = true
      fail(error)
      reject(error)
    }
    stream.on('data', (chunk: Buffer) => {
      if (isOver) return
      try {
        const taken = sink(chunk)
        if (taken === undefined) return
        stream.pause()
        taken.then(() => stream.resume(), refuse)
      } catch (error) {
        refuse(error)
      }
    })
    whole.then(resolve, reject)
  })
}
