/** Server-sent events of an operation, newest last, of which the last few are kept. */
import { useEffect, useRef, useState } from 'react'
import { call, endSessionAfter, urlOf, withoutEmpty } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { useMakesRoom } from './live-tabs.ts'

const keptMax = 500
/** Lines come faster than they can be drawn: they are shown together. */
const tellMs = 250
const retryMs = 3000
/** A line that is dead tells nothing: after so long without an event the server is asked whether it is there. */
const silenceMs = 45_000
const answerMs = 15_000

export interface EventStream<Line> {
  readonly lines: readonly (Line & { readonly id: number })[]
  /** Lines that the server left out because this page was too slow. */
  readonly dropped: number
  readonly isOpen: boolean
}

/** `narrowing`: parameters that leave lines out. Those that have come before it changes stay. */
export function useEventStream<Line>(
  operation: 'streamTrace' | 'streamLogs',
  event: string,
  { query, narrowing }: { readonly query: object; readonly narrowing: object },
  isPaused: boolean,
): EventStream<Line> {
  const [stream, setStream] = useState<EventStream<Line>>({ lines: [], dropped: 0, isOpen: false })
  const question = urlOf(operation, {}, withoutEmpty(query))
  const url = urlOf(operation, {}, withoutEmpty({ ...query, ...narrowing }))
  const next = useRef(0)
  /** What has come: a stream that is opened again may begin with the same lines. */
  const seen = useRef(new Set<string>())
  const asked = useRef(question)
  const makesRoom = useMakesRoom(!isPaused)
  useEffect(() => {
    if (asked.current !== question) {
      // Another question has other lines.
      asked.current = question
      seen.current.clear()
      setStream({ lines: [], dropped: 0, isOpen: false })
    }
    if (isPaused || makesRoom) return
    let waiting: (Line & { id: number })[] = []
    let dropped = 0
    let source: EventSource
    let earlier = new Set<string>()
    let retry: ReturnType<typeof setTimeout> | undefined
    let silence: ReturnType<typeof setTimeout> | undefined
    const hear = () => {
      clearTimeout(silence)
      silence = setTimeout(() => void look(), silenceMs)
    }
    const look = async () => {
      const asked = source
      const late = new AbortController()
      const timer = setTimeout(() => late.abort(), answerMs)
      const isThere = await call('getSession', { signal: late.signal }).then(
        () => true,
        error => error instanceof Problem && error.status > 0,
      )
      clearTimeout(timer)
      if (source !== asked || source.readyState === EventSource.CLOSED) return
      if (isThere) return hear()
      source.close()
      setStream(before => ({ ...before, isOpen: false }))
      retry = setTimeout(open, retryMs)
    }
    const open = () => {
      hear()
      source = new EventSource(new URL(url, document.baseURI))
      source.onopen = () => {
        // Two lines of one millisecond can be the same: only what came before it was opened comes twice.
        earlier = new Set(seen.current)
        hear()
        setStream(before => ({ ...before, isOpen: true }))
      }
      source.onerror = () => {
        setStream(before => ({ ...before, isOpen: false }))
        // The browser tries again by itself, unless it got an answer that is no stream: of a proxy, or of a server that starts.
        if (source.readyState !== EventSource.CLOSED) return
        retry = setTimeout(open, retryMs)
        // If the session has ended, this leads to the sign-in.
        call('getPermissions').catch(error => error instanceof Problem && endSessionAfter(error))
      }
      source.addEventListener(event, ({ data }) => {
        hear()
        if (earlier.has(data)) return
        seen.current.add(data)
        if (seen.current.size > 2 * keptMax) seen.current.delete(seen.current.values().next().value!)
        waiting.push({ ...JSON.parse(data), id: next.current++ })
        if (waiting.length > keptMax) waiting = waiting.slice(-keptMax)
      })
      source.addEventListener('dropped', ({ data }) => {
        dropped += JSON.parse(data).count ?? 0
      })
    }
    open()
    const tell = () => {
      if (waiting.length === 0 && dropped === 0) return
      const [added, lost] = [waiting, dropped]
      waiting = []
      dropped = 0
      setStream(before => ({
        ...before,
        lines: [...before.lines, ...added].slice(-keptMax),
        dropped: before.dropped + lost,
      }))
    }
    const timer = setInterval(tell, tellMs)
    return () => {
      clearInterval(timer)
      // What came in the last moment is seen already and would not come again. Of another question it is cleared next.
      tell()
      clearTimeout(retry)
      clearTimeout(silence)
      source.close()
      setStream(before => ({ ...before, isOpen: false }))
    }
  }, [question, url, event, isPaused, makesRoom])
  return stream
}
