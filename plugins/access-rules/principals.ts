/** `principals` of a rule: everybody, users with their access keys, groups. */
import type { Identity } from 'svc/plugins/iam/api'
import { userNameOf } from 'svc/plugins/policy/api'
import type { Problems } from './problems.ts'

export interface Principals {
  readonly everybody: boolean
  readonly users: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
}

export const principalsMax = 100

const form = /^(?:(user|group):|arn:aws:iam::(?:\d{12})?:(user|group)\/)?([A-Za-z0-9._@+=-]{1,128})$/

export function readPrincipals(texts: readonly string[], problems: Problems): Principals {
  if (texts.length === 0) problems.add('principals', 'is empty: use "*" for every caller')
  if (texts.length > principalsMax) problems.add('principals', `names more than ${principalsMax}`)
  const users = new Set<string>()
  const groups = new Set<string>()
  for (const [index, text] of texts.entries()) {
    if (text === '*') continue
    const found = form.exec(text)
    if (found === null) {
      const known = 'write "*" for everybody, "ada" or "user:ada" for a user, "group:staff" for a group'
      problems.add(`principals[${index}]`, `${quote(text)} is no principal: ${known}`)
    } else if ((found[1] ?? found[2]) === 'group') groups.add(found[3]!)
    else users.add(found[3]!)
  }
  return { everybody: texts.includes('*'), users, groups }
}

/** Beside everybody. */
export function isNamed({ users, groups }: Principals, identity: Identity | undefined): boolean {
  if (identity === undefined) return false
  if (users.size > 0 && users.has(userNameOf(identity))) return true
  return groups.size > 0 && identity.groups !== undefined && identity.groups.some(group => groups.has(group))
}

/** A text of the client, shortened for a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
