/** Header fields that many answers have in common: checked once, and kept in the form in which they are sent. */
import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http'
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

export interface HeaderBlock {
  /** Names and values in turn. */
  readonly list: readonly string[]
  /** Lines, each with its end. */
  readonly text: string
}

/** `list`: names and values in turn. Undefined where one is no header, or one of the connection: then Node.js has to look at all of them. */
export function headerBlock(list: readonly string[]): HeaderBlock | undefined {
  let text = ''
  try {
    for (let index = 0; index < list.length; index += 2) {
      const [name, value] = [list[index] as string, list[index + 1] as string]
      validateHeaderName(name)
      validateHeaderValue(name, value)
      if (ofNode.has(name.toLowerCase())) return undefined
      text += `${name}: ${value}\r\n`
    }
  } catch {
    return undefined
  }
  return { list, text }
}

/** Writes the head of an answer with a body: the fields of the block, then `more`, names and values in turn. */
export function writeBlock(
  response: ServerResponse,
  statusCode: number,
  block: HeaderBlock,
  more: readonly string[],
): void {
  if (response instanceof HttpResponse) response.writeBlock(statusCode, block, more)
  else response.writeHead(statusCode, [...block.list, ...more])
}
