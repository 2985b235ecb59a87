/** The document NotificationConfiguration: from XML to rules and back. */
import type { Random } from 'svc/kernel'
import {
  childrenNamed,
  childText,
  childTexts,
  s3Errors,
  type XmlNode,
  type XmlShape,
  type XmlValue,
} from 'svc/plugins/s3/api'
import { type NotificationRule, newRuleId } from './rules.ts'

type Kind = NotificationRule['kind']

/** The name of a rule's element, and of the element with the ARN in it. */
const elements: Readonly<Record<Kind, readonly [rule: string, arn: string]>> = {
  topic: ['TopicConfiguration', 'Topic'],
  queue: ['QueueConfiguration', 'Queue'],
  function: ['CloudFunctionConfiguration', 'CloudFunction'],
}
const kinds = Object.keys(elements) as readonly Kind[]
const eventBridge = 'EventBridgeConfiguration'

const Filter = { S3Key: { FilterRule: { Name: 'text', Value: 'text' } } } as const

/** The allowed elements of the document. */
export const notificationElements: Readonly<Record<string, XmlShape>> = {
  ...Object.fromEntries(
    kinds.map(kind => [elements[kind][0], { Id: 'text', [elements[kind][1]]: 'text', Event: 'text', Filter }]),
  ),
  [eventBridge]: 'anything',
}

/** Throws MalformedXML, and NotImplemented for EventBridge. A rule without an id gets one. */
export function readRules(xml: XmlNode, random: Random): readonly NotificationRule[] {
  if (childrenNamed(xml, eventBridge).length > 0) {
    throw s3Errors.NotImplemented(
      'Events for EventBridge would come with the plugin "event-bridge", which is not loaded.',
      {
        extra: { Plugin: 'event-bridge' },
      },
    )
  }
  return xml.children.map(node => {
    const kind = kinds.find(known => elements[known][0] === node.name)!
    const [, arnName] = elements[kind]
    const arn = childText(node, arnName)?.trim()
    const events = childTexts(node, 'Event').map(event => event.trim())
    if (arn === undefined || events.length === 0) {
      throw s3Errors.MalformedXML(`${node.name} has one ${arnName} and at least one Event.`)
    }
    const id = childText(node, 'Id')
    return {
      kind,
      id: id === undefined || id === '' ? newRuleId(random) : id,
      arn,
      events,
      filters: readFilters(node),
    }
  })
}

function readFilters(node: XmlNode): NotificationRule['filters'] {
  const key = onlyChild(node, 'Filter')
  const rules = key && onlyChild(key, 'S3Key')
  return (rules?.children ?? []).map(rule => {
    const [name, value] = [childText(rule, 'Name'), childText(rule, 'Value')]
    if (name === undefined || value === undefined) throw s3Errors.MalformedXML('A FilterRule has a Name and a Value.')
    return { name, value }
  })
}

function onlyChild(node: XmlNode, name: string): XmlNode | undefined {
  const [child, ...more] = childrenNamed(node, name)
  if (more.length > 0) throw s3Errors.MalformedXML(`${node.name} has more than one ${name}.`)
  return child
}

/** In the order in which they were put, whatever their kinds. */
export function describeRules(rules: readonly NotificationRule[]): XmlValue {
  return { '': rules.map(describeRule) }
}

function describeRule({ kind, id, arn, events, filters }: NotificationRule): XmlValue {
  const [name, arnName] = elements[kind]
  const FilterRule = filters.map(filter => ({ Name: filter.name, Value: filter.value }))
  return {
    [name]: {
      Id: id,
      [arnName]: arn,
      Event: events,
      Filter: filters.length > 0 ? { S3Key: { FilterRule } } : undefined,
    },
  }
}
