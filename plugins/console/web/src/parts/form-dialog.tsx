/** A dialog with a form, which stays open with the server's words where it fails. */
import { Button, Group, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import { formErrorsOf } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { useBesideFields } from './beside-fields.ts'
import { Conflict } from './conflict.tsx'
import { notifyFailure } from './failure.tsx'
import { FormModal, type FormModalProps } from './form-modal.tsx'
import { notifyDone, notifyNotDone, notifyNotShown, useIsGone } from './gone.ts'
import { SentFields } from './sent-fields.tsx'
import { underWay } from './under-way.ts'
import { Unsaved } from './unsaved.tsx'

export interface FormDialogProps {
  readonly title: string
  /** What the button says; absent where there is nothing to send any more. */
  readonly submit?: string
  readonly size?: 'md' | 'lg' | 'xl'
  /**
   * Resolves when it is done: then the dialog closes, unless it resolves with `stay`, or with `declined` where somebody has thought better of
   * it. Closing the dialog does not call it off; with `told` nothing more is said of its end then.
   */
  readonly onSubmit: (isOpen: () => boolean) => Promise<'stay' | 'declined' | 'told' | undefined | void>
  /** Gets the server's words for its fields, and says whether anything was typed. */
  readonly form?: { setErrors(errors: Record<string, string>): void; isDirty(): boolean }
  /** Whether anything was typed, where there is no such form. */
  readonly isDirty?: boolean
  /**
   * Shows what is stored now, where somebody else has changed it first, unless it resolves with `false`. Absent: the dialog closes, and what is
   * around it is read again.
   */
  readonly onConflict?: () => Promise<boolean | void>
  readonly onClose: () => void
  /** Nothing of it is on its way now, and closing ends it: what is asked before that. */
  readonly held?: FormModalProps['question']
  /** How far it is with what was sent. */
  readonly progress?: ReactNode
  readonly children: ReactNode
}

export function FormDialog({
  title,
  submit,
  size = 'md',
  onSubmit,
  form,
  isDirty = form?.isDirty() ?? false,
  onConflict,
  onClose,
  held,
  progress,
  children,
}: FormDialogProps) {
  const queryClient = useQueryClient()
  // What is sent may lead on to another page.
  const isSending = useRef(false)
  // It may be closed while something is sent: what stands there by then is another dialog.
  const isClosed = useIsGone()
  const sending = useMutation({
    mutationFn: () => {
      isSending.current = true
      return underWay(() => onSubmit(() => !isClosed.current))
    },
    onSuccess: outcome => {
      form?.setErrors({})
      if (!isClosed.current) {
        if (outcome !== 'stay' && outcome !== 'declined') onClose()
      } else if (outcome === 'declined') notifyNotDone(title)
      else if (outcome === 'stay') notifyNotShown(title)
      else if (outcome !== 'told') notifyDone(title)
    },
    onError(error) {
      if (isClosed.current) notifyFailure(error, title)
      else form?.setErrors(formErrorsOf(error))
    },
    onSettled: () => {
      isSending.current = false
    },
  })
  const readAgain = async () => {
    await queryClient.invalidateQueries()
    onClose()
  }
  const { element, unsaid } = useBesideFields(sending.error, form?.setErrors)
  const goesOn = sending.isPending && held === undefined
  return (
    <FormModal
      title={title}
      size={size}
      isSent={goesOn}
      question={sending.isPending ? held : undefined}
      onClose={onClose}
    >
      {close => (
        <form
          {...element}
          onSubmit={event => {
            event.preventDefault()
            // React would tell a form around the dialog, too.
            event.stopPropagation()
            sending.mutate()
          }}
        >
          <Stack>
            <Conflict
              error={unsaid}
              onLoad={async () => {
                if ((await (onConflict ?? readAgain)()) !== false) sending.reset()
              }}
            />
            <SentFields isSending={sending.isPending}>{children}</SentFields>
            {progress}
            <Unsaved
              isDirty={isDirty && submit !== undefined && (!sending.isSuccess || sending.data === 'declined')}
              isQuiet
              isSent={() => isSending.current}
            />
            <Group justify="flex-end" className="dialog-buttons">
              <Button variant="default" onClick={close}>
                {submit === undefined || goesOn ? texts.common.close : texts.common.cancel}
              </Button>
              {submit !== undefined && (
                <Button type="submit" loading={sending.isPending}>
                  {submit}
                </Button>
              )}
            </Group>
          </Stack>
        </form>
      )}
    </FormModal>
  )
}
