/**
 * A session that ends while something is typed and not saved: its user signs in above the page, which stays as it is and is covered. Anybody
 * else gets a page of their own.
 */
import { Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { type SignedIn, sessionQuery } from '../api/session.ts'
import { SignInForm } from '../parts/sign-in-form.tsx'
import { texts } from '../texts/index.ts'

let isAsked = false
const listeners = new Set<() => void>()

function set(asked: boolean): void {
  isAsked = asked
  for (const listener of listeners) listener()
}

export const askToSignInAgain = (): void => set(true)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export interface SignInAgainProps {
  /** Resolves when nothing of the page is left. */
  readonly onOther: (signedIn: SignedIn) => Promise<void>
}

export function SignInAgain({ onOther }: SignInAgainProps) {
  const isOpen = useSyncExternalStore(subscribe, () => isAsked)
  const queryClient = useQueryClient()
  if (!isOpen) return null
  const goOn = async (signedIn: SignedIn) => {
    const before = queryClient.getQueryData<SignedIn | null>(sessionQuery.queryKey)
    if (before?.session.accessKey === signedIn.session.accessKey) {
      queryClient.setQueryData(sessionQuery.queryKey, signedIn)
      void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    } else await onOther(signedIn)
    set(false)
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
