/** What is asked of the directory: whether a password is right, and which groups its user is in. */
import { Client, EqualityFilter, InvalidCredentialsError } from 'ldapts'
import { type LdapConfig, userMark } from './config.ts'

export interface Entry {
  readonly dn: string
  /** Names (`cn`) of the groups. */
  readonly groups: readonly string[]
}

export interface Directory {
  /**
   * Undefined: unknown, or the password is wrong. `user` is one that needs no escapes in a DN, and the password is not empty: a bind with
   * an empty one succeeds, as nobody. Rejects where the directory does not answer.
   */
  verify(user: string, password: string): Promise<Entry | undefined>
}

/** Of each step: to connect, to bind, to search. */
const timeoutMs = 5000
const groupsMax = 1000

export function createDirectory({
  url,
  userDn,
  groupBase,
}: Pick<LdapConfig, 'url' | 'userDn' | 'groupBase'>): Directory {
  return {
    async verify(user, password) {
      const dn = userDn.replace(userMark, () => user)
      const client = new Client({ url, timeout: timeoutMs, connectTimeout: timeoutMs })
      try {
        await client.bind(dn, password)
        const { searchEntries } = await client.search(groupBase, {
          scope: 'sub',
          filter: new EqualityFilter({ attribute: 'member', value: dn }),
          attributes: ['cn'],
          sizeLimit: groupsMax,
        })
        // A connection that was lost in between comes back without its bind: what it then finds is what anybody may see.
        if (!client.isBound) throw new Error('the connection to the directory was lost')
        return { dn, groups: searchEntries.flatMap(({ cn }) => cn).map(String) }
      } catch (error) {
        if (error instanceof InvalidCredentialsError) return undefined
        throw error
      } finally {
        // It ends the connection; that it fails where there is none says nothing new.
        await client.unbind().catch(() => {})
      }
    },
  }
}
