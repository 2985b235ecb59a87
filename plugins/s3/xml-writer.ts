/**
 * Writes answers as XML. Strings are built by hand: a listing of 1000 keys takes about a millisecond, several times less
 * than a general builder. Control characters are written as character references, as AWS does, so that any key survives.
 */
import type { XmlValue } from './api.ts'

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** The root element with its namespace, without the declaration. */
export function writeXmlRoot(root: string, value: XmlValue): string {
  const content = writeContent(value)
  return content === '' ? `<${root} xmlns="${namespace}"/>` : `<${root} xmlns="${namespace}">${content}</${root}>`
}

/** An element without a namespace: error documents have none. */
export function writeElement(name: string, value: XmlValue): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value === '' ? `<${name}/>` : `<${name}>${escapeXml(value)}</${name}>`
  if (typeof value !== 'object') return `<${name}>${value}</${name}>`
  if (isList(value)) {
    let text = ''
    for (const item of value) text += writeElement(name, item)
    return text
  }
  return `<${name}>${writeContent(value)}</${name}>`
}

function writeContent(value: XmlValue): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return escapeXml(value)
  if (typeof value !== 'object') return String(value)
  if (isList(value)) throw new TypeError('A list has no element of its own.')
  let text = ''
  for (const name in value) text += writeElement(name, value[name])
  return text
}

function isList(value: object): value is readonly XmlValue[] {
  return Array.isArray(value)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: object keys may hold them
const special = /[&<>"\u0000-\u001f\u007f\ufffe\uffff]/
const specials = new RegExp(special, 'g')

/** Tabs and line ends are references, too: parsers trim or change bare ones. */
export function escapeXml(text: string): string {
  return special.test(text) ? text.replace(specials, reference) : text
}

function reference(character: string): string {
  switch (character) {
    case '&':
      return '&amp;'
    case '<':
      return '&lt;'
    case '>':
      return '&gt;'
    case '"':
      return '&quot;'
    default:
      return `&#x${character.charCodeAt(0).toString(16)};`
  }
}
