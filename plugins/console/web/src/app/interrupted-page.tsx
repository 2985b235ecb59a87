/**
 * A session that ends while something is typed and not saved: its user signs in above the page, which stays as it is and is covered. Anybody
 * else gets a page of their own.
 */
import { lazy, Suspense, useSyncExternalStore } from 'react'
import type { SignedIn } from '../api/session.ts'

// The first load has no fields.
const SignInAgain = lazy(async () => ({ default: (await import('./sign-in-again.tsx')).SignInAgain }))

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

export interface InterruptedPageProps {
  /** Resolves when nothing of the page is left. */
  readonly onOther: (signedIn: SignedIn) => Promise<void>
}

export function InterruptedPage({ onOther }: InterruptedPageProps) {
  const isOpen = useSyncExternalStore(subscribe, () => isAsked)
  return <Suspense>{isOpen && <SignInAgain onOther={onOther} onDone={() => set(false)} />}</Suspense>
}
