import type { PolicyProblem } from 'svc/plugins/policy/api'

/** Longer ones are for nobody to read, and headers of proxies may have to hold them. */
const textCharsMax = 4000

/** What is wrong with a policy and where, each in one sentence, for a protocol whose errors have no places. */
export function describeProblems(problems: readonly PolicyProblem[]): string {
  let text = ''
  for (const [index, problem] of problems.entries()) {
    const sentence = describe(problem)
    const left = problems.length - index
    if (index > 0 && text.length + sentence.length > textCharsMax) return `${text} And ${left} more.`
    text += index === 0 ? sentence : ` ${sentence}`
  }
  return text
}

function describe({ statement, sid, element, line, column, message }: PolicyProblem): string {
  const name = sid === undefined ? '' : ` (${sid})`
  const places = [
    statement === undefined ? [] : [`statement ${statement}${name}`],
    element === '' ? [] : [element],
    [`line ${line}, column ${column}`],
  ].flat()
  return `${capitalized(places.join(', '))}: ${message}`
}

function capitalized(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1)
}
