/** Configurations that are lists of rules: the problems of each rule are returned as `ruleErrors`. */
import { adminErrors } from './errors.ts'

export interface RuleProblem {
  /** Index of the rule; -1 for the list as a whole. */
  readonly rule: number
  readonly id?: string
  /** The code in S3: `InvalidArgument`, `InvalidRequest`, `MalformedXML`, `NotImplemented`. */
  readonly code: string
  readonly message: string
}

const ruleProblems = new WeakMap<Error, readonly RuleProblem[]>()

/** `invalid_configuration` with all problems. */
export function invalidRules(problems: readonly RuleProblem[]): Error {
  const error = adminErrors.invalid_configuration(problems[0]?.message)
  ruleProblems.set(error, problems)
  return error
}

export function ruleProblemsOf(error: Error): readonly RuleProblem[] | undefined {
  return ruleProblems.get(error)
}
