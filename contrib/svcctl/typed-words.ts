/** Translates places of a request in messages of the server into the words that the user typed. */
import { AdminError } from './errors.ts'

/** What the user typed, by place and field: `body/secretKey`, `body/origin/bucket`, `query/limit`, `path/user`. */
export type TypedWords = ReadonlyMap<string, string>

/** A place of the request as the server writes it: `/policyNames/0`, `query/limit`, `path/user`. */
const placePattern = /(?<![\w/])(query|path)?\/([A-Za-z]\w*(?:\/[A-Za-z]\w*)*)(\/\d+)?(?![\w/])/g
/** A field of the body with the value that the server requires: `"confirm": true`. */
const memberPattern = /"([A-Za-z]\w*)": true/g

/** Places that the user did not type, such as those in a file, are kept. */
export function inTypedWords(error: unknown, words: TypedWords): unknown {
  const translate = (text: string) =>
    text
      .replace(memberPattern, (member, name) => words.get(`body/${name}`) ?? member)
      .replace(placePattern, (pointer, place = 'body', name) => words.get(`${place}/${name}`) ?? pointer)
  return translated(error, translate)
}

/** One item of a list that is made from several options. */
export interface TypedPattern {
  /** The option's name: `glob` for `--glob`. */
  readonly type: string
  readonly pattern: string
}

/** Places in a list of patterns are told as the options that they came from. */
export function withTypedPatterns(error: unknown, patterns: readonly TypedPattern[]): unknown {
  return translated(error, text =>
    text.replace(/\/patterns\/(\d+)(?:\/\w+)?/g, (pointer, index) => {
      const found = patterns[Number(index)]
      return found === undefined ? pointer : `--${found.type} ${JSON.stringify(found.pattern)}`
    }),
  )
}

function translated(error: unknown, translate: (text: string) => string): unknown {
  if (!(error instanceof AdminError)) return error
  return error.inWords(
    translate(error.message).replace(/^the (?=[a-z])/, 'The '),
    error.problems.map(({ place, message }) => ({ place: translate(place), message: translate(message) })),
  )
}
