/** Notifies plugins that keep state for an access key (a console session, a stream) of changes of its credentials. */
import type { DocumentChange } from 'svc/plugins/store/api'
import type { AccessKeyDocument, Documents, UserDocument } from './documents.ts'

type Listener = (accessKey: string | undefined) => void

export interface SecretWatch {
  watch(listener: Listener): () => void
  open(): void
  close(): void
}

/** `onResync`: changes may have been missed. */
export function createSecretWatch({ users, accessKeys }: Documents, onResync: () => void): SecretWatch {
  const listeners = new Set<Listener>()
  const stops: (() => void)[] = []
  const tell = (accessKey: string | undefined) => {
    for (const listener of listeners) listener(accessKey)
  }
  const heard = ({ id, before, after }: DocumentChange<UserDocument | AccessKeyDocument>) => {
    if (before !== undefined && isWeaker(before.value, after?.value)) tell(id)
  }
  const resync = () => {
    onResync()
    tell(undefined)
  }
  return {
    watch(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    open() {
      // If a user is disabled or deleted, so are its access keys: watchers of each of them are notified.
      const heardUser = (change: DocumentChange<UserDocument>) => {
        heard(change)
        if (change.before !== undefined && change.after?.value.status !== 'enabled') tell(undefined)
      }
      stops.push(users.watch(heardUser, resync), accessKeys.watch(heard))
    },
    close() {
      for (const stop of stops.splice(0)) stop()
      listeners.clear()
    },
  }
}

function isWeaker(
  before: UserDocument | AccessKeyDocument,
  after: UserDocument | AccessKeyDocument | undefined,
): boolean {
  if (after === undefined || after.status !== before.status || after.secretKey !== before.secretKey) return true
  const expiryBefore = 'expiresMs' in before ? before.expiresMs : undefined
  const expiryAfter = 'expiresMs' in after ? after.expiresMs : undefined
  return expiryAfter !== undefined && expiryAfter < (expiryBefore ?? Number.POSITIVE_INFINITY)
}
