import { Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { type SignedIn, sessionQuery } from '../api/session.ts'
import { useFocusBack } from '../parts/focus-back.ts'
import { SignInForm } from '../parts/sign-in-form.tsx'
import { texts } from '../texts/index.ts'
import type { InterruptedPageProps } from './interrupted-page.tsx'

export interface SignInAgainProps extends InterruptedPageProps {
  readonly onDone: () => void
}

export function SignInAgain({ onOther, onDone }: SignInAgainProps) {
  const queryClient = useQueryClient()
  const dialog = useRef<HTMLDialogElement>(null)
  useFocusBack()
  const before = queryClient.getQueryData<SignedIn | null>(sessionQuery.queryKey)
  // The browser's own: nothing below it can be focused, selected, copied or found, whatever of the page is open.
  useEffect(() => dialog.current?.showModal(), [])
  const goOn = (signedIn: SignedIn) => {
    if (before?.session.accessKey === signedIn.session.accessKey) {
      queryClient.setQueryData(sessionQuery.queryKey, signedIn)
      void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    } else onOther(signedIn)
    onDone()
  }
  return (
    <dialog
      ref={dialog}
      className="page-cover"
      aria-label={texts.signIn.title}
      onCancel={event => event.preventDefault()}
      // A browser lets nobody keep a dialog open against Escape pressed twice.
      onClose={() => dialog.current?.showModal()}
    >
      <div>
        <SignInForm
          head={
            <Title order={1} size="h3">
              {texts.signIn.title}
            </Title>
          }
          foot={
            <Text size="sm" c="dimmed">
              {texts.signIn.keptFor(before?.user ?? '')}
            </Text>
          }
          isInterrupted
          onSignedIn={goOn}
        />
      </div>
    </dialog>
  )
}
