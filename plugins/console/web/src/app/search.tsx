/** ⌘K. What finds something is loaded when somebody looks for it first. */
import { Modal } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { Suspense, useEffect, useState } from 'react'
import { Tool } from '../parts/tool.tsx'
import { texts } from '../texts/index.ts'
import { lazyPage } from './lazy-page.ts'

/** What the search can do at once, beside what it leads to. */
export interface Command {
  readonly label: string
  readonly words: readonly string[]
  readonly run: () => void
}

const SearchHits = lazyPage(() => import('./search-hits.tsx'), 'SearchHits')

export function Search({ commands }: { commands: readonly Command[] }) {
  const [isOpen, setOpen] = useState(false)
  const [hasLeft, setLeft] = useState(false)
  const open = () => {
    setLeft(false)
    setOpen(true)
  }
  const done = (hasLed: boolean) => {
    setLeft(hasLed)
    setOpen(false)
  }
  // Whoever was led to a page goes on there.
  useEffect(() => {
    if (hasLeft) document.getElementById('content')?.focus({ preventScroll: true })
  }, [hasLeft])
  useHotkeys([['mod+K', open]], [])
  return (
    <>
      <Tool label={texts.search.open} icon={IconSearch} onClick={open} />
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        returnFocus={!hasLeft}
        withCloseButton={false}
        padding="xs"
        title={undefined}
      >
        <Suspense>{isOpen && <SearchHits commands={commands} onDone={done} />}</Suspense>
      </Modal>
    </>
  )
}
