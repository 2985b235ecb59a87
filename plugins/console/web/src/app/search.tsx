/** ⌘K. What finds something is loaded after the page; what is typed meanwhile is not lost. */
import { Modal } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { Suspense, useEffect, useRef, useState } from 'react'
import { focused } from '../parts/focus-back.ts'
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
  const before = useRef<HTMLElement>(undefined)
  const open = () => {
    if (!isOpen) before.current = focused()
    setText('')
    setLeft(false)
    setOpen(true)
  }
  const done = (hasLed: boolean) => {
    setLeft(hasLed)
    setOpen(false)
  }
  // Whoever was led to a page goes on there, all others where they were: the field has taken the focus before the dialog could see that.
  useEffect(() => {
    if (isOpen) return
    const next = hasLeft ? document.getElementById('content') : before.current
    next?.focus({ preventScroll: true })
  }, [isOpen, hasLeft])
  // In every field, and in the editor of JSON, too.
  useHotkeys([['mod+K', open]], [], true)
  return (
    <>
      <Tool label={texts.search.open} icon={IconSearch} onClick={open} />
      {/* Put into the page when it opens: above what is open already. */}
      {isOpen && (
        <Modal
          opened
          onClose={() => setOpen(false)}
          returnFocus={false}
          withCloseButton={false}
          padding="xs"
          title={undefined}
          // The field is there for the first key.
          transitionProps={{ duration: 0 }}
        >
          <Suspense fallback={<Field text={text} onText={setText} />}>
            <SearchHits text={text} onText={setText} commands={commands} onDone={done} />
          </Suspense>
        </Modal>
      )}
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
