/** What the pages of the cache have in common. */
export const cache = {
  title: 'Cache',
  tabs: {
    statistics: 'Statistics',
    purge: 'Purge',
    warmup: 'Warm up',
    inspect: 'Inspect',
    policies: 'Policies',
    settings: 'Settings',
  },
  distribution: 'Distribution',
  everyDistribution: 'All distributions',
  distributionHint: 'Empty: all of them.',
  noneInS3:
    'An S3 endpoint is not cached here: every request reads the bucket. Caches in front of it can be told what to forget.',
  levels: {
    default: 'standard',
    cluster: 'cluster',
    distribution: 'distribution',
    domain: 'domain',
    behavior: 'behaviour',
  },
  inherited: 'inherited',
  yes: 'yes',
  no: 'no',
  noneAtAll: 'none at all, whatever is inherited',
  durationHint: 'Seconds, or 5m, 1h, 365d',
  sizeHint: 'Bytes, or 64MiB, 1GiB',
}
