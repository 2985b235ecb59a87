/**
 * `Principal` and `NotPrincipal` of bucket policies: everybody, or users by ARN. An access key counts as its user. There are no accounts,
 * roles and services here; naming one is an error, because it would never match.
 */
import type { Identity } from 'svc/plugins/iam/api'
import { kindOf, type PlacedText, readTexts } from './elements.ts'
import type { JsonNode } from './json-reader.ts'
import { userNameOf } from './principal-values.ts'
import { type Problems, quote } from './problems.ts'

export class PrincipalSet {
  readonly isNegated: boolean
  readonly #everybody: boolean
  readonly #users: ReadonlySet<string>

  constructor(isNegated: boolean, everybody: boolean, users: ReadonlySet<string>) {
    this.isNegated = isNegated
    this.#everybody = everybody
    this.#users = users
  }

  /** Includes anonymous callers. */
  get isEverybody(): boolean {
    return this.#everybody && !this.isNegated
  }

  matches(identity: Identity | undefined): boolean {
    const isNamed = this.#everybody || (identity !== undefined && this.#users.has(userNameOf(identity)))
    return isNamed !== this.isNegated
  }
}

/** The account is empty or has twelve digits, as on AWS; there is only one account here. */
const userForm = /^arn:aws:iam::(?:\d{12})?:user\/([^/*?]{1,128})$/
const rootForm = /^(?:\d{12}|arn:aws:iam::(?:\d{12})?:root)$/

export function readPrincipals(
  node: JsonNode,
  element: 'Principal' | 'NotPrincipal',
  problems: Problems,
): PrincipalSet {
  const isNegated = element === 'NotPrincipal'
  const users = new Set<string>()
  let everybody = false
  const add = ({ text, at }: PlacedText) => {
    const user = userForm.exec(text)
    if (text === '*') everybody = true
    else if (user !== null) users.add(user[1])
    // Policies from AWS have to except the account in NotPrincipal. Here that is superfluous: root is never denied anything.
    else if (rootForm.test(text) && isNegated)
      problems.warn(at, element, `${quote(text)} is superfluous: root is never denied.`)
    else problems.error(at, element, refusal(text))
  }
  if (node.kind === 'string') add({ text: node.value, at: node.at })
  else if (node.kind !== 'object') {
    problems.error(node.at, element, `${element} is "*" or an object such as {"AWS": […]}, not ${kindOf(node)}.`)
  } else {
    if (node.members.length === 0) problems.error(node.at, element, `${element} names nobody.`)
    for (const { key, at, value } of node.members) {
      if (key === 'AWS') for (const placed of readTexts(value, `${element}.AWS`, problems)) add(placed)
      else if (key === '*' && value.kind === 'string' && value.value === '*') everybody = true
      else problems.error(at, element, `${quote(key)} is no kind of principal here: only "AWS" is.`)
    }
  }
  if (everybody && isNegated)
    problems.warn(node.at, element, 'NotPrincipal names everybody: the statement never matches.')
  return new PrincipalSet(isNegated, everybody, users)
}

function refusal(text: string): string {
  const users = 'name users as arn:aws:iam:::user/NAME'
  if (rootForm.test(text)) return `${quote(text)} is an account; there are none here: ${users}, or everybody as "*".`
  if (/^arn:aws:iam::.*[*?]/.test(text)) return `${quote(text)} has a wildcard; ${users}, or everybody as "*".`
  if (/^arn:aws:iam::\d*:group\//.test(text)) return `${quote(text)} is a group, which is no principal: ${users}.`
  return `${quote(text)} is no principal: ${users}, or everybody as "*".`
}
