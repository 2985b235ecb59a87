/**
 * A browser has six connections to a server over HTTP/1.1 for all of its tabs, and a live page keeps one for good: with six of them, or two
 * beside uploads, nothing else would load. Of the tabs that nobody looks at only the latest keeps its own; the others go on when somebody
 * looks at them again.
 */
import { useEffect, useState } from 'react'

/** Whether this tab makes room. */
export function useMakesRoom(isLive: boolean): boolean {
  const [makesRoom, setMakesRoom] = useState(false)
  useEffect(() => {
    if (!isLive) return
    const tabs = new BroadcastChannel('svc-live-pages')
    let isLatest = true
    const look = () => setMakesRoom(document.hidden && !isLatest)
    const onVisible = () => {
      if (!document.hidden && !isLatest) begin()
      look()
    }
    const begin = () => {
      isLatest = true
      tabs.postMessage('begins')
    }
    tabs.addEventListener('message', () => {
      isLatest = false
      look()
    })
    document.addEventListener('visibilitychange', onVisible)
    begin()
    return () => {
      document.removeEventListener('visibilitychange', onVisible)
      tabs.close()
      setMakesRoom(false)
    }
  }, [isLive])
  return makesRoom
}
