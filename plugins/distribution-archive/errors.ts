import { defineErrors } from 'svc/kernel'

export const distributionArchiveErrors = defineErrors({
  invalid_archive: { status: 400, title: 'The documents cannot be imported; nothing was changed.' },
  archive_too_large: { status: 409, title: 'The documents are more than an import takes.' },
  conflict: { status: 409, title: 'Others change the same documents all the time. Try again.' },
})

export interface DocumentProblem {
  /** The document and a place in it: `Distribution/site/spec/aliases/0`; empty for the file. */
  readonly element: string
  /** Line of the file, from 1; 0 if it has no lines. */
  readonly line: number
  readonly column: number
  /** A sentence without its subject. */
  readonly message: string
}

export const problemsMax = 100

/** The first problem as the message, all of them as `errors`. */
export function invalidDocuments(problems: readonly DocumentProblem[]): Error {
  const { element, line, column, message } = problems[0]!
  // As clients put places together, so that they see that the first problem has been told.
  const place = [line > 0 ? `line ${line}, column ${column}` : '', element].filter(Boolean).join(', ')
  const more = problems.length > 1 ? ` There are ${problems.length - 1} other problems.` : ''
  return distributionArchiveErrors.invalid_archive(`${place === '' ? 'The file' : `${place}:`} ${message}.${more}`, {
    cause: problems.slice(0, problemsMax),
  })
}
