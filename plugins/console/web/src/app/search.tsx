/** ⌘K. What finds something is loaded after the page; what is typed meanwhile is not lost. */
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
  const [text, setText] = useState('')
  const open = () => {
    setText('')
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
        // The field is there for the first key.
        transitionProps={{ duration: 0 }}
      >
        <Suspense fallback={<Field text={text} onText={setText} />}>
          {isOpen && <SearchHits text={text} onText={setText} commands={commands} onDone={done} />}
        </Suspense>
      </Modal>
    </>
  )
}

interface FieldProps {
  readonly text: string
  readonly onText: (text: string) => void
}

/** Until what finds something is loaded. The first load has no fields of Mantine. */
function Field({ text, onText }: FieldProps) {
  return (
    <input
      ref={input => input?.focus()}
      className="search-field"
      aria-label={texts.search.label}
      placeholder={texts.search.placeholder}
      value={text}
      onChange={event => onText(event.currentTarget.value)}
    />
  )
}
