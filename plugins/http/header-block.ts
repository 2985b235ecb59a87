/** Header fields that many answers have in common: checked once, and kept in the form in which they are sent. */
import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import { HttpResponse } from './response.ts'

/** Node.js decides by them how the connection goes on, or adds them itself. */
const ofNode: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'expect',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export class HeaderBlock {
  /** Names and values in turn. */
  readonly list: readonly string[]
  /** Lines, each with its end. */
  readonly #text: string
  #begin: { readonly statusCode: number; readonly text: string; readonly bytes: Buffer } | undefined

  constructor(list: readonly string[], text: string) {
    this.list = list
    this.#text = text
  }

  /** The first lines of an answer: its status, then the block. */
  begin(statusCode: number): { readonly text: string; readonly bytes: Buffer } {
    if (this.#begin?.statusCode !== statusCode) {
      const text = `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? ''}\r\n${this.#text}Server: svc\r\n`
      this.#begin = { statusCode, text, bytes: Buffer.from(text, 'latin1') }
    }
    return this.#begin
  }
}

/** `list`: names and values in turn. Undefined where one is no header, or one of the connection: then Node.js has to look at all of them. */
export function headerBlock(list: readonly string[]): HeaderBlock | undefined {
  const text = headerLines(list)
  return text === undefined ? undefined : new HeaderBlock(list, text)
}

/** Names that were looked at. */
const known = new Set<string>()
const knownMax = 256

function isPlainName(name: string): boolean {
  if (known.has(name)) return true
  validateHeaderName(name)
  if (ofNode.has(name.toLowerCase())) return false
  if (known.size < knownMax) known.add(name)
  return true
}

function headerLines(list: readonly string[]): string | undefined {
  let text = ''
  try {
    for (let index = 0; index < list.length; index += 2) {
      const [name, value] = [list[index] as string, list[index + 1] as string]
      if (!isPlainName(name)) return undefined
      validateHeaderValue(name, value)
      text += `${name}: ${value}\r\n`
    }
  } catch {
    return undefined
  }
  return text
}

/** Writes the head of an answer with a body of so many bytes: the fields of the block, then `more`, names and values in turn. */
export function writeBlock(
  response: ServerResponse,
  statusCode: number,
  block: HeaderBlock,
  more: readonly string[],
  sizeBytes: number,
): void {
  if (response instanceof HttpResponse && response.takesBlock) {
    const lines = headerLines(more)
    if (lines !== undefined) {
      response.writeBlock(statusCode, block.begin(statusCode), lines, sizeBytes)
      return
    }
  }
  response.writeHead(statusCode, [...block.list, ...more, 'Content-Length', String(sizeBytes)])
}
