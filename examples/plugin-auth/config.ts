import { type Static, Type } from 'typebox'

export const userMark = '{user}'

/** Read from SVC_AUTH_LDAP_… as well: the name of the plugin, then that of the key. */
export const LdapConfig = Type.Object({
  url: Type.String({
    check: checkUrl,
    description: 'Where the directory is: ldaps://…, or ldap://127.0.0.1 on this machine.',
  }),
  userDn: Type.String({
    check: (text: string) => (text.split(userMark).length === 2 ? undefined : `must hold ${userMark} once`),
    description: 'DN of a user, with {user} for the name: uid={user},ou=people,dc=example,dc=org.',
  }),
  groupBase: Type.String({ description: 'DN below which the groups are (groupOfNames): ou=groups,dc=example,dc=org.' }),
  policyFolder: Type.String({
    format: 'path',
    description: 'A folder with a policy for each group that has rights here: readers.json for the group readers.',
  }),
  allowPlain: Type.Boolean({
    default: false,
    description: 'Takes passwords over plain HTTP, too: everybody on the way can read them. For tests.',
  }),
  remember: Type.Integer({
    format: 'duration',
    default: 60_000,
    minimum: 0,
    maximum: 3_600_000,
    description: 'How long a password that was right, and the groups, count without asking the directory again.',
  }),
})

export type LdapConfig = Static<typeof LdapConfig>

/** Undefined, or what is wrong. */
export function checkUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (url?.protocol === 'ldaps:') return undefined
  const isHere = url?.protocol === 'ldap:' && /^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname)
  return isHere ? undefined : 'must begin with ldaps://, or with ldap:// and be on this machine'
}
