/** Documents of the API (version 2013-04-01). Elements are in the order that the service demands. */
import { createRequire } from 'node:module'
import type { XMLBuilder, XMLParser } from 'fast-xml-parser'

const namespace = 'https://route53.amazonaws.com/doc/2013-04-01/'

/** Loaded with the first use: most servers have no such provider. */
const xml = (): typeof import('fast-xml-parser') => createRequire(import.meta.url)('fast-xml-parser')
let parser: XMLParser | undefined
let builder: XMLBuilder | undefined

/** Where an answer may have any number of elements. */
const lists = new Set(['HostedZone', 'ResourceRecordSet', 'ResourceRecord'])

export interface HostedZone {
  readonly Id: string
  readonly Name: string
  readonly Config?: { readonly PrivateZone?: string }
}

export interface RecordSet {
  readonly ttlSeconds: number
  /** Values as the service stores them, in quotes. */
  readonly values: readonly string[]
}

// biome-ignore lint/suspicious/noExplicitAny: each use checks the type of its value
type Parsed = any

/** Throws if the text is not XML. Empty for an empty document. */
export function parseDocument(bytes: Buffer): Parsed {
  const { XMLParser, XMLValidator } = xml()
  const text = bytes.toString()
  // Nobody has reason to declare entities.
  if (text.includes('<!') || XMLValidator.validate(text) !== true)
    throw new Error('the API gave an answer that is no XML')
  parser ??= new XMLParser({ ignoreAttributes: true, parseTagValue: false, isArray: name => lists.has(name) })
  return parser.parse(text)
}

export function hostedZonesOf(document: Parsed): readonly HostedZone[] {
  return document?.ListHostedZonesByNameResponse?.HostedZones?.HostedZone ?? []
}

/** The set of TXT values at a name, which the list begins with where it exists. */
export function recordSetOf(document: Parsed, name: string): RecordSet | undefined {
  const sets: readonly Parsed[] = document?.ListResourceRecordSetsResponse?.ResourceRecordSets?.ResourceRecordSet ?? []
  const found = sets.find(set => set.Type === 'TXT' && sameName(String(set.Name), name))
  if (found === undefined) return undefined
  const records: readonly Parsed[] = found.ResourceRecords?.ResourceRecord ?? []
  return { ttlSeconds: Number(found.TTL), values: records.map(({ Value }) => String(Value)) }
}

export interface ChangeStatus {
  /** `/change/C2682N5HXP0BZ4` */
  readonly id: string
  readonly isInSync: boolean
}

export function changeOf(document: Parsed): ChangeStatus {
  const { ChangeInfo: info } = document?.ChangeResourceRecordSetsResponse ?? document?.GetChangeResponse ?? {}
  if (!/^\/change\/[A-Za-z0-9]+$/.test(info?.Id)) throw new Error('the API gave an answer without a change')
  return { id: info.Id, isInSync: info.Status === 'INSYNC' }
}

/** `Throttling`; empty where the document has none. */
export function errorCodeOf(bytes: Buffer): string {
  let document: Parsed
  try {
    document = parseDocument(bytes)
  } catch {
    // The error has the status in any case.
    return ''
  }
  const code =
    document?.ErrorResponse?.Error?.Code ?? (document?.InvalidChangeBatch === undefined ? '' : 'InvalidChangeBatch')
  return /^[A-Za-z]{1,64}$/.test(code) ? code : ''
}

export function changeDocument(action: 'UPSERT' | 'DELETE', name: string, { ttlSeconds, values }: RecordSet): string {
  const { XMLBuilder } = xml()
  builder ??= new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@' })
  const set = {
    Name: `${name}.`,
    Type: 'TXT',
    TTL: ttlSeconds,
    ResourceRecords: { ResourceRecord: values.map(value => ({ Value: value })) },
  }
  const changes = { Changes: { Change: { Action: action, ResourceRecordSet: set } } }
  const request = { ChangeResourceRecordSetsRequest: { '@xmlns': namespace, ChangeBatch: changes } }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${builder.build(request)}`
}

/** Names have a final dot, and some characters are written in octal. */
export function sameName(shown: string, name: string): boolean {
  const plain = shown.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
  return plain.toLowerCase() === `${name}.`
}
