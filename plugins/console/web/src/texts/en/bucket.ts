/** The tabs of a bucket. */
import { counted } from '../counted.ts'

export const bucket = {
  toAll: 'All buckets',
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
  denied: (actions: readonly string[]) =>
    `You may not see this tab of the bucket. It needs ${actions.length === 1 ? '' : 'one of '}${actions.join(', ')}.`,
  versioning: 'Versions',
  versioningStates: {
    off: 'off: a new object replaces the old one for good',
    enabled: 'on: old versions stay',
    suspended: 'suspended: no new versions, those that were kept stay',
  },
  keepVersions: 'Keep old versions',
  quota: 'Quota',
  encryption: 'Default encryption',
  encryptions: { none: 'none', AES256: 'with keys of this server (SSE-S3)', 'aws:kms': 'with a named key (SSE-KMS)' },
  noEncryptionKey: 'This server has no encryption keys: “Encryption keys” says how it gets its first one.',
  key: 'Key',
  keyHint: (key: string) => `Empty: the default key of this server${key === '' ? '' : `, ${key}`}`,
  lock: 'Object lock',
  lockOn: 'Versions can be protected from deletion',
  lockStays: 'On for good: object lock of a bucket cannot be switched off again.',
  neededByLock: 'on: object lock needs old versions, so this cannot be switched off',
  lockHint: 'Needs versions. It cannot be switched off again.',
  retention: 'Default retention of new versions',
  retentions: {
    none: 'none',
    GOVERNANCE: 'governance: who has the right may shorten it',
    COMPLIANCE: 'compliance: nobody may shorten it',
  },
  complianceTitle: 'Protect new versions from everybody?',
  complianceText: (period: string) =>
    `Nobody can delete a version that is written from now on for ${period}, shorten its retention or take it away: not you, and not root. That stays so if the default retention is changed later. Versions that are stored already stay as they are.`,
  complianceConfirm: 'Yes, protect them',
  period: (count: number, unit: 'days' | 'years') => counted(count, unit === 'days' ? 'day' : 'year'),
  retentionUnit: 'Unit',
  retentionPeriod: 'For so many',
  units: { days: 'days', years: 'years' },
  cors: 'Pages of other sites (CORS)',
  corsHint: 'Which web pages of other origins a browser lets use this bucket.',
  corsRule: (index: number) => `rule ${index}`,
  corsOrigins: 'Origins',
  corsOriginsHint: 'https://www.example.test, without a slash at its end, or * for every one',
  corsMethods: 'Methods',
  corsHeaders: 'Request headers',
  corsExposed: 'Headers that the page may read',
  corsMaxAge: 'Seconds that a browser may remember it',
  noCors:
    'No rule: the setting of the server decides (api, cors_allow_origin), which lets in pages of every origin unless it was changed. They have no more rights than whoever looks at them.',
  tags: 'Tags',
  tag: 'tag',
  block: 'Block public access',
  blockHint:
    'While this is on, nobody gets in without credentials, whatever policies, rules, access control lists and distributions say. Shares and signed links work.',
  ownBlock: 'Block public access to this bucket',
  blockedInPart: (flags: string) =>
    `A part of the block is set, as S3 clients set it: ${flags}. Saved as on, all of it is set.`,
  partGoes: (flags: string) => `When you save this, the part of the block that is set goes: ${flags}.`,
  clusterBlocks:
    'The whole deployment blocks public access: nobody gets into this bucket without credentials now. The switch is the bucket’s own, and counts when the deployment blocks no more.',
  noPolicy: 'The bucket has no policy.',
  decideAlone: 'Policies of users and groups decide alone.',
  decide: 'Policies of users and groups decide.',
  rulesDecide: (count: number) =>
    count === 1 ? 'Its access rule decides too.' : `Its ${count} access rules decide too.`,
  removePolicy: 'Remove policy',
  removePolicyText:
    'Every statement of the policy goes. Who got in by it alone, everybody included, is refused from then on; what it alone denied is open to whoever is let in by anything else: policies of users and groups, access rules, distributions, access control lists. Those stay. It cannot be undone.',
}
