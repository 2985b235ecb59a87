/** The tabs of a bucket. */
export const bucket = {
  tabs: {
    objects: 'Objects',
    versions: 'Versions',
    uploads: 'Uploads',
    settings: 'Settings',
    access: 'Access',
    policy: 'Policy',
    lifecycle: 'Lifecycle',
    events: 'Events',
    distributions: 'Distributions',
  },
  versioning: 'Versions',
  versioningStates: {
    off: 'off: a new object replaces the old one for good',
    enabled: 'on: old versions stay',
    suspended: 'suspended: no new versions, old ones stay',
  },
  keepVersions: 'Keep old versions',
  quota: 'Quota',
  quotaHint: 'GiB; empty: no limit',
  encryption: 'Default encryption',
  encryptions: { none: 'none', AES256: 'with keys of this server (SSE-S3)', 'aws:kms': 'with a named key (SSE-KMS)' },
  key: 'Key',
  lock: 'Object lock',
  lockOn: 'Versions can be protected from deletion',
  lockHint: 'Needs versions. It cannot be switched off again.',
  retention: 'Default retention of new versions',
  retentions: {
    none: 'none',
    GOVERNANCE: 'governance: who has the right may shorten it',
    COMPLIANCE: 'compliance: nobody may shorten it',
  },
  retentionPeriod: 'For so many',
  units: { days: 'days', years: 'years' },
  cors: 'Pages of other sites (CORS)',
  corsHint: 'Which web pages of other origins a browser lets use this bucket.',
  corsRule: (index: number) => `rule ${index}`,
  corsOrigins: 'Origins',
  corsOriginsHint: 'https://www.example.test, or * for every one',
  corsMethods: 'Methods',
  corsHeaders: 'Request headers',
  corsExposed: 'Headers that the page may read',
  corsMaxAge: 'Seconds that a browser may remember it',
  noCors: 'No rule: pages of other origins cannot use it.',
  tags: 'Tags',
  tag: 'tag',
  block: 'Block public access',
  blockHint: 'Whatever policies and rules say, nobody gets in without credentials.',
  ownBlock: 'Block public access to this bucket',
  clusterBlocks:
    'The whole deployment blocks public access: nobody gets into this bucket without credentials now. The switch is the bucket’s own, and counts when the deployment blocks no more.',
  noPolicy: 'The bucket has no policy.',
  decideAlone: 'Policies of users and groups decide alone.',
  decide: 'Policies of users and groups decide.',
  rulesDecide: (count: number) =>
    count === 1 ? 'Its access rule decides too.' : `Its ${count} access rules decide too.`,
  removePolicy: 'Remove policy',
  noLifecycle: 'No rule: nothing is deleted by itself.',
  rule: (id: string) => (id === '' ? 'Rule' : `Rule ${id}`),
  ruleWords: {
    all: 'every object',
    prefix: (prefix: string) => `objects that begin with “${prefix}”`,
    expires: (days: number) => `are deleted ${days} ${days === 1 ? 'day' : 'days'} after they were made`,
    expiresOn: (date: string) => `are deleted on ${date}`,
    noncurrent: (days: number) =>
      `old versions are deleted ${days} ${days === 1 ? 'day' : 'days'} after they were replaced`,
    uploads: (days: number) =>
      `uploads that were never completed are removed after ${days} ${days === 1 ? 'day' : 'days'}`,
    disabled: '(disabled)',
    preview: 'What would they delete now?',
    wouldDo: (counts: {
      readonly deleted: number
      readonly deleteMarkers: number
      readonly uploadsAborted: number
      readonly locked: number
    }) => {
      const { deleted, deleteMarkers, uploadsAborted, locked } = counts
      const lines = [
        deleted > 0 && `${deleted.toLocaleString('en')} versions and delete markers would be deleted for good`,
        deleteMarkers > 0 && `${deleteMarkers.toLocaleString('en')} objects would be deleted, and stay as old versions`,
        uploadsAborted > 0 && `${uploadsAborted.toLocaleString('en')} uploads would be removed`,
        locked > 0 && `${locked.toLocaleString('en')} versions are protected and would stay`,
      ].filter(line => line !== false)
      return lines.length === 0 ? ['Nothing is old enough now.'] : lines
    },
  },
}
