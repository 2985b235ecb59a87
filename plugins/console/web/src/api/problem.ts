/** A request that the server has refused, or that has not reached it. */
import { texts } from '../texts/index.ts'

export interface FieldProblem {
  /** Path of the field in the body, such as `/name`, or a place in a file that was sent; empty where the body as a whole is wrong. */
  readonly field: string
  readonly message: string
}

export class Problem extends Error {
  readonly status: number
  readonly code: string
  /** The server has said so itself. Its title is the phrase of the status, and tells nothing. */
  readonly isOfServer: boolean
  readonly requestId: string
  readonly fields: readonly FieldProblem[]
  /** How long to wait before the next try, where the server has said so. */
  readonly retryAfterSeconds: number | undefined

  constructor(given: {
    status: number
    code: string
    isOfServer?: boolean
    detail: string
    requestId?: string
    fields?: readonly FieldProblem[]
    retryAfter?: string | null
  }) {
    super(given.detail)
    this.name = 'Problem'
    this.status = given.status
    this.code = given.code
    this.isOfServer = given.isOfServer ?? false
    this.requestId = given.requestId ?? ''
    this.fields = given.fields ?? []
    this.retryAfterSeconds = Number(given.retryAfter) || undefined
  }
}

/** The words of an error where nothing stands beside them: where the server failed they end with the request id, which finds it in its log. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Problem)) return error instanceof Error ? error.message : String(error)
  const { status, message, requestId } = error
  return status === 500 && requestId !== '' ? `${message} (${texts.common.requestId(requestId)})` : message
}

/** As the server writes it (RFC 9457); what a proxy says may be anything. */
interface ProblemDocument {
  readonly status: number
  readonly code?: unknown
  readonly detail?: unknown
  readonly requestId: string
}

/** The server's own words, or ours where its answer was none of its documents. */
export async function problemOf(response: Response): Promise<Problem> {
  try {
    const { status, code, detail, requestId, ...given } = (await response.json()) as ProblemDocument
    if (typeof code === 'string' && typeof detail === 'string') {
      return new Problem({
        status,
        isOfServer: true,
        code,
        detail,
        requestId,
        fields: fieldsOf({ ...given, detail }),
        retryAfter: response.headers.get('retry-after'),
      })
    }
  } catch {
    // A proxy has answered, or the connection broke.
  }
  const detail = texts.problems.strangeAnswer(response.status)
  return new Problem({ status: response.status, code: 'strange_answer', detail })
}

/** `silent`: there was no answer for long, and one more request would wait as long. */
export function problemOfNetwork(code: 'unreachable' | 'silent' = 'unreachable'): Problem {
  return new Problem({
    status: 0,
    code,
    detail: texts.problems.unreachable,
  })
}

/** What has come is for somebody else. */
export function problemOfOtherUser(): Problem {
  return new Problem({
    status: 409,
    code: 'other_user',
    detail: texts.problems.otherUser,
  })
}

interface GivenError {
  readonly element?: unknown
  readonly line?: unknown
  readonly column?: unknown
  readonly rule?: unknown
  readonly field?: unknown
  readonly message?: unknown
}

/** Reads the fields of a problem: from `errors`, for lists of rules with the index of the rule, or from the beginning of `detail`. */
function fieldsOf(given: Readonly<Record<string, unknown>>): FieldProblem[] {
  const lists = [given.errors, given.ruleErrors, given.accessRuleErrors].filter(list => Array.isArray(list))
  if (lists.length === 0) {
    const detail = String(given.detail)
    // A setting is named with its subsystem: `notify_webhook:name.endpoint`.
    const [, key, flaw] = /^\w+(?::[\w-]+)?\.(\w+) (.+)$/s.exec(detail) ?? []
    if (key !== undefined) return [{ field: `/settings/${key}`, message: flaw as string }]
    const [, field, message] = /^((?:query|path)?\/[\w/~.-]+):? (.+)$/s.exec(detail) ?? []
    return field === undefined ? [] : [{ field, message: message as string }]
  }
  return (lists.flat() as GivenError[]).flatMap(({ element, line, column, rule, field, message }) => {
    if (typeof message !== 'string') return []
    if (typeof rule !== 'number') {
      const place = typeof line === 'number' && line > 0 ? [texts.problems.place(line, Number(column))] : []
      return [
        { field: [...place, ...(typeof element === 'string' && element !== '' ? [element] : [])].join(', '), message },
      ]
    }
    const within = typeof field === 'string' ? `/${field.replace(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}` : ''
    return [{ field: `/rules/${rule}${within}`, message }]
  })
}

/** What the console itself refuses, at the field of the form that has it. */
export const problemAt = (field: string, message: string): Problem => problemAtAll([{ field, message }])

/** The same of several fields. */
export function problemAtAll(fields: readonly [FieldProblem, ...FieldProblem[]]): Problem {
  return new Problem({ status: 400, code: 'refused', detail: fields[0].message, fields })
}

/** A refusal whose field the server does not name, as of what stands in the path of the request: at the field of the form that has it. */
export function atField(error: unknown, code: string, field: string): unknown {
  if (!(error instanceof Problem) || error.code !== code || error.fields.length > 0) return error
  const { status, isOfServer, requestId, message } = error
  return new Problem({ status, code, isOfServer, requestId, detail: message, fields: [{ field, message }] })
}

/** Errors for `setErrors` of a form whose values are the body or the query. `/origin/bucket` becomes `origin.bucket`. */
export function formErrorsOf(error: unknown): Record<string, string> {
  if (!(error instanceof Problem)) return {}
  const byPath = Map.groupBy(
    error.fields.filter(({ field }) => field !== ''),
    ({ field }) => pathOf(field),
  )
  return Object.fromEntries(
    [...byPath].map(([path, problems]) => [path, sentences(problems.map(({ message }) => message))]),
  )
}

/** The same at other paths; what comes to one field stands there together. */
export function movedErrors(errors: Readonly<Record<string, string>>, pathOf: (path: string) => string) {
  const byPath = Map.groupBy(Object.entries(errors), ([path]) => pathOf(path))
  return Object.fromEntries([...byPath].map(([path, all]) => [path, sentences(all.map(([, text]) => text))]))
}

/** Several as one text, each once. */
const sentences = (messages: readonly string[]): string => {
  const [first = '', ...others] = new Set(messages)
  return others.reduce((text, message) => `${text}${/[.!?;]$/.test(text) ? '' : ';'} ${message}`, first)
}

/** A JSON Pointer as a path of a form. */
const pathOf = (field: string): string =>
  field
    .replace(/^(query|path)?\//, '')
    .replaceAll('/', '.')
    .replaceAll('~1', '/')
    .replaceAll('~0', '~')

/** The errors that are of this field, or of a part of it. */
export function errorWithin<Text>(errors: Readonly<Record<string, Text>>, field: string): Text | undefined {
  const found = Object.entries(errors).flatMap(([path, text]) =>
    path === field || path.startsWith(`${field}.`) ? [text] : [],
  )
  const texts = found.filter(text => typeof text === 'string')
  return texts.length > 1 ? (sentences(texts) as Text) : found[0]
}
