/** The problems of each part of a document that was sent: returned to the client in a list of the problem document. */
import { adminErrors } from './errors.ts'

export interface RuleProblem {
  /** Index of the rule; -1 for the list as a whole. */
  readonly rule: number
  readonly id?: string
  /** Of the rule: `allowedOrigins[0]`. */
  readonly field?: string
  /** The code in S3: `InvalidArgument`, `InvalidRequest`, `MalformedXML`, `NotImplemented`. */
  readonly code: string
  readonly message: string
}

type ProblemLists = Readonly<Record<string, readonly object[]>>

const problemLists = new WeakMap<Error, ProblemLists>()

/** The error, answered with the list in a field of its own. */
export function withProblems<E extends Error>(error: E, field: string, problems: readonly object[]): E {
  problemLists.set(error, { [field]: problems })
  return error
}

/** `invalid_configuration` with everything that is wrong, in `ruleErrors`. */
export function invalidRules(problems: readonly RuleProblem[]): Error {
  return withProblems(adminErrors.invalid_configuration(problems[0]?.message), 'ruleErrors', problems)
}

export function problemListsOf(error: Error): ProblemLists | undefined {
  return problemLists.get(error)
}
