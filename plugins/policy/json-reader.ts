/**
 * A strict parser of JSON (RFC 8259) that keeps positions. `JSON.parse` has none and drops the first of two equal keys; error messages
 * about policies need both. Members stay a list, so no key can affect a prototype.
 *
 * A missing or superfluous comma and a comment are reported and skipped, so that the rest is checked, too. Any other error ends the
 * parsing.
 */

export type JsonNode = JsonObject | JsonList | JsonText | JsonPlain

export interface JsonObject {
  readonly kind: 'object'
  readonly at: number
  readonly members: readonly JsonMember[]
}

export interface JsonMember {
  readonly key: string
  /** Offset of the key's opening quote. */
  readonly at: number
  readonly value: JsonNode
}

export interface JsonList {
  readonly kind: 'list'
  readonly at: number
  readonly items: readonly JsonNode[]
}

export interface JsonText {
  readonly kind: 'string'
  readonly at: number
  readonly value: string
}

export interface JsonPlain {
  readonly kind: 'number' | 'boolean' | 'null'
  readonly at: number
  readonly value: number | boolean | null
}

/** Called with the offset of a problem and a sentence. */
export type JsonComplaint = (at: number, message: string) => void

/** Deeper than any valid policy, and far from a stack overflow. */
const depthMax = 16

class JsonFailure extends Error {}

/** The tree; undefined if the text could not be parsed to its end. All problems go to `complain`. */
export function readJson(text: string, complain: JsonComplaint): JsonNode | undefined {
  const reader = new Reader(text, complain)
  try {
    return reader.document()
  } catch (error) {
    // The failure was already reported; any other error is a defect.
    if (error instanceof JsonFailure) return undefined
    throw error
  }
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

class Reader {
  readonly #text: string
  readonly #complain: JsonComplaint
  #at = 0
  #depth = 0

  constructor(text: string, complain: JsonComplaint) {
    this.#text = text
    this.#complain = complain
  }

  document(): JsonNode {
    if (this.#text.charCodeAt(0) === 0xfeff) this.#at = 1
    this.#skip()
    if (this.#at >= this.#text.length) this.#fail('The document is empty.')
    const node = this.#value()
    this.#skip()
    if (this.#at < this.#text.length) this.#fail(`${this.#found()} stands behind the end of the document.`)
    return node
  }

  #fail(message: string, at = this.#at): never {
    this.#complain(at, message)
    throw new JsonFailure(message)
  }

  /** The text at the current position, for a sentence. */
  #found(): string {
    const code = this.#text.codePointAt(this.#at)
    return code === undefined ? 'The end of the document' : JSON.stringify(String.fromCodePoint(code))
  }

  #skip(): void {
    const text = this.#text
    for (;;) {
      const code = text.charCodeAt(this.#at)
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) this.#at++
      else if (code === 0x2f && (text[this.#at + 1] === '/' || text[this.#at + 1] === '*')) this.#comment()
      else return
    }
  }

  #comment(): void {
    const start = this.#at
    const isBlock = this.#text[start + 1] === '*'
    const end = this.#text.indexOf(isBlock ? '*/' : '\n', start + 2)
    if (isBlock && end < 0) this.#fail('A comment that does not end; JSON has no comments.', start)
    this.#complain(start, 'JSON has no comments.')
    this.#at = end < 0 ? this.#text.length : end + (isBlock ? 2 : 1)
  }

  #value(): JsonNode {
    const at = this.#at
    const character = this.#text[at]
    if (character === '{') return this.#object()
    if (character === '[') return this.#list()
    if (character === '"') return { kind: 'string', at, value: this.#string() }
    if (character === '-' || (character !== undefined && character >= '0' && character <= '9')) return this.#number()
    for (const [word, value] of [['true', true] as const, ['false', false] as const, ['null', null] as const]) {
      if (!this.#text.startsWith(word, at)) continue
      this.#at += word.length
      return { kind: value === null ? 'null' : 'boolean', at, value }
    }
    if (character === "'") this.#fail('Strings stand in double quotes.')
    return this.#fail(`${this.#found()} stands where a value is expected.`)
  }

  #enter(): void {
    if (++this.#depth > depthMax) this.#fail(`The document is nested deeper than ${depthMax} levels.`)
  }

  #object(): JsonObject {
    const at = this.#at++
    const members: JsonMember[] = []
    const seen = new Set<string>()
    this.#enter()
    for (;;) {
      this.#skip()
      if (this.#text[this.#at] === '}') break
      const keyAt = this.#at
      if (this.#text[keyAt] !== '"') this.#fail(`${this.#found()} stands where a key in double quotes is expected.`)
      const key = this.#string()
      if (seen.has(key)) this.#complain(keyAt, `The key ${JSON.stringify(key)} stands twice in the same object.`)
      seen.add(key)
      this.#skip()
      if (this.#text[this.#at] !== ':') this.#fail(`${this.#found()} stands where ":" is expected.`)
      this.#at++
      this.#skip()
      members.push({ key, at: keyAt, value: this.#value() })
      this.#separator('}')
    }
    this.#at++
    this.#depth--
    return { kind: 'object', at, members }
  }

  #list(): JsonList {
    const at = this.#at++
    const items: JsonNode[] = []
    this.#enter()
    for (;;) {
      this.#skip()
      if (this.#text[this.#at] === ']') break
      items.push(this.#value())
      this.#separator(']')
    }
    this.#at++
    this.#depth--
    return { kind: 'list', at, items }
  }

  /** Parses what follows a member or item: a comma, or the end. */
  #separator(end: string): void {
    this.#skip()
    const { [this.#at]: character } = this.#text
    if (character === end) return
    if (character === ',') {
      const comma = this.#at++
      this.#skip()
      if (this.#text[this.#at] === end) this.#complain(comma, `No comma may stand before "${end}".`)
      return
    }
    const couldFollow =
      end === '}' ? character === '"' : character !== undefined && '"{[-0123456789tfn'.includes(character)
    if (!couldFollow) this.#fail(`${this.#found()} stands where "," or "${end}" is expected.`)
    this.#complain(this.#at, 'A comma is missing before this.')
  }

  #number(): JsonPlain {
    const pattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null || /[\w.+-]/.test(this.#text[pattern.lastIndex] ?? ''))
      this.#fail('This is not a number of JSON.')
    const at = this.#at
    this.#at = pattern.lastIndex
    return { kind: 'number', at, value: Number(match[0]) }
  }

  #string(): string {
    const text = this.#text
    const start = this.#at++
    let value = ''
    let from = this.#at
    for (;;) {
      const code = text.charCodeAt(this.#at)
      if (code === 0x22) break
      if (Number.isNaN(code)) this.#fail('A string that does not end.', start)
      if (code === 0x0a || code === 0x0d) {
        this.#fail(
          'The string does not end on this line: a double quote is missing, or a line break in it stands as \\n.',
          start,
        )
      }
      if (code < 0x20) this.#fail('A control character in a string: write it as an escape.')
      if (code !== 0x5c) {
        this.#at++
        continue
      }
      value += text.slice(from, this.#at) + this.#escape()
      from = this.#at
    }
    value += text.slice(from, this.#at++)
    if (!value.isWellFormed()) this.#complain(start, 'The string holds half of a surrogate pair.')
    return value
  }

  #escape(): string {
    const letter = this.#text[this.#at + 1]
    if (letter === 'u') {
      const digits = this.#text.slice(this.#at + 2, this.#at + 6)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.#fail('"\\u" needs four hexadecimal digits.')
      this.#at += 6
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const replaced = letter !== undefined && Object.hasOwn(escapes, letter) ? escapes[letter] : undefined
    if (replaced === undefined) this.#fail('JSON has no such escape.')
    this.#at += 2
    return replaced
  }
}
