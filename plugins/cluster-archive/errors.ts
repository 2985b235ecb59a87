import { defineErrors } from 'svc/kernel'

export const archiveErrors = defineErrors({
  invalid_archive: { status: 400, title: 'The archive cannot be imported; nothing was changed.' },
  conflict: { status: 409, title: 'The archive does not fit this deployment, or another import runs.' },
})

export interface ArchiveProblem {
  /** A file of the archive, and a place in it: `buckets/photos.json/documents/bucket-policy`. */
  readonly element: string
  readonly message: string
}

const problemsMax = 100
const nameCharsMax = 200

/** A name in an archive may have 65,535 characters. */
export function shownName(name: string): string {
  return name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}…` : name
}

/** The first problem as the message, all of them as the cause. */
export function invalidArchive(problems: readonly ArchiveProblem[]): Error {
  const shown = problems.slice(0, problemsMax).map(({ element, message }) => ({ element: shownName(element), message }))
  const [first] = shown
  return archiveErrors.invalid_archive(first && `${first.element}: ${first.message}.`, { cause: shown })
}
