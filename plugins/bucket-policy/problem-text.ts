import type { PolicyProblem } from 'svc/plugins/policy/api'

/** Bounds the message, since proxies limit the length of headers. */
const textCharsMax = 4000

/** Describes each error of a policy with its position in one sentence, for S3, whose errors have no field for positions. */
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
