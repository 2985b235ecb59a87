/** Finds where the value of a challenge must be published: the name behind CNAMEs, and its zone. */
import type { Lookups } from './lookups.ts'
import { nameProblem } from './name.ts'

const cnamesMax = 8

export interface Location {
  readonly record: string
  readonly zone: string
}

/** Rejects with a sentence without a dot. */
export async function locate(lookups: Lookups, name: string, signal: AbortSignal): Promise<Location> {
  let record = name
  const seen = new Set([record])
  for (;;) {
    const target = await lookups.cname(record, signal)
    if (target === undefined) break
    if (nameProblem(target) !== undefined) throw new Error(`${record} is a CNAME of something that is no domain name`)
    if (seen.has(target)) throw new Error(`the CNAMEs of ${name} lead to themselves`)
    if (seen.size > cnamesMax) throw new Error(`${name} leads through more than ${cnamesMax} CNAMEs`)
    seen.add(target)
    record = target
  }
  const labels = record.split('.')
  for (let i = 0; i < labels.length; i++) {
    const zone = labels.slice(i).join('.')
    if (await lookups.isZone(zone, signal)) return { record, zone }
  }
  throw new Error(`no zone has ${record}: is the domain registered, and does DNS answer for it?`)
}
