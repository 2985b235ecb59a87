/**
 * Documents of the server, read with bounds, and the few that we send. Keys in listings come escaped (`encoding-type=url`). A
 * own parser: listings are most of the cost of small transfers, and a general parser takes ten times as long.
 */
import { failure } from '../errors.ts'

export type XmlNode = string | { readonly [name: string]: readonly XmlNode[] | XmlNode }

/** Deeper than any document of S3. */
const depthMax = 32

interface Element {
  readonly name: string
  /** Children by name, in the order of the document; undefined if there are none. */
  children: Record<string, XmlNode[]> | undefined
  text: string
}

/** The root element. Throws if the text is not such a document. */
export function readXml(body: Buffer, root: string): XmlNode {
  const text = body.toString('utf8')
  if (/<!DOCTYPE/i.test(text)) throw failure('bad_answer', 'The answer has a document type: that is no answer of S3.')
  const found = parse(text)[root]?.[0]
  if (found === undefined) throw failure('bad_answer', `The answer is not the document that it should be (${root}).`)
  return found
}

/** A start or end tag; attributes may hold any character between quotation marks. */
const tagPattern = /<(\/?)(?:[^\s/>:]*:)?([^\s/>:]+)((?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?\/?)>/y

function parse(text: string): Record<string, XmlNode[]> {
  const top: Element = { name: '', children: undefined, text: '' }
  const open: Element[] = [top]
  let at = 0
  for (;;) {
    const current = open.at(-1)!
    const start = text.indexOf('<', at)
    const end = start === -1 ? text.length : start
    if (end > at) current.text += decodeText(text.slice(at, end))
    if (start === -1) break
    const second = text.charCodeAt(start + 1)
    if (second === questionMark || second === exclamationMark) {
      at = skip(text, start, current)
      continue
    }
    tagPattern.lastIndex = start
    const tag = tagPattern.exec(text)
    if (tag === null) throw noXml(`a tag is broken at ${start}`)
    at = tagPattern.lastIndex
    const [, slash, name, rest] = tag as unknown as [string, string, string, string]
    if (slash === '/') {
      if (open.length === 1 || current.name !== name) throw noXml(`</${name}> ends nothing`)
      close(open)
      continue
    }
    if (open.length > depthMax) throw noXml('its elements are nested too deep')
    open.push({ name, children: undefined, text: '' })
    if (rest.endsWith('/')) close(open)
  }
  if (open.length > 1) throw noXml(`<${open.at(-1)!.name}> has no end`)
  if (top.text.trim() !== '') throw noXml('there is text outside of the element')
  return top.children ?? {}
}

const questionMark = 0x3f
const exclamationMark = 0x21

function close(open: Element[]): void {
  const { name, children, text } = open.pop()!
  const parent = open.at(-1)!
  if (children !== undefined && text.trim() !== '') children['#text'] = [text]
  // Without a prototype, because the server chooses the names of elements.
  parent.children ??= Object.create(null) as Record<string, XmlNode[]>
  const siblings = parent.children[name]
  const node = children ?? text
  if (siblings === undefined) parent.children[name] = [node]
  else siblings.push(node)
}

/** Skips instructions and comments; a CDATA section is text. Returns the position after it. */
function skip(text: string, start: number, current: Element): number {
  const [opening, ending] = sections.find(([opening]) => text.startsWith(opening, start)) ?? ['', '']
  const end = ending === '' ? -1 : text.indexOf(ending, start + opening.length)
  if (end === -1) throw noXml(`a section is broken at ${start}`)
  if (opening === cdata) current.text += text.slice(start + opening.length, end)
  return end + ending.length
}

const cdata = '<![CDATA['
const sections = [
  ['<?', '?>'],
  ['<!--', '-->'],
  [cdata, ']]>'],
] as const

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decodeText(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));|&/gi, (whole, decimal, hex, name) => {
    if (name !== undefined && Object.hasOwn(entities, name)) return entities[name]!
    const code = Number(decimal ?? `0x${hex}`)
    if (!(code <= 0x10ffff)) throw noXml(`${whole} stands for no character`)
    return String.fromCodePoint(code)
  })
}

const noXml = (reason: string) => failure('bad_answer', `The answer is no XML document: ${reason}.`)

export function childrenOf(node: XmlNode, name: string): readonly XmlNode[] {
  if (typeof node === 'string') return []
  const found = Object.hasOwn(node, name) ? node[name] : undefined
  return Array.isArray(found) ? found : []
}

/** Text of the first child of that name; undefined when there is none. */
export function textOf(node: XmlNode, name: string): string | undefined {
  const child = childrenOf(node, name)[0]
  if (child === undefined) return undefined
  if (typeof child === 'string') return child
  const [text] = childrenOf(child, '#text')
  return typeof text === 'string' ? text : ''
}

/** Every element of the node that holds text alone. */
export function textsOf(node: XmlNode): Record<string, string> {
  const texts: Record<string, string> = {}
  if (typeof node === 'string') return texts
  for (const name of Object.keys(node)) {
    const text = textOf(node, name)
    if (text !== undefined && name !== '#text') texts[name] = text
  }
  return texts
}

/** Text for a document: characters that XML cannot hold are written as references, which S3 accepts. */
export function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that need it
  return text.replace(/[&<>"'\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, character => `&#${character.codePointAt(0)};`)
}
