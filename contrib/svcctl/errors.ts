/** Errors and exit codes of the commands. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  conflict: 5,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** An expected failure. The message is a sentence for a person, without a secret in it. */
export class CliError extends Error {
  readonly code: string
  readonly exitCode: ExitCode

  constructor(code: string, exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CliError'
    this.code = code
    this.exitCode = exitCode
  }
}

export const usageError = (message: string): CliError => new CliError('usage', exitCodes.usage, message)
export const notFoundError = (message: string): CliError => new CliError('not_found', exitCodes.notFound, message)
export const conflictError = (message: string): CliError => new CliError('conflict', exitCodes.conflict, message)
export const failure = (code: string, message: string, cause?: unknown): CliError =>
  new CliError(code, exitCodes.failure, message, cause === undefined ? undefined : { cause })

/** No answer, or an interrupted one. The request may have been executed. */
export class ConnectionError extends CliError {
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(code, exitCodes.failure, message, options)
    this.name = 'ConnectionError'
  }
}

interface AnswerFacts {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly requestId?: string
  /** The operation in the protocol's words, and its subject. */
  readonly operation: string
}

/** An answer of the server that is an error. */
export class AnswerError extends CliError {
  readonly status: number
  readonly requestId: string | undefined
  readonly operation: string

  constructor({ status, code, message, requestId, operation }: AnswerFacts) {
    super(code, exitCodeOf(status), message)
    this.status = status
    this.requestId = requestId
    this.operation = operation
  }
}

/** An error answer of S3. `code` is S3's, or made from the status if the answer has no document. */
export class S3Error extends AnswerError {
  /** Other elements of the document, for example `Region`. */
  readonly details: Readonly<Record<string, string>>

  constructor(facts: AnswerFacts & { readonly details?: Readonly<Record<string, string>> }) {
    super(facts)
    this.name = 'S3Error'
    this.details = facts.details ?? {}
  }
}

/** One problem of a request to the Admin API. */
export interface AdminProblem {
  /** Its place: a JSON Pointer, a parameter, or the rule. */
  readonly place: string
  readonly message: string
}

/** An error answer of the Admin API: a problem document (RFC 9457). */
export class AdminError extends AnswerError {
  readonly problems: readonly AdminProblem[]

  constructor(facts: AnswerFacts & { readonly problems: readonly AdminProblem[] }) {
    super(facts)
    this.name = 'AdminError'
    this.problems = facts.problems
  }

  /** The same error with only some of its problems, at least one. */
  with(problems: readonly AdminProblem[]): AdminError {
    const isOfThese = problems.some(problem => problem.message === this.message)
    const message = isOfThese ? this.message : problems[0]!.message
    return this.inWords(message, untold(message, problems))
  }

  /** The same error in other words. */
  inWords(message: string, problems: readonly AdminProblem[]): AdminError {
    const { status, code, requestId, operation } = this
    return new AdminError({ status, code, message, requestId, operation, problems })
  }
}

/** Problems that the message does not say already; it usually repeats the first one. */
export function untold(message: string, problems: readonly AdminProblem[]): readonly AdminProblem[] {
  const told = message.toLowerCase()
  const isTold = (text: string) => told.includes(text.toLowerCase())
  if (problems.length !== 1) return problems.filter(({ place, message }) => !isTold(`${place}: ${message}`))
  return problems
    .map(({ place, message }) => ({ place: isTold(place) ? '' : place, message: isTold(message) ? '' : message }))
    .filter(({ place, message }) => place !== '' || message !== '')
}

function exitCodeOf(status: number): ExitCode {
  if (status === 404) return exitCodes.notFound
  if (status === 401 || status === 403) return exitCodes.denied
  if (status === 409 || status === 412) return exitCodes.conflict
  return exitCodes.failure
}

/** The exit code of several failures: theirs if they agree. */
export function commonExitCode(errors: readonly unknown[]): ExitCode {
  const codes = new Set(errors.map(error => exitCodeOfError(error)))
  return codes.size === 1 ? [...codes][0]! : exitCodes.failure
}

export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return exitCodes.notFound
  if (code === 'EACCES' || code === 'EPERM') return exitCodes.denied
  return exitCodes.failure
}

/** Explanations of common file errors. */
const fileProblems: Readonly<Record<string, string>> = {
  EACCES: 'You may not use the file or folder',
  EISDIR: 'This is a folder, not a file:',
  ENOENT: 'There is no file or folder',
  ENOSPC: 'The disk is full:',
  ENOTDIR: 'This is a file, not a folder:',
  EPERM: 'You may not change the file or folder',
}

function fileProblem(error: Error): string | undefined {
  const { code = '', path } = error as NodeJS.ErrnoException
  // Opening a folder succeeds; what reads it then does not know its name.
  if (path === undefined && code === 'EISDIR') return 'What is to be read is a folder, not a file (EISDIR).'
  if (path === undefined || !Object.hasOwn(fileProblems, code)) return undefined
  return `${fileProblems[code]} ${JSON.stringify(path)} (${code}).`
}

/** One line for a person. System errors name their file; no error here contains a secret. */
export function describeError(error: unknown): string {
  if (error instanceof AnswerError) {
    const id = error.requestId === undefined ? '' : `, request ${error.requestId}`
    const problems = error instanceof AdminError ? error.problems : []
    const places = problems.map(({ place, message }) => `; ${[place, message].filter(Boolean).join(': ')}`)
    return `${error.operation}: ${error.message} (${error.code}${id})${places.join('')}`
  }
  if (error instanceof Error) return fileProblem(error) ?? (error.message === '' ? error.name : error.message)
  return String(error)
}

/** The error as a record, for `--json`. */
export function errorRecord(error: unknown): Record<string, unknown> {
  const code = (error as { code?: unknown }).code
  return {
    code: typeof code === 'string' ? code : 'failure',
    message: error instanceof Error ? error.message : String(error),
    exitCode: exitCodeOfError(error),
    ...(error instanceof AnswerError
      ? { status: error.status, operation: error.operation, requestId: error.requestId }
      : undefined),
    ...(error instanceof AdminError && error.problems.length > 0 ? { problems: error.problems } : undefined),
  }
}

/** The user has ended the command, by a signal or at a question. */
export class Interrupted extends Error {}
