/**
 * Reads parsed XML bodies. Repeated elements that must be unique are refused, and so are text instead of elements and elements instead of
 * text, because a dropped part may be one that restricts a rule.
 */
import type { XmlNode, XmlShape } from './api.ts'
import { s3Errors } from './errors.ts'

/** Throws MalformedXML if the node has text instead of elements. */
export function childrenNamed(node: XmlNode, name: string): readonly XmlNode[] {
  requireNoText(node)
  return node.children.filter(child => child.name === name)
}

/** Text of all children of that name. Throws MalformedXML if one has elements. */
export function childTexts(node: XmlNode, name: string): readonly string[] {
  return childrenNamed(node, name).map(leafText)
}

/**
 * Throws MalformedXML for elements that the declaration of a document does not have, at any depth, and for text instead of elements or
 * elements instead of text.
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

/** Text of the only child of that name; undefined if there is none. Throws MalformedXML if there are several, or if it has elements. */
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

/** White space according to XML: other spaces of Unicode are text. */
export function isWhiteSpace(text: string): boolean {
  return text === '' || !/[^ \t\r\n]/.test(text)
}
