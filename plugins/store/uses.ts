/**
 * Documents that name documents of another plugin: a distribution names a certificate, a key group, a DNS provider. The plugin of what is
 * named owns a point (`certificate.user`, `keyGroups.user`, `dns.user`), and each plugin with such documents contributes to it. So nothing
 * that is needed is deleted, and readers see who needs it.
 */
import type { MaybePromise } from 'svc/kernel'
import type { TransactionBuilder } from './api.ts'

export interface NamedUser {
  /** For people and for `usedBy`: `site`, `distribution/site`. */
  readonly name: string
}

/** At one moment, as fresh as documents are. */
export interface Uses<User extends NamedUser = NamedUser> {
  /** By the id of the used document. */
  readonly byId: ReadonlyMap<string, readonly User[]>
  /** Makes a transaction fail with `precondition_failed` where `byId` may no longer be right by then. */
  fence(tx: TransactionBuilder): void
}

/** A contribution of a plugin whose documents name those of the point's owner. */
export interface DocumentUser<User extends NamedUser = NamedUser> {
  /** All of them at once: a list of used documents asks once. */
  uses(): MaybePromise<Uses<User>>
}

/** What all contributions tell. */
export async function gatherUses<User extends NamedUser>(users: readonly DocumentUser<User>[]): Promise<Uses<User>> {
  const all = await Promise.all(users.map(user => user.uses()))
  const byId = new Map<string, User[]>()
  for (const uses of all) {
    for (const [id, found] of uses.byId) byId.set(id, [...(byId.get(id) ?? []), ...found])
  }
  return {
    byId,
    fence(tx) {
      for (const uses of all) uses.fence(tx)
    },
  }
}

/** The names of the users of one document, sorted. */
export function usedBy({ byId }: Uses, id: string): string[] {
  return (byId.get(id) ?? []).map(({ name }) => name).sort()
}
