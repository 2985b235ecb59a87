/** The session of the console: read once when the page loads, changed by sign-in and sign-out. */
import { queryOptions } from '@tanstack/react-query'
import { call, setCsrfToken } from './client.ts'
import type { Session } from './operations.ts'
import { Problem } from './problem.ts'

export interface SignedIn {
  readonly session: Session
  /** Actions that the caller may do somewhere: what decides which pages are shown. */
  readonly allowed: ReadonlySet<string>
}

let isFirst = true

/** Null for whoever has not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async (): Promise<SignedIn | null> => {
    // True when the page was loaded; later the session may be another.
    const hadSession = document.querySelector<HTMLMetaElement>('meta[name="session"]')?.content !== 'no'
    if (isFirst && !hadSession) {
      isFirst = false
      return null
    }
    isFirst = false
    try {
      return await completed(await call('getSession'))
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null
      throw error
    }
  },
})

export async function signIn(accessKey: string, secretKey: string): Promise<SignedIn> {
  return completed(await call('login', { body: { accessKey, secretKey } }))
}

export async function signOut(): Promise<void> {
  await call('logout')
  setCsrfToken('')
}

async function completed(session: Session): Promise<SignedIn> {
  setCsrfToken(session.csrfToken)
  const { allowed } = await call('getPermissions')
  return { session, allowed: new Set(allowed) }
}
