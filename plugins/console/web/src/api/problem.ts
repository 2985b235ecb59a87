/** A request that the server has refused, or that has not reached it. */
import { texts } from '../texts/index.ts'

export interface FieldProblem {
  /** Path of the field in the body, such as `/name`; empty where the body as a whole is wrong. */
  readonly field: string
  readonly message: string
}

export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly requestId: string
  readonly fields: readonly FieldProblem[]
  /** How long to wait before the next try, where the server has said so. */
  readonly retryAfterSeconds: number | undefined

  constructor(given: {
    status: number
    code: string
    title: string
    detail: string
    requestId?: string
    errors?: unknown
    retryAfter?: string | null
  }) {
    super(given.detail)
    this.name = 'Problem'
    this.status = given.status
    this.code = given.code
    this.title = given.title
    this.requestId = given.requestId ?? ''
    this.fields = fieldsOf(given.errors)
    this.retryAfterSeconds = Number(given.retryAfter) || undefined
  }
}

/** The server's own words, or ours where its answer was none of its documents. */
export async function problemOf(response: Response): Promise<Problem> {
  try {
    const { status, code, title, detail, requestId, errors } = await response.json()
    if (typeof code === 'string' && typeof detail === 'string') {
      return new Problem({
        status,
        code,
        title,
        detail,
        requestId,
        errors,
        retryAfter: response.headers.get('retry-after'),
      })
    }
  } catch {
    // A proxy has answered, or the connection broke.
  }
  const detail = texts.problems.strangeAnswer(response.status)
  return new Problem({ status: response.status, code: 'strange_answer', title: texts.problems.failed, detail })
}

export function problemOfNetwork(): Problem {
  return new Problem({
    status: 0,
    code: 'unreachable',
    title: texts.problems.failed,
    detail: texts.problems.unreachable,
  })
}

function fieldsOf(errors: unknown): FieldProblem[] {
  if (!Array.isArray(errors)) return []
  return errors.flatMap(
    (error: { pointer?: unknown; path?: unknown; field?: unknown; detail?: unknown; message?: unknown }) => {
      const field = error.pointer ?? error.path ?? error.field ?? ''
      const message = error.detail ?? error.message
      return typeof message === 'string' ? [{ field: String(field), message }] : []
    },
  )
}
