/** What a request to change a fixed setting may say. */
import { childText, s3Errors, type XmlNode } from 'svc/plugins/s3/api'

/** The text of an element of a document, one of `values`. Throws MalformedXML for anything else. */
export function requireChoice<Value extends string>(xml: XmlNode, name: string, values: readonly Value[]): Value {
  const text = childText(xml, name)
  const value = values.find(known => known === text)
  if (value === undefined) throw s3Errors.MalformedXML(`${name} is one of ${values.join(', ')}.`)
  return value
}

export function notBuilt(what: string, plugin: string) {
  return s3Errors.NotImplemented(`${what} would come with the plugin "${plugin}", which is not loaded.`, {
    extra: { Plugin: plugin },
  })
}
