/** A dialog in which somebody types: closing it by Escape, X or Cancel asks while anything is not saved, and a click beside it does nothing. */
import { Modal } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react'
import { texts } from '../texts/index.ts'
import { useFocusBack } from './focus-back.ts'
import { notifyGoesOn } from './gone.ts'
import { LeaveQuestion, type LeaveQuestionProps, UnsavedInDialog } from './unsaved.tsx'

export interface FormModalProps {
  readonly title: string
  readonly size?: 'md' | 'lg' | 'xl'
  /** What was typed is on its way, which closing does not call off. */
  readonly isSent?: boolean
  /** Asked where closing loses something else than what was typed. */
  readonly question?: Pick<LeaveQuestionProps, 'title' | 'text' | 'leave'> | undefined
  readonly onClose: () => void
  /** Gets what Cancel has to call. An `Unsaved` in it says whether there is anything to lose. */
  readonly children: (close: () => void) => ReactNode
}

export function FormModal({ title, size = 'md', isSent = false, question, onClose, children }: FormModalProps) {
  const [unsaved] = useState(() => new Set<object>())
  const [isAsking, { open: ask, close: stay }] = useDisclosure()
  const content = useRef<HTMLDivElement>(null)
  const hasQuestion = question !== undefined
  // What was asked about is over. When it comes again, nobody has asked to close the dialog.
  useEffect(() => {
    if (isSent || !hasQuestion) stay()
  }, [isSent, hasQuestion, stay])
  const close = () => {
    if (isSent) {
      notifyGoesOn(title)
      onClose()
    } else if (unsaved.size > 0 || hasQuestion) ask()
    else onClose()
  }
  const onEscape = useEffectEvent((event: KeyboardEvent) => {
    // From the page behind it the next stop of the key would be there.
    if (event.key === 'Tab' && document.activeElement === document.body && isForDialog(null, content.current)) {
      dialogOf(content.current)?.focus()
    }
    if (event.key === 'Escape' && !event.isComposing && isForDialog(event.target, content.current)) close()
  })
  useFocusBack()
  // The button that had the focus is disabled while it sends, and may be gone when there is an answer.
  useEffect(() => {
    // Between two fields, the one that is left may be drawn anew before the other one has the focus.
    const timer = setTimeout(() => {
      if (document.activeElement === document.body) dialogOf(content.current)?.focus()
    })
    return () => clearTimeout(timer)
  })
  // Registered once: before that of a dialog above, which is gone when it has got the key.
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onEscape(event)
    window.addEventListener('keydown', listener, { capture: true })
    return () => window.removeEventListener('keydown', listener, { capture: true })
  }, [])
  return (
    <Modal
      opened
      onClose={close}
      closeOnClickOutside={false}
      // Mantine closes every open dialog at once, and the list of a text editor takes the key first.
      closeOnEscape={false}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <UnsavedInDialog value={unsaved}>
        <div ref={content}>{children(close)}</div>
      </UnsavedInDialog>
      {isAsking && !isSent && (
        <LeaveQuestion
          title={texts.common.closeTitle}
          text={texts.common.closeText}
          leave={texts.common.discard}
          {...question}
          onStay={stay}
          onLeave={onClose}
        />
      )}
    </Modal>
  )
}

const dialogOf = (content: HTMLElement | null) => content?.closest<HTMLElement>('[role=dialog]')

/** Whether a key belongs to the dialog around the content, and not to one above it or to an open list. */
function isForDialog(target: EventTarget | null, content: HTMLElement | null): boolean {
  if (target instanceof Element) {
    if (target.getAttribute('data-mantine-stop-propagation') === 'true') return false
    if (target.closest('.cm-editor')?.querySelector('.cm-tooltip-autocomplete') != null) return false
  }
  // Each is put behind those that were open before. The focus says less: it is nowhere while the button that had it is disabled.
  return [...document.querySelectorAll('[role=dialog]')].at(-1)?.contains(content) === true
}
