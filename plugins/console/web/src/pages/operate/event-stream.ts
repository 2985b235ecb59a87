/** Server-sent events of an operation, newest last, of which the last few are kept. */
import { useEffect, useRef, useState } from 'react'
import { urlOf, withoutEmpty } from '../../api/client.ts'

const keptMax = 500
/** Lines come faster than they can be drawn: they are shown together. */
const tellMs = 250

export interface EventStream<Line> {
  readonly lines: readonly (Line & { readonly id: number })[]
  /** Lines that the server left out because this page was too slow. */
  readonly dropped: number
  readonly isOpen: boolean
}

export function useEventStream<Line>(
  operation: 'streamTrace' | 'streamLogs',
  event: string,
  query: object,
  isPaused: boolean,
): EventStream<Line> {
  const [stream, setStream] = useState<EventStream<Line>>({ lines: [], dropped: 0, isOpen: false })
  const url = urlOf(operation, {}, withoutEmpty(query))
  const next = useRef(0)
  useEffect(() => {
    if (isPaused) return
    let waiting: (Line & { id: number })[] = []
    let dropped = 0
    const source = new EventSource(new URL(url, document.baseURI))
    source.onopen = () => setStream(before => ({ ...before, isOpen: true }))
    source.onerror = () => setStream(before => ({ ...before, isOpen: false }))
    source.addEventListener(event, ({ data }) => {
      waiting.push({ ...JSON.parse(data), id: next.current++ })
      if (waiting.length > keptMax) waiting = waiting.slice(-keptMax)
    })
    source.addEventListener('dropped', ({ data }) => {
      dropped += JSON.parse(data).count ?? 0
    })
    const timer = setInterval(() => {
      if (waiting.length === 0 && dropped === 0) return
      const [added, lost] = [waiting, dropped]
      waiting = []
      dropped = 0
      setStream(before => ({
        ...before,
        lines: [...before.lines, ...added].slice(-keptMax),
        dropped: before.dropped + lost,
      }))
    }, tellMs)
    return () => {
      clearInterval(timer)
      source.close()
    }
  }, [url, event, isPaused])
  return stream
}
