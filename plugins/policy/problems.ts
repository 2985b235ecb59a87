/** Collects all problems of a document, each with its position. */

/** Sorted by position. Lines and columns count from 1, columns in UTF-16 units. */
export interface PolicyProblem {
  /** Index of the statement, from 0; undefined for the document as a whole. */
  readonly statement?: number
  readonly sid?: string
  /** `Version`, `Action`, `Condition.StringLike.s3:prefix`…; empty for the JSON itself. */
  readonly element: string
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Further problems are dropped. */
export const problemsMax = 100

interface Complaint extends PolicyProblem {
  readonly at: number
}

export class Problems {
  readonly #text: string
  readonly #lineStarts: number[] = [0]
  readonly #errors: Complaint[] = []
  readonly #warnings: Complaint[] = []
  /** Index of the statement that is being parsed. */
  statement: number | undefined = undefined
  sid: string | undefined = undefined

  constructor(text: string) {
    this.#text = text
  }

  get hasErrors(): boolean {
    return this.#errors.length > 0
  }

  get errorCount(): number {
    return this.#errors.length
  }

  error(at: number, element: string, message: string): void {
    this.#add(this.#errors, at, element, message)
  }

  warn(at: number, element: string, message: string): void {
    this.#add(this.#warnings, at, element, message)
  }

  errors(): readonly PolicyProblem[] {
    return inOrder(this.#errors)
  }

  warnings(): readonly PolicyProblem[] {
    return inOrder(this.#warnings)
  }

  place(at: number): { readonly line: number; readonly column: number } {
    const starts = this.#lineStarts
    if (starts.length === 1) {
      for (let end = this.#text.indexOf('\n'); end >= 0; end = this.#text.indexOf('\n', end + 1)) starts.push(end + 1)
    }
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (starts[middle] <= at) low = middle
      else high = middle
    }
    return { line: low + 1, column: at - starts[low] + 1 }
  }

  #add(list: Complaint[], at: number, element: string, message: string): void {
    if (list.length >= problemsMax) return
    const { statement, sid } = this
    list.push({
      ...(statement === undefined ? {} : { statement }),
      ...(sid === undefined || sid === '' ? {} : { sid }),
      element,
      ...this.place(at),
      message,
      at,
    })
  }
}

function inOrder(list: readonly Complaint[]): readonly PolicyProblem[] {
  return [...list].sort((a, b) => a.at - b.at).map(({ at: _, ...problem }) => problem)
}

/** A name for a message: quoted, and at most one line long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text)
}
