/** Texts with placeholders, each value escaped for where it stands. */

export const itemPlaceholders: ReadonlySet<string> = new Set([
  'url',
  'scheme',
  'host',
  'path',
  'pattern',
  'type',
  'tag',
])
export const placeholders: ReadonlySet<string> = new Set([
  ...itemPlaceholders,
  ...['tags', 'paths', 'id', 'distribution', 'soft', 'token', 'timestamp'],
])

export type Values = Readonly<Record<string, string | readonly string[]>>

const placeholder = /\{([a-z]+)\}/g

export const placeholdersOf = (text: string): string[] => [...text.matchAll(placeholder)].map(([, name]) => name!)

/** Escapes one value; `before` is the text in front of it. */
type Escape = (value: string, name: string, before: string) => string

function fill(text: string, values: Values, escaped: Escape, separator: string): string {
  return text.replaceAll(placeholder, (whole, name: string, offset: number) => {
    const value = values[name]
    if (value === undefined) return whole
    const each = (one: string) => escaped(one, name, text.slice(0, offset))
    return typeof value === 'string' ? each(value) : value.map(each).join(separator)
  })
}

/** Paths and whole URLs at their place stay as they are: they are encoded. */
export function fillUrl(text: string, values: Values): string {
  return fill(
    text,
    values,
    (value, name, before) => {
      const isPlain = name === 'scheme' || name === 'host' || (name === 'url' && before === '')
      const isPath = (name === 'path' || name === 'pattern') && !before.includes('?')
      return isPlain || isPath ? value : encodeURIComponent(value)
    },
    ',',
  )
}

/** No value ends a line or the header. */
export const fillHeader = (text: string, values: Values): string =>
  fill(text, values, value => value.replaceAll(/[^\x20-\x7e]/g, encodeURIComponent), ', ')

export function fillBody(text: string, values: Values, contentType: string): string {
  if (/json/.test(contentType) || (contentType === '' && /^\s*[[{]/.test(text))) {
    // In a list `["a", {tags}]` is no place for one value: `{tags}` and `{paths}` bring their quotes.
    return fill(
      text,
      values,
      (value, name) => (isList(name) ? JSON.stringify(value) : JSON.stringify(value).slice(1, -1)),
      ',',
    )
  }
  if (/urlencoded/.test(contentType)) return fill(text, values, value => encodeURIComponent(value), ',')
  return fill(text, values, value => value.replaceAll(/[\r\n]/g, ' '), '\n')
}

const isList = (name: string): boolean => name === 'tags' || name === 'paths'
