/** The row of tabs above their panels: on one line, which scrolls where a window is narrow, to the tab that is chosen. */
import { Tabs } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'

export interface TabRowProps {
  readonly chosen: string
  readonly tabs: readonly (readonly [value: string, label: ReactNode])[]
}

export function TabRow({ chosen, tabs }: TabRowProps) {
  const row = useRef<HTMLDivElement>(null)
  /** Whether there are tabs out of view. */
  const [more, setMore] = useState({ before: false, after: false })
  const look = () => {
    const { scrollLeft = 0, clientWidth = 0, scrollWidth = 0 } = row.current ?? {}
    const before = scrollLeft > 1
    const after = scrollLeft + clientWidth < scrollWidth - 1
    setMore(known => (known.before === before && known.after === after ? known : { before, after }))
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the tab that is chosen, and how many there are, decide what is in view
  useEffect(() => {
    const list = row.current
    if (list === null) return
    const show = () => {
      const tab = list.querySelector<HTMLElement>('[aria-selected=true]')
      // The page itself must not scroll.
      if (tab !== null) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2
      look()
    }
    show()
    const observer = new ResizeObserver(show)
    observer.observe(list)
    return () => observer.disconnect()
  }, [chosen, tabs.length])
  return (
    <Tabs.List ref={row} mb="md" className="tab-row" onScroll={look} mod={more}>
      {tabs.map(([value, label]) => (
        <Tabs.Tab key={value} value={value}>
          {label}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  )
}
