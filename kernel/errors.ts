/**
 * Errors that callers may see are declared in catalogues: a code, a status and a title each. Any other thrown error
 * is a defect and is answered as an internal error.
 */
export interface ErrorEntry {
  readonly status: number
  /** One sentence for a person, used when the thrower gives no detail. */
  readonly title: string
  /** Clients compare the words: the title is answered as it stands, and a detail beside it. */
  readonly verbatim?: true
}

/** The one class of declared errors. `extra` holds named facts for the answer, `tags` those for the audit record alone (never secrets). */
export class CatalogError extends Error {
  readonly code: string
  readonly status: number
  readonly extra: Readonly<Record<string, string>> | undefined
  readonly tags: Readonly<Record<string, string>> | undefined
  /** The title that is answered verbatim, where `message` is a detail beside it. */
  readonly title: string | undefined

  constructor(code: string, status: number, message: string, options: ErrorDetails = {}, title?: string) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'CatalogError'
    this.code = code
    this.status = status
    this.extra = options.extra
    this.tags = options.tags
    this.title = title
  }
}

export interface ErrorDetails {
  readonly cause?: unknown
  readonly extra?: Readonly<Record<string, string>>
  readonly tags?: Readonly<Record<string, string>>
}

export type ErrorMaker = (detail?: string, options?: ErrorDetails) => CatalogError

export type ErrorCatalog<T extends Record<string, ErrorEntry>> = { readonly [K in keyof T & string]: ErrorMaker } & {
  readonly entries: T
}

/** Makes one function per code: `throw errors.NoSuchKey('…')`. */
export function defineErrors<const T extends Record<string, ErrorEntry>>(entries: T): ErrorCatalog<T> {
  const makers: Record<string, unknown> = { entries }
  for (const [code, entry] of Object.entries(entries)) {
    makers[code] = (detail?: string, options?: ErrorDetails) =>
      new CatalogError(code, entry.status, detail ?? entry.title, options, titleBeside(entry, detail))
  }
  return Object.freeze(makers) as ErrorCatalog<T>
}

function titleBeside({ title, verbatim }: ErrorEntry, detail: string | undefined): string | undefined {
  return verbatim === true && detail !== undefined && detail !== title ? title : undefined
}

export function isCatalogError(error: unknown): error is CatalogError {
  return error instanceof CatalogError
}
