/** Configurations that are lists of rules: what is wrong with each is told to the client as `ruleErrors`. */
import { adminErrors } from './errors.ts'

export interface RuleProblem {
  /** Index of the rule; -1 for the list as a whole. */
  readonly rule: number
  readonly id?: string
  /** As S3 calls it: `InvalidArgument`, `InvalidRequest`, `MalformedXML`, `NotImplemented`. */
  readonly code: string
  readonly message: string
}

const ruleProblems = new WeakMap<Error, readonly RuleProblem[]>()

/** `invalid_configuration` with everything that is wrong. */
export function invalidRules(problems: readonly RuleProblem[]): Error {
  const error = adminErrors.invalid_configuration(problems[0]?.message)
  ruleProblems.set(error, problems)
  return error
}

export function ruleProblemsOf(error: Error): readonly RuleProblem[] | undefined {
  return ruleProblems.get(error)
}
