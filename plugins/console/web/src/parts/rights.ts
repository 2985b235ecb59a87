/** What the caller may do in one bucket: what decides which buttons and tabs are shown there. */
import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { call } from '../api/client.ts'
import { useHasUnsaved } from './unsaved-forms.ts'

const none: ReadonlySet<string> = new Set()

/** Everything under the prefix, or for a whole key that one. Empty until the server has answered; the server decides in the end. */
export function useRights(bucket: string, prefix = ''): ReadonlySet<string> {
  return useKnownRights(bucket, prefix) ?? none
}

/** Undefined until the server has answered. */
export function useKnownRights(bucket: string, prefix = ''): ReadonlySet<string> | undefined {
  const { data, error } = useQuery({
    queryKey: ['rights', bucket, prefix],
    queryFn: async ({ signal }) => {
      const { allowed } = await call('getPermissions', { query: { bucket, prefix }, signal })
      return new Set<string>(allowed)
    },
    staleTime: 60_000,
  })
  // Whoever is not told asks for each thing, and is told then.
  const rights = error === null ? data : (data ?? none)
  const hasUnsaved = useHasUnsaved()
  const id = `${bucket}/${prefix}`
  const isTold = data !== undefined
  const held = useRef({ id, rights, isTold })
  // A right that is taken away does not take away what somebody has typed: saving it is refused in words.
  if (!hasUnsaved || held.current.id !== id || !held.current.isTold) held.current = { id, rights, isTold }
  return held.current.rights
}
