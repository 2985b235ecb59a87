/** What the server calls by its place in the request, in the words that somebody typed. */
import { AdminError } from './errors.ts'

/** By place and field: `body/secretKey`, `query/limit`, `path/user`. */
export type TypedWords = ReadonlyMap<string, string>

/** A place of the request as the server writes it: `/policyNames/0`, `query/limit`, `path/user`. */
const placePattern = /(?<![\w/])(query|path)?\/([A-Za-z]\w*)(\/\d+)?(?![\w/])/g

/** Places that nobody typed, such as those in a file, stay as they are. */
export function inTypedWords(error: unknown, words: TypedWords): unknown {
  if (!(error instanceof AdminError) || error.code !== 'invalid_argument') return error
  const translate = (text: string) =>
    text.replace(placePattern, (pointer, place = 'body', name) => words.get(`${place}/${name}`) ?? pointer)
  const { status, code, requestId, operation, message } = error
  return new AdminError({
    status,
    code,
    message: translate(message).replace(/^the (?=[a-z])/, 'The '),
    requestId,
    operation,
    problems: error.problems.map(problem => ({ place: translate(problem.place), message: translate(problem.message) })),
  })
}
