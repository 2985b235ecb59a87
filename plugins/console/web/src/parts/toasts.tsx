/** Short notices. They cover nothing that one may want to press: the rest of the page knows how high they are. */
import { Notifications } from '@mantine/notifications'
import { useEffect } from 'react'

const gapPx = 16

export function Toasts() {
  useEffect(() => {
    const { documentElement: root } = document
    const element = document.querySelector<HTMLElement>('.mantine-Notifications-root[data-position="bottom-right"]')
    if (element === null) return
    let before = 0
    const observer = new ResizeObserver(() => {
      const { offsetHeight } = element
      const height = offsetHeight === 0 ? 0 : offsetHeight + 2 * gapPx
      if (height === before) return
      // Whoever is at the foot of a page stays there: what stood there moves up.
      const isAtFoot = scrollY + innerHeight >= root.scrollHeight - 2
      root.style.setProperty('--toasts-height', `${height}px`)
      if (isAtFoot && height > before) scrollTo({ top: root.scrollHeight, behavior: 'instant' })
      before = height
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return <Notifications position="bottom-right" containerWidth={400} withinPortal={false} />
}
