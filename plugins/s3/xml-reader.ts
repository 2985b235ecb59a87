/**
 * Reads request bodies as XML. fast-xml-parser checks and splits the document; characters are decoded here, because its
 * own decoding drops references to control characters, and `&#x1;` in an object key must stay what it is: a key that loses
 * a character is another key. Document types are refused whole: S3 has none, and they are how XML attacks work.
 */
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import type { XmlNode } from './api.ts'
import { s3Errors } from './errors.ts'

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
  ignoreAttributes: true,
  removeNSPrefix: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  processEntities: false,
  cdataPropName: '#cdata',
})

type Parsed = Readonly<Record<string, readonly Parsed[] | string>>

/** The root element. Throws MalformedXML for everything that is not one well-formed element of that name. */
export function readXml(bytes: Buffer, root: string): XmlNode {
  const text = utf8(bytes)
  if (/<!DOCTYPE/i.test(text)) throw malformed('A document type is not allowed.')
  if (hasManyAttributes(text)) throw malformed('The document has too many attributes.')
  if (countTags(text) > tagsMax) throw malformed('The document has too many elements.')
  const checked = XMLValidator.validate(text)
  if (checked !== true) throw malformed(`${checked.err.msg} (line ${checked.err.line})`)
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
  const node = toNode(elements[0]!, 1)
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

function toNode(parsed: Parsed, depth: number): XmlNode {
  if (depth > depthMax) throw malformed('The document is nested too deeply.')
  const name = elementName(parsed)!
  const children: XmlNode[] = []
  let text = ''
  for (const child of parsed[name] as readonly Parsed[]) {
    if ('#text' in child) text += decodeReferences(String(child['#text']))
    else if ('#cdata' in child) text += cdataText(child)
    else if (elementName(child) !== undefined) children.push(toNode(child, depth + 1))
  }
  return { name, text, children }
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

/** Any Unicode character but surrogates: also the control characters that XML 1.0 forbids and keys may hold. */
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
