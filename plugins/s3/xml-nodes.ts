/** Reading of parsed XML bodies. Elements that a document must not have twice are refused, not picked from. */
import type { XmlNode } from './api.ts'
import { s3Errors } from './errors.ts'

export function childrenNamed(node: XmlNode, name: string): readonly XmlNode[] {
  return node.children.filter(child => child.name === name)
}

/** Text of the only child of that name; undefined when there is none. Throws MalformedXML when there are several. */
export function childText(node: XmlNode, name: string): string | undefined {
  let found: XmlNode | undefined
  for (const child of node.children) {
    if (child.name !== name) continue
    if (found !== undefined) throw s3Errors.MalformedXML(`${node.name} has more than one ${name}.`)
    found = child
  }
  return found?.text
}
