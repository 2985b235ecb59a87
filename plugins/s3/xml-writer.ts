/**
 * Writes answers as XML, by concatenating strings: a listing of 1000 keys takes about a millisecond, several times less than with a general
 * builder. Control characters are written as character references, as on AWS, so that any key can be represented.
 */
import type { XmlValue } from './api.ts'

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** The root element with its namespace, without the declaration. */
export function writeXmlRoot(root: string, value: XmlValue): string {
  const content = writeContent(value)
  return content === '' ? `<${root} xmlns="${namespace}"/>` : `<${root} xmlns="${namespace}">${content}</${root}>`
}

/** Content in its final form: written once for many uses, or by hand with `escapeXml` for lists with thousands of items. */
export class PreparedXml {
  readonly content: string

  constructor(content: string) {
    this.content = content
  }
}

interface Tags {
  readonly open: string
  readonly close: string
  readonly empty: string
}

/** By element name, including constant attributes after a space. Bounded, because names come from declarations. */
const tagsByName = new Map<string, Tags>()

function tagsOf(name: string): Tags {
  let tags = tagsByName.get(name)
  if (tags === undefined) {
    const space = name.indexOf(' ')
    tags = { open: `<${name}>`, close: `</${space === -1 ? name : name.slice(0, space)}>`, empty: `<${name}/>` }
    tagsByName.set(name, tags)
  }
  return tags
}

/** An element without a namespace: error documents have none. */
export function writeElement(name: string, value: XmlValue): string {
  if (value === undefined) return ''
  const { open, close, empty } = tagsOf(name)
  if (typeof value === 'string') return value === '' ? empty : open + escapeXml(value) + close
  if (typeof value !== 'object') return open + value + close
  if (value instanceof PreparedXml) return open + value.content + close
  if (!isList(value)) return open + writeContent(value) + close
  let text = ''
  for (const item of value) text += writeElement(name, item)
  return text
}

function writeContent(value: XmlValue): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return escapeXml(value)
  if (typeof value !== 'object') return String(value)
  if (value instanceof PreparedXml) return value.content
  if (isList(value)) throw new TypeError('A list has no element of its own.')
  let text = ''
  for (const name in value) {
    const part = value[name]
    if (part === undefined) continue
    text += name === '' ? writeMixed(part) : writeElement(name, part)
  }
  return text
}

/** Elements of several names in their order. */
function writeMixed(value: XmlValue): string {
  if (typeof value !== 'object' || !isList(value)) throw new TypeError('Elements without a common name are a list.')
  let text = ''
  for (const item of value) text += writeContent(item)
  return text
}

function isList(value: object): value is readonly XmlValue[] {
  return Array.isArray(value)
}

/** The escape for each ASCII character; undefined if it needs none. */
const references = Array.from({ length: 128 }, (_, code) => {
  const name = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[String.fromCharCode(code)]
  if (name !== undefined) return `&${name};`
  return code < 0x20 || code === 0x7f ? `&#x${code.toString(16)};` : undefined
})

/**
 * Control characters become references, as on AWS; also tabs and line ends, because parsers trim or change literal ones. By hand, because
 * every ETag of a listing has two quotes, and a regular expression takes several times as long.
 */
export function escapeXml(text: string): string {
  let escaped = ''
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const reference = code < 128 ? references[code] : code >= 0xfffe ? `&#x${code.toString(16)};` : undefined
    if (reference === undefined) continue
    escaped += text.slice(from, i) + reference
    from = i + 1
  }
  return from === 0 ? text : escaped + text.slice(from)
}
