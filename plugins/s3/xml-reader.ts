/**
 * Parses request bodies as XML. fast-xml-parser checks and splits the document. Characters are decoded here, because the library drops
 * references to control characters, and `&#x1;` in an object key must be kept: without it the key would be another one. Document types are
 * refused, because S3 has none and attacks use them. Elements must have the namespace of S3 or none, as many clients send them; elements
 * with another namespace are unknown, whatever their names are.
 */
import { createRequire } from 'node:module'
import type { X2jOptions } from 'fast-xml-parser'
import type { XmlNode } from './api.ts'
import { s3Errors } from './errors.ts'
import { isWhiteSpace } from './xml-nodes.ts'

/** Deeper documents are refused; the deepest of S3 (a notification filter) has seven levels. */
const depthMax = 24
/** Documents of S3 have one or two attributes in all (a namespace, a type). */
const attributesMax = 1000

const parserOptions: X2jOptions = {
  preserveOrder: true,
  trimValues: false,
  parseTagValue: false,
  // Only declarations of namespaces matter: other attributes of S3, such as `xsi:type`, repeat what elements contain.
  ignoreAttributes: name => name !== 'xmlns' && !name.startsWith('xmlns:'),
  attributeNamePrefix: '',
  parseAttributeValue: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  processEntities: false,
  cdataPropName: '#cdata',
}

let library: ReturnType<typeof loadLibrary> | undefined

/** Loaded with the first document, so that the start is faster. */
function loadLibrary() {
  const { XMLParser, XMLValidator } = createRequire(import.meta.url)(
    'fast-xml-parser',
  ) as typeof import('fast-xml-parser')
  return { parser: new XMLParser(parserOptions), validator: XMLValidator }
}

type Parsed = Readonly<Record<string, readonly Parsed[] | string>> & {
  readonly ':@'?: Readonly<Record<string, string>>
}

/** In characters. */
const messageMax = 200

/** By prefix; elements without a prefix use the empty text. */
type Namespaces = ReadonlyMap<string, string>

const noNamespaces: Namespaces = new Map()

/** The namespaces in guides of AWS of various years. */
const ownNamespaces = new Set([
  '',
  'http://s3.amazonaws.com/doc/2006-03-01/',
  'http://s3.amazonaws.com/doc/2006-03-01',
  'http://doc.s3.amazonaws.com/2006-03-01/',
  'http://doc.s3.amazonaws.com/2006-03-01',
])

/**
 * The root element. Throws MalformedXML for documents that are not one well-formed element of that name, for text beside elements (no
 * document of S3 has both), and for more than `elementsMax` elements; counts them before it allocates memory for any.
 */
export function readXml(bytes: Buffer, root: string, elementsMax: number): XmlNode {
  const text = utf8(bytes)
  if (/<!DOCTYPE/i.test(text)) throw malformed('A document type is not allowed.')
  if (text.includes('\0')) throw malformed('It holds NUL.')
  refuseCostly(text, elementsMax)
  library ??= loadLibrary()
  const checked = library.validator.validate(text)
  // The message may repeat all open elements.
  if (checked !== true) throw malformed(`${checked.err.msg.slice(0, messageMax)} (line ${checked.err.line})`)
  // The validator overlooks text after a root without content.
  if (text.slice(text.lastIndexOf('>') + 1).trim() !== '') throw malformed('There is text behind the root element.')
  let nodes: readonly Parsed[]
  try {
    nodes = library.parser.parse(text)
  } catch (cause) {
    throw s3Errors.MalformedXML(undefined, { cause })
  }
  const elements = nodes.filter(node => elementName(node) !== undefined)
  if (elements.length !== 1) throw malformed('A document has exactly one root element.')
  const node = toNode(elements[0]!, 1, noNamespaces)
  if (node.name !== root) throw malformed(`The root element must be ${root}.`)
  return node
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw s3Errors.MalformedXML('The document is not UTF-8.', { cause })
  }
}

/** Most elements have two tags. This allows a few more for the declaration and comments. */
const otherTagsMax = 100

/** Refuses too many elements and attributes: the parser creates objects of some hundred bytes for an element of four bytes. */
function refuseCostly(text: string, elementsMax: number): void {
  const tagsMax = 2 * elementsMax + otherTagsMax
  const attributes = { left: attributesMax }
  let tags = 0
  for (let open = text.indexOf('<'); open !== -1; ) {
    if (++tags > tagsMax) throw malformed('The document has too many elements.')
    const isComment = text.startsWith('<!--', open)
    const end = isComment ? text.indexOf('-->', open) : endOfTag(text, open, attributes)
    // A tag without an end is refused by the validator.
    if (end === -1) return
    open = text.indexOf('<', end)
  }
}

/**
 * Position of the `>` that ends the tag, or of the `]]>` of a CDATA section. Counts each attribute, and each blank inside of a tag as one.
 */
function endOfTag(text: string, open: number, attributes: { left: number }): number {
  if (text.startsWith('<![CDATA[', open)) return text.indexOf(']]>', open)
  let quote = 0
  for (let at = open + 1; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (quote !== 0) {
      if (character === quote) quote = 0
      continue
    }
    if (character === 0x3e) return at
    const isQuote = character === 0x22 || character === 0x27
    if (isQuote) quote = character
    if ((isQuote || character <= 0x20) && --attributes.left < 0)
      throw malformed('The document has too many attributes.')
  }
  return -1
}

function elementName(node: Parsed): string | undefined {
  for (const name in node) if (name !== ':@') return name.startsWith('#') ? undefined : name
  return undefined
}

function toNode(parsed: Parsed, depth: number, outer: Namespaces): XmlNode {
  if (depth > depthMax) throw malformed('The document is nested too deeply.')
  const qualified = elementName(parsed)!
  const namespaces = namespacesWithin(parsed, outer)
  const name = localName(qualified, namespaces)
  const children: XmlNode[] = []
  let text = ''
  for (const child of parsed[qualified] as readonly Parsed[]) {
    if ('#text' in child) text += decodeReferences(String(child['#text']))
    else if ('#cdata' in child) text += cdataText(child)
    else if (elementName(child) !== undefined) children.push(toNode(child, depth + 1, namespaces))
  }
  if (children.length > 0 && !isWhiteSpace(text)) throw malformed(`${name} holds text beside elements.`)
  return { name, text, children }
}

function namespacesWithin(parsed: Parsed, outer: Namespaces): Namespaces {
  const attributes = parsed[':@']
  if (attributes === undefined) return outer
  const namespaces = new Map(outer)
  for (const attribute in attributes) {
    namespaces.set(attribute.slice('xmlns:'.length), decodeReferences(String(attributes[attribute])))
  }
  return namespaces
}

function localName(qualified: string, namespaces: Namespaces): string {
  const colon = qualified.indexOf(':')
  const prefix = colon === -1 ? '' : qualified.slice(0, colon)
  const namespace = namespaces.get(prefix)
  if (colon === 0 || (colon !== -1 && !namespace))
    throw malformed(`Nothing says what the prefix of ${qualified} means.`)
  if (namespace !== undefined && !ownNamespaces.has(namespace)) throw malformed(`${qualified} is no element of S3.`)
  return qualified.slice(colon + 1)
}

function cdataText(node: Parsed): string {
  const parts = node['#cdata'] as readonly Parsed[]
  return parts.map(part => String(part['#text'] ?? '')).join('')
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const referenceLengthMax = 12

function decodeReferences(text: string): string {
  let at = text.indexOf('&')
  if (at === -1) return text
  let decoded = ''
  let taken = 0
  for (; at !== -1; at = text.indexOf('&', taken)) {
    const end = text.indexOf(';', at)
    const name = end === -1 || end - at > referenceLengthMax ? '' : text.slice(at + 1, end)
    const character = Object.hasOwn(named, name) ? named[name] : numericCharacter(name)
    if (character === undefined) {
      throw malformed(`"${text.slice(at, at + referenceLengthMax)}" is no character reference.`)
    }
    decoded += text.slice(taken, at) + character
    taken = end + 1
  }
  return decoded + text.slice(taken)
}

/**
 * Any Unicode character except surrogates: including NUL and the control characters that XML 1.0 forbids, because keys may contain them.
 */
function numericCharacter(name: string): string | undefined {
  if (name.charCodeAt(0) !== 0x23) return undefined
  const isHexadecimal = name.charCodeAt(1) === 0x78
  const start = isHexadecimal ? 2 : 1
  if (name.length === start || name.length > start + (isHexadecimal ? 6 : 7)) return undefined
  let code = 0
  for (let at = start; at < name.length; at++) {
    const digit = digitOf(name.charCodeAt(at), isHexadecimal)
    if (digit === undefined) return undefined
    code = code * (isHexadecimal ? 16 : 10) + digit
  }
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined
  return String.fromCodePoint(code)
}

function digitOf(character: number, isHexadecimal: boolean): number | undefined {
  if (character >= 0x30 && character <= 0x39) return character - 0x30
  const letter = character | 0x20
  return isHexadecimal && letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

function malformed(detail: string) {
  return s3Errors.MalformedXML(
    `The XML you provided was not well-formed or is not what this operation takes. ${detail}`,
  )
}
