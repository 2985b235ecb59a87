/** Checks that the schema of a distribution cannot express. All problems are reported at once. */
import { compileAddresses } from './address-list.ts'
import type { DistributionProblem } from './api.ts'
import type { Distribution } from './document.ts'
import { normalizeAlias } from './hosts.ts'
import { parseLogTarget } from './log-target.ts'
import { compilePattern, patternWidth } from './patterns.ts'

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** A secret in one of these headers would be misinterpreted, or be lost. */
const noSecretHeaders: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'cookie',
  'connection',
  'content-length',
  'transfer-encoding',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
])

/** Problems of a distribution of any mode. */
export function documentProblems(distribution: Distribution): readonly DistributionProblem[] {
  const problems: DistributionProblem[] = []
  const check = (element: string, look: () => unknown) => {
    try {
      look()
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      problems.push({ element, message: error.message })
    }
  }
  const { aliases, origin, behaviors, restrictions, logging } = distribution
  for (const [index, alias] of aliases.entries()) check(`/aliases/${index}`, () => normalizeAlias(alias))
  check('/origin/pathPrefix', () => checkPrefix(origin.pathPrefix))
  for (const [index, { pathPattern }] of behaviors.entries()) {
    check(`/behaviors/${index}/pathPattern`, () => compilePattern(pathPattern))
  }
  if (problems.length === 0) check('/behaviors', () => requireAffordable(behaviors))
  for (const list of ['allow', 'deny'] as const) {
    check(`/restrictions/sourceIp/${list}`, () => compileAddresses(restrictions.sourceIp?.[list] ?? []))
  }
  const secret = restrictions.originSecretHeader
  if (secret !== undefined && (!token.test(secret.name) || noSecretHeaders.has(secret.name.toLowerCase()))) {
    problems.push({ element: '/restrictions/originSecretHeader/name', message: 'is no header that can carry a secret' })
  }
  check('/logging/target', () => parseLogTarget(logging.target))
  return problems
}

/** Maximum of the widths of all patterns of a distribution together: the longest path then takes a few milliseconds at most. */
const widthMax = 1000

function requireAffordable(behaviors: Distribution['behaviors']): void {
  let width = 0
  for (const [index, { pathPattern }] of behaviors.entries()) {
    width += patternWidth(pathPattern)
    if (width > widthMax) {
      throw new TypeError(
        `has patterns that cost too much for a path: up to entry ${index} they can be in ${width} states at once, at most ${widthMax} are allowed. Replace expressions by globs or prefixes`,
      )
    }
  }
}

function checkPrefix(prefix: string): void {
  if (prefix === '') return
  if (prefix.startsWith('/')) throw new TypeError('begins with a slash: keys do not')
  if (!prefix.endsWith('/')) throw new TypeError('must end in a slash')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no path of a request has them
  if (/[\u0000-\u001f\u007f\\]/.test(prefix)) throw new TypeError('has a control character or a backslash')
  if (prefix.split('/').some(segment => segment === '.' || segment === '..')) throw new TypeError('has a dot segment')
}
