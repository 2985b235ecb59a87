/** Locates the errors of a document by lines of its file: the server only sees the parsed content. */
import { AdminError, type AdminProblem } from '../errors.ts'
import { type AdminClient, type AdminRequest, problemAt } from './client.ts'

/**
 * The error with the places that the check finds, whose answer is a `ValidationResult`. The check stores nothing. If the check itself is refused, the
 * original error is kept, without lines.
 */
export async function withPlaces(client: AdminClient, check: AdminRequest, error: AdminError): Promise<AdminError> {
  const checked = await client.send(check).catch(() => undefined)
  const { errors = [] } = (checked?.body ?? {}) as { readonly errors?: readonly Readonly<Record<string, unknown>>[] }
  const problems: readonly AdminProblem[] =
    errors.length > 0
      ? errors.map(problemAt)
      : error.problems.map(({ place, message }) => ({
          place: place.replace(/^line \d+, column \d+(, )?/, ''),
          message,
        }))
  const [{ message = error.message, place = '' } = {}] = problems
  const { status, code, requestId, operation } = error
  // The first problem is the message; a single problem is not repeated.
  const untold = problems.length === 1 ? [{ place, message: '' }] : problems
  return new AdminError({ status, code, message, requestId, operation, problems: untold })
}
