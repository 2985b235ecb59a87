/** Questions to the person at the terminal. */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { failure, Interrupted, usageError } from './errors.ts'
import { wrapWords } from './formatting.ts'
import type { Io } from './io.ts'

const secretBytesMax = 4096
/** The input after a question. */
const answerChars = ' [y/N] yes'.length

/** 240 bits. */
export const randomSecret = (): string => randomBytes(30).toString('base64url')

/** Reads a line without showing it. Throws a usage error where there is no terminal. */
export async function askSecret(io: Io, question: string, otherwise: string): Promise<string> {
  const { stdin } = io
  if (!stdin.isTTY || stdin.setRawMode === undefined) {
    throw usageError(`There is no terminal to ask for the secret key: ${otherwise}.`)
  }
  io.stderr.write(question)
  stdin.setRawMode(true)
  let text = ''
  try {
    stdin.setEncoding('utf8')
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
      for (const character of chunk as string) {
        if (character === '\r' || character === '\n' || character === '\u0004') return text
        if (character === '\u0003') throw usageError('Interrupted.')
        if (character === '\u007f' || character === '\b') text = [...text].slice(0, -1).join('')
        else if (text.length < secretBytesMax) text += character
      }
    }
    return text
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    io.stderr.write('\n')
  }
}

/** The first line of standard input, for pipes. */
export const readSecret = (io: Io): Promise<string> => firstLineOf(io.stdin)

/** A secret from a file or pipe without other content. */
export async function firstLineOf(source: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk)
    chunks.push(bytes)
    size += bytes.length
    if (size > secretBytesMax) throw usageError('That is no secret key: it is longer than 4096 bytes.')
  }
  return Buffer.concat(chunks).toString('utf8').split(/\r?\n/, 1)[0]!
}

/** Asks whether to continue, and rejects where not. Without a terminal to answer at, the caller's flag decides. */
export async function requireConfirmed(io: Io, isAssumed: boolean, question: string): Promise<void> {
  if (isAssumed) return
  if (!io.stdin.isTTY) throw usageError(`${question} There is no terminal to answer at: add --yes.`)
  // A document was typed there: who waited for an answer would end in silence.
  if (io.stdin.readableEnded) throw usageError(`${question} The input has ended, nobody can answer: add --yes.`)
  const lines = createInterface({ input: io.stdin, output: io.stderr })
  try {
    // A terminal that does not know its width says 0.
    const shown = wrapWords(question, (io.stderr.columns || Number.POSITIVE_INFINITY) - answerChars).join('\n')
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('SIGINT', () => reject(new Interrupted()))
      // The end of the input (Ctrl-D) is no answer.
      lines.once('close', () => resolve(''))
      lines.setPrompt(`${shown} [y/N] `)
      lines.prompt()
    })
    if (!/^y(es)?$/i.test(answer.trim())) throw failure('not_confirmed', 'Nothing was changed.')
  } finally {
    lines.close()
  }
}
