/** The session of the console: read once when the page loads, changed by sign-in and sign-out. */
import { queryOptions } from '@tanstack/react-query'
import { adoptSessionOf, call, noticeSessionEnd, setSession } from './client.ts'
import type { Answer, Session } from './operations.ts'
import { Problem } from './problem.ts'

export type S3Place = NonNullable<Answer<'getPermissions'>['s3']>

export interface SignedIn {
  readonly session: Session
  /** Name of the user whose key was given. */
  readonly user: string
  /** Actions that the caller may do somewhere: what decides which pages are shown. */
  readonly allowed: ReadonlySet<string>
  /** Where programs find the S3 API; undefined without one. */
  readonly s3: S3Place | undefined
}

/** Whether the browser had a session when the page was loaded: the server has written it there. Later the session may be another. */
export const hadSession = document.querySelector<HTMLMetaElement>('meta[name="session"]')?.content !== 'no'
let isFirst = true

/** Why the session that this page had is over: whoever signs in again is told. */
export const sessionEnd: { reason: 'ended' | 'restarted' | undefined } = { reason: undefined }

/** Whose page this is: the last one who had a session in it. */
let owner: string | undefined
const ownerListeners: (() => void)[] = []

/** Somebody else has the page: nothing of the one before may go on. */
export const whenOwnerChanges = (listener: () => void): void => void ownerListeners.push(listener)

/** Other pages of this console learn at once that somebody has signed in or out. */
const signedOut = ''
const pages = new BroadcastChannel('svc-console-sessions')
pages.addEventListener('message', ({ data }: MessageEvent<string>) => {
  // Whoever signs out leaves no page behind that shows something.
  if (data === signedOut) noticeSessionEnd()
  else void adoptSessionOf(data).catch(() => {})
})

/** Null for whoever has not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async (): Promise<SignedIn | null> => {
    if (isFirst && !hadSession) {
      isFirst = false
      return null
    }
    isFirst = false
    try {
      const [session, permissions] = await Promise.all([call('getSession'), call('getPermissions')])
      return completed(session, permissions)
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null
      throw error
    }
  },
})

export async function signIn(accessKey: string, secretKey: string): Promise<SignedIn> {
  const session = await call('login', { body: { accessKey, secretKey } })
  sessionEnd.reason = undefined
  const signedIn = completed(session, await call('getPermissions'))
  pages.postMessage(session.id)
  return signedIn
}

export async function signOut(): Promise<void> {
  await call('logout')
  setSession(undefined)
  pages.postMessage(signedOut)
}

/** The session that the browser has by now. Not of this page before `adopt` is called. */
export async function readOtherSession(): Promise<{
  readonly accessKey: string
  readonly user: string
  adopt(): SignedIn
}> {
  const [session, permissions] = await Promise.all([call('getSession'), call('getPermissions')])
  return { accessKey: session.accessKey, user: permissions.user, adopt: () => completed(session, permissions) }
}

function completed(session: Session, { allowed, user, s3 }: Answer<'getPermissions'>): SignedIn {
  if (owner !== undefined && owner !== session.accessKey) for (const listener of ownerListeners) listener()
  owner = session.accessKey
  setSession(session)
  return { session, user, allowed: new Set(allowed), s3 }
}
