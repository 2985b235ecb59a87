/**
 * Reading of parsed XML bodies. Elements that a document must not have twice are refused, not picked from; so is text where
 * elements belong and elements where text belongs, because what is dropped may be all that narrows a rule.
 */
import type { XmlNode, XmlShape } from './api.ts'
import { s3Errors } from './errors.ts'

/** Throws MalformedXML when the node has text instead of elements. */
export function childrenNamed(node: XmlNode, name: string): readonly XmlNode[] {
  requireNoText(node)
  return node.children.filter(child => child.name === name)
}

/** Text of each child of that name. Throws MalformedXML when one holds elements. */
export function childTexts(node: XmlNode, name: string): readonly string[] {
  return childrenNamed(node, name).map(leafText)
}

/**
 * Throws MalformedXML for elements that the declaration of a document does not have, at any depth, and for text or elements in the place
 * of the other.
 */
export function requireShape(node: XmlNode, shape: XmlShape): void {
  if (shape === 'anything') return
  if (shape === 'text') {
    leafText(node)
    return
  }
  requireNoText(node)
  for (const child of node.children) {
    if (!Object.hasOwn(shape, child.name)) throw s3Errors.MalformedXML(`${node.name} has no element ${child.name}.`)
    requireShape(child, shape[child.name]!)
  }
}

/**
 * Text of the only child of that name; undefined when there is none. Throws MalformedXML when there are several, and when it
 * holds elements.
 */
export function childText(node: XmlNode, name: string): string | undefined {
  requireNoText(node)
  let found: XmlNode | undefined
  for (const child of node.children) {
    if (child.name !== name) continue
    if (found !== undefined) throw s3Errors.MalformedXML(`${node.name} has more than one ${name}.`)
    found = child
  }
  return found && leafText(found)
}

function leafText({ name, text, children }: XmlNode): string {
  if (children.length > 0) throw s3Errors.MalformedXML(`${name} holds text, not elements.`)
  return text
}

function requireNoText({ name, text }: XmlNode): void {
  if (!isWhiteSpace(text)) throw s3Errors.MalformedXML(`${name} holds elements, not text.`)
}

/** What XML calls so: a space that Unicode knows beside these is text. */
export function isWhiteSpace(text: string): boolean {
  return text === '' || !/[^ \t\r\n]/.test(text)
}
