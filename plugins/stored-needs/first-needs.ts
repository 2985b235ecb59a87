/**
 * The needs of data that release 0.1.0 stored. That release recorded no needs, and a missing plugin cannot contribute them. A test compares
 * this table with the contributions of the plugins. Needs of later releases do not belong here.
 */
import type { NamedNeed } from './named-need.ts'

export const firstNeeds: readonly NamedNeed[] = [
  {
    id: 'bucket-policy',
    plugin: 'bucket-policy',
    sign: { kind: 'bucket-document', name: 'bucket-policy' },
    has: 'a policy',
    consequence: 'no bucket policy counts, and requests that one denies are allowed where another policy allows them',
  },
  {
    id: 'public-access-block',
    plugin: 'object-ownership',
    sign: { kind: 'bucket-document', name: 'public-access-block' },
    has: 'a public access block',
    consequence: 'public access that is blocked is possible again',
  },
  {
    id: 'bucket-encryption',
    plugin: 'encryption',
    sign: { kind: 'bucket-document', name: 'bucket-encryption' },
    has: 'a default encryption',
    consequence: 'new objects of these buckets are stored in plain text',
  },
  {
    id: 'object-encryption',
    plugin: 'encryption',
    sign: { kind: 'record', name: 'object-encryption' },
    has: 'encrypted objects',
    consequence: 'encrypted objects cannot be read',
  },
  {
    id: 'object-lock',
    plugin: 'object-lock',
    sign: { kind: 'record', name: 'bucket-lock' },
    has: 'object lock',
    consequence: 'locks that exist hold, but clients can neither see, set nor extend any',
  },
  {
    id: 'quota',
    plugin: 'quota',
    sign: { kind: 'record', name: 'bucket-quota' },
    has: 'a quota',
    consequence: 'existing quotas are enforced, but cannot be read or changed',
  },
]
