import { defineErrors, isCatalogError, type MaybePromise } from 'svc/kernel'

/** Errors of all operations of the Admin API. Codes of single features are in the catalogues of their plugins. */
export const adminErrors = defineErrors({
  access_denied: { status: 403, title: 'You may not do this.' },
  bad_digest: {
    status: 400,
    title: 'The bytes that came are not those that their checksum is of; nothing was stored.',
  },
  already_exists: { status: 409, title: 'There is one of that name already.' },
  bucket_in_use: {
    status: 409,
    title: 'The bucket is not deleted, because a distribution publishes it.',
  },
  bucket_not_empty: { status: 409, title: 'The bucket is not empty.' },
  bucket_not_found: { status: 404, title: 'The bucket does not exist.' },
  conflict: { status: 409, title: 'The request does not fit the present state.' },
  entity_too_small: { status: 400, title: 'A part that is not the last one is smaller than 5 MiB.' },
  entity_too_large: { status: 413, title: 'The body of the request is too large.' },
  insufficient_storage: { status: 507, title: 'The drives are full; nothing was stored.' },
  internal_error: { status: 500, title: 'The server failed. The request id finds the reason in its log.' },
  invalid_argument: { status: 400, title: 'The request has an invalid parameter or field.' },
  invalid_bucket_name: { status: 400, title: 'No bucket can have this name.' },
  invalid_configuration: { status: 400, title: 'A rule of the configuration is wrong.' },
  invalid_credentials: { status: 401, title: 'The access key, the secret or the signature is wrong.' },
  invalid_csrf_token: {
    status: 403,
    title: 'The X-CSRF-Token header is not that of the session, or the request does not come from the console.',
  },
  invalid_part: { status: 400, title: 'A part is missing, is another one, or is not in order.' },
  invalid_object_key: { status: 400, title: 'No object can have this key.' },
  malformed_request: { status: 400, title: 'The body of the request is not JSON.' },
  method_not_allowed: { status: 405, title: 'This path does not have this method.' },
  not_found: { status: 404, title: 'There is nothing at this path.' },
  not_implemented: { status: 501, title: 'This operation is not available.' },
  object_locked: { status: 409, title: 'Object lock protects the object from this.' },
  object_not_found: { status: 404, title: 'The object does not exist.' },
  precondition_failed: { status: 412, title: 'The document is not the one that If-Match names.' },
  quota_exceeded: { status: 409, title: 'The quota of the bucket does not allow this; nothing was stored.' },
  range_not_satisfiable: { status: 416, title: 'The object does not have these bytes.' },
  request_time_skewed: { status: 401, title: 'The clock of the client is more than 15 minutes off.' },
  service_unavailable: { status: 503, title: 'The server cannot do this now. Try again.' },
  too_many_requests: { status: 429, title: 'Too many requests. Try again later.' },
  unauthenticated: { status: 401, title: 'This needs a signed request or a console session.' },
  unsupported_media_type: { status: 415, title: 'The body of the request must be application/json.' },
  upload_not_found: { status: 404, title: 'There is no such upload.' },
  uri_too_long: { status: 414, title: 'A part of the path is too long.' },
  version_not_found: { status: 404, title: 'The object does not have this version.' },
})

export interface FieldProblem {
  /** JSON Pointer into the body, or `query/<name>`, `path/<name>`. */
  readonly element: string
  readonly message: string
}

/** The text with a full stop, unless it ends with a question mark (`did you mean …?`). */
export const sentenceEnd = (text: string): string => (text.endsWith('?') ? text : `${text}.`)

/** `invalid_argument` with all problems and their places. The list is attached to the error, because `extra` has only texts. */
export function invalidFields(problems: readonly FieldProblem[]): Error {
  const [first] = problems
  const error = adminErrors.invalid_argument(
    `${first.element === '' ? 'The body' : first.element} ${sentenceEnd(first.message)}`,
  )
  fieldProblems.set(error, problems)
  return error
}

const fieldProblems = new WeakMap<Error, readonly object[]>()

/** The list of problems of a document, for the client. Also found in the cause of an error, if that is a list or has one. */
export function problemsOf(error: Error): readonly object[] | undefined {
  const { cause } = error
  const own = fieldProblems.get(error)
  if (own !== undefined || cause === undefined) return own
  return Array.isArray(cause) ? cause : fieldProblems.get(cause as Error)
}

/** Refusals that the value of a field can cause: invalid, the name of nothing or of a delete marker, a name that is taken. */
const fieldStatuses: ReadonlySet<number> = new Set([400, 404, 405, 409])

/** The result of a check of one field of the body. Its refusal keeps code and sentence, and names the field; `codes` limits that to some. */
export function checkField<T>(element: string, check: () => T, codes?: readonly string[]): T {
  const refuse = (error: unknown): never => {
    if (isCatalogError(error) && fieldStatuses.has(error.status) && codes?.includes(error.code) !== false) {
      if (problemsOf(error) === undefined) fieldProblems.set(error, [{ element, message: error.message }])
    }
    throw error
  }
  try {
    const result = check()
    return result instanceof Promise ? (result.catch(refuse) as T) : result
  } catch (error) {
    return refuse(error)
  }
}

/** Throws what the first refused check throws, with the problems of all of them; other failures, and denials, at once. */
export async function passAll(checks: readonly (() => MaybePromise<void>)[]): Promise<void> {
  const refusals: Error[] = []
  for (const check of checks) {
    try {
      await check()
    } catch (error) {
      if (!isCatalogError(error) || error.status >= 500 || error.status === 403) throw error
      refusals.push(error)
    }
  }
  const [first, ...others] = refusals
  if (first === undefined) return
  if (others.length > 0) {
    const problems = refusals.flatMap(error => problemsOf(error) ?? [{ element: '', message: error.message }])
    fieldProblems.set(first, problems)
  }
  throw first
}
