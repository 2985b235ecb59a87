/** Streams of server-sent events (WHATWG HTML, section 9.2), a line for each, until somebody has seen enough. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { ConnectionError, failure } from '../errors.ts'
import { eventLine } from './answer-view.ts'
import type { AdminClient, AdminRequest } from './client.ts'

/** More than any event has. */
const eventCharsMax = 1 << 20
const pauseMsFirst = 1000
const pauseMsMax = 30_000

export interface StreamOptions {
  readonly columns: readonly string[] | undefined
  /** Undefined: it goes on until it is interrupted. */
  readonly limit: number | undefined
}

/** Connects again when the connection breaks or the server restarts. */
export async function followEvents(
  { io, output }: Context,
  client: AdminClient,
  request: AdminRequest,
  { columns, limit = Number.POSITIVE_INFINITY }: StreamOptions,
): Promise<void> {
  const enough = new AbortController()
  let count = 0
  const take = (event: string, text: string): void => {
    if (count >= limit) return
    const data = JSON.parse(text)
    if (event === 'dropped') {
      output.note(`${data.count} were lost: they came faster than they could be shown.`)
      return
    }
    output.result(data, eventLine(data, columns))
    if (++count >= limit) enough.abort()
  }
  let hasBegun = false
  let pauseMs = pauseMsFirst
  while (count < limit) {
    const parse = createEventParser(take)
    const decoder = new TextDecoder()
    try {
      await client.send({
        ...request,
        signal: AbortSignal.any([enough.signal, io.signal]),
        sink: {
          start() {
            hasBegun = true
            pauseMs = pauseMsFirst
          },
          data(chunk) {
            parse(decoder.decode(chunk, { stream: true }))
            return output.drained()
          },
        },
      })
      output.note('The server ended the stream; connecting again.')
    } catch (error) {
      if (enough.signal.aborted || io.signal.aborted) return
      if (!hasBegun || !(error instanceof ConnectionError || (error as { code?: unknown }).code === 'ECONNREFUSED'))
        throw error
      output.note(`${(error as Error).message} Connecting again.`)
    }
    await sleep(pauseMs, undefined, { signal: io.signal })
    pauseMs = Math.min(pauseMs * 2, pauseMsMax)
  }
}

/** Takes text as it comes; calls for each event that is complete. */
export function createEventParser(onEvent: (event: string, data: string) => void): (text: string) => void {
  let rest = ''
  let event = ''
  let data: string[] = []
  return text => {
    rest += text
    if (rest.length > eventCharsMax) throw failure('bad_answer', 'An event of the stream is larger than any should be.')
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      const line = rest.slice(0, end).replace(/\r$/, '')
      rest = rest.slice(end + 1)
      if (line === '') {
        if (data.length > 0) onEvent(event || 'message', data.join('\n'))
        event = ''
        data = []
        continue
      }
      const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line) as unknown as [string, string, string]
      if (name === 'event') event = value
      else if (name === 'data') data.push(value)
    }
  }
}
