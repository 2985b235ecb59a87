/** Distributions as files, and who answers a host. */
import { formatCount } from '../../parts/format.ts'

export const distributionArchive = {
  export: 'Export',
  import: 'Import',
  title: 'Import distributions',
  hint: 'A file of “Export”: YAML with distributions, their caches, cache policies, cache settings and key groups. All of it is imported, or nothing.',
  replaceText:
    'What the file lacks is removed from this server, within the kinds that the file has. An export brings it back, but not its secrets, and not the private keys of key groups: those go for ever.',
  would: 'This would change:',
  did: 'Imported.',
  nothing: 'Nothing differs from what is here.',
  created: 'Made',
  replaced: 'Changed',
  removed: 'Removed',
  unchanged: 'The same',
  count: (count: number, names: string) => (names === '' ? String(count) : `${count}: ${names}`),
  field: 'Field',
  before: 'Now',
  after: 'In the file',
  differences: 'Fields that differ',
}

export const resolve = {
  action: 'Who answers a host?',
  host: 'Host',
  path: 'Path',
  listener: 'Port',
  listeners: { web: 'of web pages', 'web-tls': 'of web pages, TLS', s3: 'of S3', console: 'of the console' },
  ask: 'Ask',
  result: 'Answer',
  answers: {
    exact: 'a distribution',
    wildcard: 'a distribution with a wildcard',
    'bucket-domain': 'the S3 API, for a bucket',
    main: 'the server itself',
    'path-style': 'the S3 API',
    misdirected: 'nobody: 421',
  },
  reason: 'Reason',
  distribution: 'Distribution',
  off: (id: string) => `${id} (disabled: 403)`,
  alias: 'Domain',
  bucket: 'Bucket',
  behavior: 'Behaviour',
  behaviorIs: (index: number, access: string) => (index < 0 ? `default, ${access}` : `${index + 1}, ${access}`),
  certificate: 'Certificate',
  shadowed: 'Would match too',
}

export const editKeyGroup = {
  title: (id: string) => `Key group ${id}`,
  keyName: (id: string) => `Name of ${id}`,
  enabled: (id: string) => `${id}: its signatures count`,
  sha1: (id: string) => `${id}: also with SHA-1, as old programs sign`,
  hint: 'Signatures of a key that does not count are refused at once, and count again when it does.',
}

export const eventQueues = {
  title: 'Queues without a target',
  hint: 'Their targets were removed from the settings, or no loaded plugin delivers to them. What waits in them is kept.',
  states: { configured: 'has a target', unloaded: 'no plugin delivers', removed: 'target removed' },
  waiting: 'Waiting',
  size: 'Size',
  discard: (id: string) => `Discard the queue of ${id}`,
  discardTitle: (id: string) => `Discard the queue of ${id}?`,
  discardText: (events: number) =>
    `${formatCount(events)} ${events === 1 ? 'event' : 'events'} will never be delivered. The objects stay.`,
}

export const certificateState = {
  column: 'Certificate',
  none: 'none: plain HTTP only',
  served: (certificate: string, state: string) => `${certificate}: ${state}`,
  for: (domains: string) => `for ${domains}`,
  notCovered: (domains: string) => `is not for ${domains}: browsers refuse it`,
  noneFor: (domains: string) => `none for ${domains}`,
  until: (date: string) => `until ${date}`,
}
