import { Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
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
  useFocusBack()
  const goOn = async (signedIn: SignedIn) => {
    const before = queryClient.getQueryData<SignedIn | null>(sessionQuery.queryKey)
    if (before?.session.accessKey === signedIn.session.accessKey) {
      queryClient.setQueryData(sessionQuery.queryKey, signedIn)
      void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    } else await onOther(signedIn)
    onDone()
  }
  return (
    <Modal
      opened
      onClose={() => {}}
      fullScreen
      zIndex={1000}
      title={texts.signIn.title}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      transitionProps={{ duration: 0 }}
      styles={{ body: { maxWidth: 360, margin: 'auto' } }}
    >
      <SignInForm isInterrupted onSignedIn={signedIn => void goOn(signedIn)} />
    </Modal>
  )
}
