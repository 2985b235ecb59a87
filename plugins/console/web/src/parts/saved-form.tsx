/** A form over a document that the server keeps: saved as a whole, with the server's words at its fields, and read anew afterwards. */
import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { type QueryKey, type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { Fragment, type ReactNode, useState } from 'react'
import { formErrorsOf } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { useBesideFields } from './beside-fields.ts'
import { Conflict, isConflict } from './conflict.tsx'
import { type SavedValues, takeAsSaved } from './form.ts'
import { SaveBar } from './save-bar.tsx'
import { SentFields } from './sent-fields.tsx'
import { Unsaved } from './unsaved.tsx'

interface Form {
  setErrors(errors: Record<string, string>): void
  isDirty(): boolean
}

export interface SavingOptions<Saved, Values> {
  readonly form: Form & SavedValues<Values>
  /** Asked before `save`. With `false` nothing is saved, and nothing is told. */
  readonly confirm?: () => Promise<boolean>
  /** With `declined` nothing was saved, and nothing is told. */
  readonly save: () => Promise<Saved | 'declined'>
  /** Told when it is saved. */
  readonly message: string
  /** Queries that depend on the document. */
  readonly stale: readonly QueryKey[]
  readonly reload: (saved: Saved) => Promise<unknown>
}

export function useSaving<Saved, Values extends object>(options: SavingOptions<Saved, Values>) {
  const { form, confirm, save, message, stale, reload } = options
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async () => (confirm === undefined || (await confirm()) ? save() : 'declined'),
    async onSuccess(saved) {
      if (saved === 'declined') return
      form.setErrors({})
      takeAsSaved(form)
      notifications.show({ color: 'teal', message })
      await Promise.all(stale.map(queryKey => queryClient.invalidateQueries({ queryKey })))
      await reload(saved)
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
}

export interface SavedFormProps {
  readonly form: Form & {
    reset(): void
    onSubmit(handle: () => void): (event?: React.FormEvent<HTMLFormElement>) => void
  }
  readonly saving: Pick<UseMutationResult<unknown, Error, void>, 'error' | 'isPending' | 'mutate' | 'reset'>
  readonly gap?: 'md' | 'xl'
  /** Of a page, not of a dialog, which has its buttons at its end. */
  readonly isOfPage?: boolean
  /** Shows what is stored now. Resolves with whether it could be read. */
  readonly reload: () => Promise<boolean>
  readonly children: ReactNode
}

export function SavedForm({ form, saving, gap = 'md', isOfPage = false, reload, children }: SavedFormProps) {
  // Fields that keep something of their own are drawn anew.
  const [discards, setDiscards] = useState(0)
  const discard = async () => {
    if (isConflict(saving.error) && !(await reload())) return
    form.reset()
    saving.reset()
    setDiscards(discards + 1)
  }
  const isDirty = form.isDirty()
  const { element, unsaid } = useBesideFields(saving.error, form.setErrors)
  return (
    <form {...element} onSubmit={form.onSubmit(() => saving.mutate())}>
      <SentFields gap={gap} isSending={saving.isPending}>
        <Conflict error={unsaid} onLoad={reload} />
        <Fragment key={discards}>{children}</Fragment>
        {isOfPage ? (
          <>
            <Unsaved isDirty={isDirty} isQuiet />
            {isDirty && <SaveBar isSaving={saving.isPending} onDiscard={() => void discard()} />}
          </>
        ) : (
          <Group className="dialog-buttons">
            <Button type="submit" loading={saving.isPending} disabled={!isDirty}>
              {texts.common.save}
            </Button>
            <Unsaved isDirty={isDirty} />
          </Group>
        )}
      </SentFields>
    </form>
  )
}
