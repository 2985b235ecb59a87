/**
 * A session that ends while something is typed and not saved: its user signs in above the page, which stays as it is and is covered. Anybody
 * else gets a page of their own.
 */
import { lazy, Suspense } from 'react'
import type { SignedIn } from '../api/session.ts'
import { createPageState } from './page-state.ts'

// The first load has no fields.
const SignInAgain = lazy(async () => ({ default: (await import('./sign-in-again.tsx')).SignInAgain }))

const asked = createPageState(false)

export const askToSignInAgain = (isAsked: boolean): void => asked.set(isAsked)

// Before any dialog or search that listens there: nothing below the sign-in acts on keys.
window.addEventListener('keydown', event => asked.get() && event.stopImmediatePropagation(), { capture: true })

export interface InterruptedPageProps {
  /** Somebody else has signed in: nothing of the page may be left. */
  readonly onOther: (signedIn: SignedIn) => void
}

export function InterruptedPage({ onOther }: InterruptedPageProps) {
  const isOpen = asked.use()
  return <Suspense>{isOpen && <SignInAgain onOther={onOther} onDone={() => asked.set(false)} />}</Suspense>
}
