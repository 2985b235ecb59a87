/** Shows streams of server-sent events (WHATWG HTML, section 9.2), a line for each, until the user ends them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { AdminError, ConnectionError, failure } from '../errors.ts'
import type { Tone } from '../output.ts'
import { eventLine } from './answer-view.ts'
import type { AdminClient, AdminRequest } from './client.ts'

/** More than any event has. */
const eventCharsMax = 1 << 20
const pauseMsFirst = 1000
const pauseMsMax = 30_000

/** How events are shown. */
export interface EventLine {
  readonly columns: readonly string[]
  /** All others follow by name; absent: none does. */
  readonly hidden?: readonly string[]
  toneOf(event: Readonly<Record<string, unknown>>): Tone
  /** Parameters of the request when it connects again. */
  readonly again?: Readonly<Record<string, string>>
}

export interface StreamOptions {
  readonly line: EventLine | undefined
  /** Undefined: it goes on until it is interrupted. */
  readonly limit: number | undefined
}

/** Connects again when the connection breaks or the server restarts. */
export async function followEvents(
  { io, output, options: { timeout } }: Context,
  client: AdminClient,
  request: AdminRequest,
  { line, limit = Number.POSITIVE_INFINITY }: StreamOptions,
): Promise<void> {
  const enough = new AbortController()
  if (timeout !== undefined) setTimeout(() => enough.abort(), timeout).unref()
  const ended = AbortSignal.any([enough.signal, io.signal])
  let count = 0
  const take = (event: string, text: string): void => {
    if (count >= limit) return
    const data = JSON.parse(text)
    if (event === 'dropped') {
      output.note(`${data.count} were lost: they came faster than they could be shown.`)
      return
    }
    const { columns, hidden, toneOf } = line ?? { columns: Object.keys(data), toneOf: () => 'plain' as const }
    output.event(data, eventLine(data, columns, hidden), toneOf(data))
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
        query: hasBegun ? queryAgain(request, line) : request.query,
        signal: ended,
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
      if (ended.aborted) return
      if (!hasBegun || !isPassing(error)) throw error
      output.note(`${(error as Error).message} Connecting again.`)
    }
    await sleep(pauseMs, undefined, { signal: ended }).catch(() => {})
    if (ended.aborted) return
    pauseMs = Math.min(pauseMs * 2, pauseMsMax)
  }
}

/** The server is away, starts, stops, or has too many streams just now. */
function isPassing(error: unknown): boolean {
  if (error instanceof AdminError) return error.status === 503 || error.status === 429
  return error instanceof ConnectionError || (error as { code?: unknown }).code === 'ECONNREFUSED'
}

/** After a reconnect, events that were already shown are not requested again. */
function queryAgain({ query = [] }: AdminRequest, line: EventLine | undefined): AdminRequest['query'] {
  const again = line?.again ?? {}
  return [...query.filter(([name]) => !(name in again)), ...Object.entries(again)]
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
