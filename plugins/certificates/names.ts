/** Names that certificates are for. */

const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** Why a text is not a host name, exact or with `*.` in front, in lower-case A-labels: a phrase that follows the name. Undefined: it is one. */
export function nameProblem(name: string): string | undefined {
  const host = name.startsWith('*.') ? name.slice(2) : name
  if (name.length > 253) return 'is longer than 253 characters'
  const labels = host.split('.')
  if (labels.length < 2) return 'has no domain behind its first label'
  if (!labels.every(each => label.test(each))) return 'is no name of a host in lower-case letters, digits and hyphens'
  if (/^\d+$/.test(labels.at(-1)!)) return 'is an address, not a name'
  return undefined
}

/** A wildcard stands for exactly one label (RFC 6125, 6.4.3). */
export function covers(pattern: string, name: string): boolean {
  if (pattern === name) return true
  if (!pattern.startsWith('*.') || name.startsWith('*.')) return false
  const dot = name.indexOf('.')
  return dot > 0 && name.slice(dot + 1) === pattern.slice(2)
}

/** The names that none of the patterns covers. */
export function uncovered(patterns: readonly string[], names: readonly string[]): string[] {
  return names.filter(name => !patterns.some(pattern => covers(pattern, name)))
}
