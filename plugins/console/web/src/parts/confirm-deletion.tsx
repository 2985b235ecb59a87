/** Asks before something is deleted, and stays open with the server's words where that fails. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { texts } from '../texts/index.ts'
import { notifyFailure, ProblemAlert } from './failure.tsx'
import { useFocusBack } from './focus-back.ts'
import { useIsGone } from './gone.ts'
import { underWay } from './under-way.ts'

export interface ConfirmDeletionProps {
  readonly title: string
  /** To be typed before the deletion: for what cannot be undone. */
  readonly typed?: string
  /** False until the numbers are known that the text says. */
  readonly isReady?: boolean
  /** What the button says; default: delete. */
  readonly action?: string
  /** Then the dialog closes, unless it resolves with `declined`. */
  readonly onConfirm: () => Promise<'declined' | undefined | void>
  /** What follows, such as reading lists again. A failure of it is told as its own, for what was asked is done. */
  readonly onDone?: () => Promise<unknown>
  readonly onClose: () => void
  readonly children: ReactNode
}

export function ConfirmDeletion(props: ConfirmDeletionProps) {
  const { title, typed, isReady = true, action = texts.common.delete, onClose, children } = props
  const { onConfirm, onDone } = props
  const [text, setText] = useState('')
  useFocusBack()
  // It may be closed while it is done, which stops nothing.
  const isClosed = useIsGone()
  const deletion = useMutation({
    mutationFn: () =>
      underWay(async () => {
        const outcome = await onConfirm()
        await onDone?.().catch(error => notifyFailure(error, texts.problems.doneButStale))
        return outcome
      }),
    onSuccess: outcome => {
      if (outcome !== 'declined' && !isClosed.current) onClose()
    },
    onError(error) {
      if (isClosed.current) notifyFailure(error, title)
    },
  })
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': texts.common.close }}>
      <form
        onSubmit={event => {
          event.preventDefault()
          // React would tell a form around the dialog, too, which would save what is being deleted.
          event.stopPropagation()
          deletion.mutate()
        }}
      >
        <Stack>
          {deletion.error !== null && <ProblemAlert error={deletion.error} />}
          {children}
          {typed !== undefined && (
            <TextInput
              label={texts.common.typeToConfirm(typed)}
              value={text}
              autoComplete="off"
              data-autofocus
              onChange={event => setText(event.currentTarget.value)}
            />
          )}
          <Group justify="flex-end" className="dialog-buttons">
            <Button variant="default" onClick={onClose}>
              {deletion.isPending ? texts.common.close : texts.common.cancel}
            </Button>
            <Button
              type="submit"
              color="red"
              loading={deletion.isPending}
              disabled={!isReady || (typed !== undefined && text !== typed)}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
