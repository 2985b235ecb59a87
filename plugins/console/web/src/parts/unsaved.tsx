/** Asks before what somebody has typed, and not saved, is lost: by another page, a reload, closing the window or the dialog, or signing out. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { createContext, useContext, useEffect } from 'react'
import { texts } from '../texts/index.ts'
import { addUnsaved, type UnsavedForms } from './unsaved-forms.ts'

/** Forms with something unsaved in the dialog around them. */
export const UnsavedInDialog = createContext<Set<object> | undefined>(undefined)

/** Forms with something unsaved over the document around them: it is not drawn anew under them. */
export const UnsavedInDocument = createContext<UnsavedForms | undefined>(undefined)

/** True where forms stay while another tab of their page, which is part of the address, is looked at. */
export const StaysInTabs = createContext(false)

export interface UnsavedProps {
  readonly isDirty: boolean
  /** Set where the buttons beside it say enough. */
  readonly isQuiet?: boolean
  /** True while it is on its way: it may lead on to another page, and is told wherever somebody is then. */
  readonly isSent?: () => boolean
  /** Asked where something else than what was typed would be lost. */
  readonly words?: { readonly title: string; readonly text: string }
}

/** Beside the form; does nothing as long as nothing is changed. */
export function Unsaved({ isDirty, isQuiet = false, isSent = () => false, words }: UnsavedProps) {
  const inDialog = useContext(UnsavedInDialog)
  const inDocument = useContext(UnsavedInDocument)
  const staysInTabs = useContext(StaysInTabs)
  const isLost = () => isDirty && !isSent()
  const blocker = useBlocker({
    // Whose session has ended has to sign in, whatever is not saved.
    shouldBlockFn: ({ current, next }) =>
      isLost() && !next.pathname.endsWith('/sign-in') && !(staysInTabs && next.pathname === current.pathname),
    enableBeforeUnload: isLost,
    withResolver: true,
  })
  useEffect(() => {
    if (!isDirty) return
    const form = {}
    inDialog?.add(form)
    const remove = addUnsaved()
    const removeFromDocument = inDocument?.add()
    return () => {
      inDialog?.delete(form)
      remove()
      removeFromDocument?.()
    }
  }, [isDirty, inDialog, inDocument])
  if (!isDirty) return null
  return (
    <>
      {!isQuiet && (
        <Text size="sm" c="dimmed">
          {texts.common.unsaved}
        </Text>
      )}
      {blocker.status === 'blocked' && <LeaveQuestion {...words} onStay={blocker.reset} onLeave={blocker.proceed} />}
    </>
  )
}

export interface LeaveQuestionProps {
  readonly title?: string
  readonly text?: string
  /** What the button says that gives up what was typed. */
  readonly leave?: string
  /** What the other one says. */
  readonly stay?: string
  readonly onStay: () => void
  readonly onLeave: () => void
}

export function LeaveQuestion(props: LeaveQuestionProps) {
  const { title = texts.common.leaveTitle, text = texts.common.leaveText, leave = texts.common.leave } = props
  const { stay = texts.common.stay, onStay, onLeave } = props
  return (
    <Modal opened onClose={onStay} title={title} closeButtonProps={{ 'aria-label': texts.common.close }}>
      <Stack>
        <Text size="sm">{text}</Text>
        <Group justify="flex-end" className="dialog-buttons">
          <Button variant="default" data-autofocus onClick={onStay}>
            {stay}
          </Button>
          <Button color="red" onClick={onLeave}>
            {leave}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
