/** CAA records: which authorities may issue certificates for a domain (RFC 8659). */
import type { CaaProperty, CaaRecords } from './api.ts'
import type { Lookups } from './lookups.ts'

/** The records of the closest name above a domain, itself included, that has any (RFC 8659, 3). Rejects with a sentence without a dot. */
export async function findCaa(
  { caa }: Pick<Lookups, 'caa'>,
  domain: string,
  signal: AbortSignal,
): Promise<CaaRecords | undefined> {
  const labels = domain.split('.')
  for (let i = 0; i < labels.length; i++) {
    const name = labels.slice(i).join('.')
    const properties = await caa(name, signal)
    if (properties.length > 0) return { name, properties }
  }
  return undefined
}

/** Reads a record of Node's resolver, where the tag is the name of a field. */
export function propertyOf(record: object): CaaProperty {
  const { critical = 0, type: _type, ...tagged } = record as Record<string, unknown>
  const [[tag, value] = ['', '']] = Object.entries(tagged)
  return { isCritical: critical !== 0, tag: tag.toLowerCase(), value: String(value) }
}
