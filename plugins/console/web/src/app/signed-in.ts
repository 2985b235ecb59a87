/** Who is signed in, on every page behind the sign-in. */
import { useRouteContext } from '@tanstack/react-router'
import { useRef } from 'react'
import type { SignedIn } from '../api/session.ts'
import { useHasUnsaved } from '../parts/unsaved-forms.ts'

export function useSignedIn(): SignedIn {
  const { signedIn } = useRouteContext({ from: '/inside' })
  const hasUnsaved = useHasUnsaved()
  const held = useRef(signedIn)
  // As in `useKnownRights`: no page closes over what somebody has typed.
  if (!hasUnsaved || held.current.session.accessKey !== signedIn.session.accessKey) held.current = signedIn
  return held.current === signedIn ? signedIn : { ...signedIn, allowed: held.current.allowed }
}

/** Whether the caller may do this somewhere. What is shown by it may still be refused for one bucket; the server decides. */
export function useMay(action: string): boolean {
  return useSignedIn().allowed.has(action)
}

/** Whether the caller may do any of these somewhere. */
export function useMayAny(actions: readonly string[]): boolean {
  const { allowed } = useSignedIn()
  return actions.some(action => allowed.has(action))
}
