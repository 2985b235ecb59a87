/**
 * Reads request bodies as XML. fast-xml-parser checks and splits the document; characters are decoded here, because its
 * own decoding drops references to control characters, and `&#x1;` in an object key must stay what it is: a key that loses
 * a character is another key. Document types are refused whole: S3 has none, and they are how XML attacks work. Elements are those of
 * S3's namespace or of none, as many clients send them; those of another are other elements, whatever they are called.
 */
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import type { XmlNode } from './api.ts'
import { s3Errors } from './errors.ts'
import { isWhiteSpace } from './xml-nodes.ts'

/** Deeper documents are refused; the deepest of S3 (a notification filter) has seven levels. */
const depthMax = 24
/** The largest list of S3 (10 000 parts with checksums) has about 100 000 tags. */
const tagsMax = 250_000

/** S3's documents have one or two attributes in all (a namespace, a type). */
const attributesMax = 1000

const parser = new XMLParser({
  preserveOrder: true,
  trimValues: false,
  parseTagValue: false,
  // Of attributes only declarations of namespaces count: those of S3, such as `xsi:type`, repeat what elements say.
  ignoreAttributes: name => name !== 'xmlns' && !name.startsWith('xmlns:'),
  attributeNamePrefix: '',
  parseAttributeValue: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  processEntities: false,
  cdataPropName: '#cdata',
})

type Parsed = Readonly<Record<string, readonly Parsed[] | string>> & {
  readonly ':@'?: Readonly<Record<string, string>>
}

/** In characters. */
const messageMax = 200

/** By prefix; that of elements without one is the empty text. */
type Namespaces = ReadonlyMap<string, string>

const noNamespaces: Namespaces = new Map()

/** As AWS' guides have written it at one time or another. */
const ownNamespaces = new Set([
  '',
  'http://s3.amazonaws.com/doc/2006-03-01/',
  'http://s3.amazonaws.com/doc/2006-03-01',
  'http://doc.s3.amazonaws.com/2006-03-01/',
  'http://doc.s3.amazonaws.com/2006-03-01',
])

/**
 * The root element. Throws MalformedXML for everything that is not one well-formed element of that name, and for text beside
 * elements: no document of S3 has both.
 */
export function readXml(bytes: Buffer, root: string): XmlNode {
  const text = utf8(bytes)
  if (/<!DOCTYPE/i.test(text)) throw malformed('A document type is not allowed.')
  if (text.includes('\0')) throw malformed('It holds NUL.')
  if (hasManyAttributes(text)) throw malformed('The document has too many attributes.')
  if (countTags(text) > tagsMax) throw malformed('The document has too many elements.')
  const checked = XMLValidator.validate(text)
  // It may repeat all elements that are open.
  if (checked !== true) throw malformed(`${checked.err.msg.slice(0, messageMax)} (line ${checked.err.line})`)
  // The validator overlooks text behind a root without content.
  if (text.slice(text.lastIndexOf('>') + 1).trim() !== '') throw malformed('There is text behind the root element.')
  let nodes: readonly Parsed[]
  try {
    nodes = parser.parse(text)
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

function countTags(text: string): number {
  let count = 0
  for (let at = text.indexOf('<'); at !== -1 && count <= tagsMax; at = text.indexOf('<', at + 1)) count++
  return count
}

/** Counted as `=` before a quote: text content may hold that too, but a thousand times in no document of S3. */
function hasManyAttributes(text: string): boolean {
  let count = 0
  for (let at = text.indexOf('='); at !== -1; at = text.indexOf('=', at + 1)) {
    const next = text.charCodeAt(at + 1)
    if ((next === 0x22 || next === 0x27 || next === 0x20) && ++count > attributesMax) return true
  }
  return false
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

function decodeReferences(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&([^;&]{0,12};?)/g, (_, reference: string) => {
    const name = reference.endsWith(';') ? reference.slice(0, -1) : ''
    const character = Object.hasOwn(named, name) ? named[name] : numericCharacter(name)
    if (character === undefined) throw malformed(`"&${reference}" is no character reference.`)
    return character
  })
}

/** Any Unicode character but surrogates: also NUL and the control characters that XML 1.0 forbids, which keys may hold. */
function numericCharacter(name: string): string | undefined {
  const digits = /^#(?:([0-9]{1,7})|x([0-9A-Fa-f]{1,6}))$/.exec(name)
  if (digits === null) return undefined
  const code = digits[1] === undefined ? Number.parseInt(digits[2]!, 16) : Number.parseInt(digits[1], 10)
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined
  return String.fromCodePoint(code)
}

function malformed(detail: string) {
  return s3Errors.MalformedXML(
    `The XML you provided was not well-formed or is not what this operation takes. ${detail}`,
  )
}
