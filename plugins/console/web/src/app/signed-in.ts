/** Who is signed in, on every page behind the sign-in. */
import { useRouteContext } from '@tanstack/react-router'
import type { SignedIn } from '../api/session.ts'

export function useSignedIn(): SignedIn {
  return useRouteContext({ from: '/inside' }).signedIn
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
