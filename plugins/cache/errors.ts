import { defineErrors, isCatalogError } from 'svc/kernel'

export const cacheErrors = defineErrors({
  already_exists: { status: 409, title: 'There is a cache policy of that name already.' },
  builtin_cache_policy: { status: 409, title: 'Built-in cache policies cannot be changed.' },
  cache_policy_in_use: { status: 409, title: 'The cache policy is in use.' },
  cache_policy_not_found: { status: 404, title: 'There is no such cache policy.' },
  conflict: { status: 409, title: 'The request does not fit the present state.' },
  distribution_not_found: { status: 404, title: 'There is no such distribution.' },
  invalid_cache_request: { status: 400, title: 'The request has a field that is missing or wrong.' },
  invalidation_not_found: { status: 404, title: 'There is no such invalidation.' },
  not_implemented: { status: 501, title: 'This is not available.' },
  precondition_failed: { status: 412, title: 'The document is not the one that If-Match names.' },
  too_many_requests: { status: 429, title: 'Too many requests. Try again later.' },
  warmup_not_found: { status: 404, title: 'There is no such warm-up.' },
})

/** `element`: JSON Pointer into the document; the message has no subject. */
export const invalidRequest = (element: string, message: string): Error =>
  cacheErrors.invalid_cache_request(`${element === '' ? 'The body' : element} ${message}.`, {
    cause: [{ element, message }],
  })

/** Throws the first refusal of a field, with those of the other checks, each once. */
export function requireAll(checks: readonly (() => void)[]): void {
  const problems = new Map<string, FieldProblem>()
  let first: Error | undefined
  for (const check of checks) {
    try {
      check()
    } catch (error) {
      if (!isCatalogError(error) || !Array.isArray(error.cause)) throw error
      first ??= error
      for (const problem of error.cause as FieldProblem[])
        problems.set(`${problem.element} ${problem.message}`, problem)
    }
  }
  if (first === undefined) return
  first.cause = [...problems.values()]
  throw first
}

interface FieldProblem {
  readonly element: string
  readonly message: string
}
