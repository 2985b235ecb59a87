/**
 * Text of a policy with variables: `${aws:username}`, with a default `${aws:username, 'nobody'}`, and `${*}`, `${?}`, `${$}` for the
 * characters themselves. The value of a variable is never read as a wildcard. Variables exist in Version 2012-10-17 only; in older
 * documents they are plain text. Source: AWS "IAM policy elements: Variables and tags".
 */
import { findConditionKey } from './condition-keys.ts'
import { type PatternPart, patternCost, splitWildcards, WildcardPattern } from './wildcards.ts'

export interface Variable {
  /** Lower case. */
  readonly key: string
  readonly fallback: string | undefined
}

export type TemplatePart = PatternPart | Variable

/** The values of a request by lower-case condition key; undefined if it has none. */
export interface ConditionValues {
  values(key: string): readonly string[] | undefined
}

export interface TemplateOptions {
  readonly wildcards: boolean
  readonly variables: boolean
}

export class Template {
  readonly parts: readonly TemplatePart[]
  readonly hasVariables: boolean

  constructor(parts: readonly TemplatePart[]) {
    this.parts = parts
    this.hasVariables = parts.some(part => typeof part === 'object')
  }

  /** The text, if it has no variables and wildcards; otherwise undefined. */
  get literal(): string | undefined {
    return this.parts.every(part => typeof part === 'string') ? this.parts.join('') : undefined
  }

  /**
   * The text with the values of variables; undefined if a variable has neither value nor default, or several values: then it matches
   * nothing.
   */
  resolve(request: ConditionValues): PatternPart[] | undefined {
    const resolved: PatternPart[] = []
    for (const part of this.parts) {
      if (typeof part !== 'object') {
        resolved.push(part)
        continue
      }
      const values = request.values(part.key)
      const value = values?.length === 1 ? values[0] : part.fallback
      if (value === undefined) return undefined
      resolved.push(value)
    }
    return resolved
  }

  /** See `patternCost`. */
  get cost(): number {
    return patternCost(this.parts)
  }

  pattern(): WildcardPattern {
    return new WildcardPattern(this.parts as readonly PatternPart[])
  }
}

/** A template, or a sentence with the problem. */
export function readTemplate(text: string, { wildcards, variables }: TemplateOptions): Template | string {
  const parts: TemplatePart[] = []
  const plain = (piece: string) => {
    if (piece === '') return
    if (wildcards) parts.push(...splitWildcards(piece))
    else parts.push(piece)
  }
  if (!variables) {
    plain(text)
    return new Template(parts)
  }
  let from = 0
  for (;;) {
    const start = text.indexOf('${', from)
    if (start < 0) break
    const end = text.indexOf('}', start)
    if (end < 0) return 'A policy variable has no closing brace.'
    plain(text.slice(from, start))
    const inside = text.slice(start + 2, end)
    if (inside === '*' || inside === '?' || inside === '$') parts.push(inside)
    else {
      const variable = readVariable(inside)
      if (typeof variable === 'string') return variable
      parts.push(variable)
    }
    from = end + 1
  }
  plain(text.slice(from))
  return new Template(parts)
}

function readVariable(inside: string): Variable | string {
  const match = /^([^,' ]+)(?:, *'([^']*)')?$/.exec(inside)
  if (match === null) return `"\${${inside}}" is no policy variable: write \${key} or \${key, 'default'}.`
  const key = match[1].toLowerCase()
  const known = findConditionKey(key)
  if (known === undefined) return `"\${${inside}}" names no condition key that exists.`
  if (known.isList) return `"\${${inside}}" can have several values and cannot be a variable.`
  return { key, fallback: match[2] }
}
