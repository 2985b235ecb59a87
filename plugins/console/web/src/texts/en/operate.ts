/** Operation, events and encryption keys. */
import { formatCount } from '../../parts/format.ts'
import { counted } from '../counted.ts'

export const operate = {
  decidedBy: (what: string) => `Refused by ${what}`,
  copiedFrom: (source: string) => `from ${source}`,
  deletedObjects: (keys: string, count: number, shown: number) =>
    count > shown ? `${keys} and ${count - shown} more` : keys,
  locks: 'Locks',
  noLocks: 'Nothing is locked. An operation that must not run twice holds a lock while it runs.',
  lockType: 'Type',
  resource: 'Resource',
  heldFor: 'Held for',
  holder: 'Holder',
  since: 'Since',
  renewed: 'Renewed',
  release: 'Release',
  releaseTitle: (resource: string) => `Release ${resource}?`,
  releaseText: (source: string) =>
    `${source} stops before its next change. What it has done so far stays; it can be started again.`,
  trace: 'Live requests',
  logs: 'Log',
  audit: 'Audit',
  plugins: 'Plugins',
  pluginsHint:
    'What the server is made of. A plugin is active and built in unless its row says otherwise; what has failed to start comes first.',
  healing: 'Healing',
  pause: 'Pause',
  resume: 'Go on',
  paused: 'Paused.',
  live: 'Live. The newest line is the first.',
  connecting: 'Connecting…',
  dropped: (count: string) => `${count} lines were left out, because there were too many.`,
  noLogLines: 'The server keeps no such line. New ones appear here as they are written.',
  noneFits: 'Nothing that has come so far fits the filters.',
  noTraceLines:
    'No request yet. Requests that come from now on appear here by themselves, those of this console as well: open another page of it in another tab, or use an S3 client.',
  type: 'Type',
  all: 'all',
  bucket: 'Bucket',
  on: 'On',
  showAudit: 'Show audit lines',
  bucketHint: 'Empty: everything',
  prefix: 'Prefix',
  onlyErrors: 'Only errors',
  time: 'Time',
  status: 'Status',
  operation: 'Operation',
  operationExample: 'whole name, or Delete*',
  request: 'Request',
  duration: 'Duration',
  bytes: 'In / out',
  user: 'User',
  client: 'Client',
  level: 'Level',
  component: 'Component',
  message: 'Message',
  export: 'Export',
  noRecords: 'No record matches. Show everything, or widen the time.',
  auditHint:
    'Requests since the start of the server, at most the last 10,000, the newest first. Older ones, and those before a restart, are only where an audit target of the settings (audit_webhook) has sent them.',
  auditEntry: (operation: string, status: number) => `${operation}: ${status}`,
  asJson: 'As JSON',
  shown: 'Show',
  auditShown: { changes: 'changes and refusals', errors: 'only errors', all: 'everything, reads as well' },
  from: 'From',
  until: 'Until',
  untilBeforeFrom: 'This is before “From”: no record can match.',
  requestId: 'Request',
  anonymous: 'anonymous',
  does: 'What it does',
  extends: 'Extends',
  dependsOn: 'Needs',
  startHeal: 'Start a heal job',
  start: 'Start',
  noJobs: 'No job has run within the last hour. What is damaged is found and healed without one, too.',
  nothingToHeal: 'There is one drive: nothing can be healed from others. What is damaged is found and reported.',
  scope: 'Scope',
  everything: 'everything',
  bucketsAlone: 'the buckets themselves, without objects',
  notBelow: (folder: string) => `${folder}, not the folders below`,
  scanned: 'Looked at',
  offlineShards: (count: number) => `completed without ${counted(count, 'shard')} on drives that are offline`,
  damaged: 'Damaged',
  healed: 'Healed',
  failed: 'Failed',
  started: 'Started',
  ended: 'Ended',
  complete: (complete: number, all: number) =>
    `${formatCount(complete)} of ${counted(all, 'version or part is', 'versions and parts are')} stored with full redundancy`,
  findLost: 'Start a heal job, and open it in the list: it names what it could not heal.',
  jobTitle: (scope: string) => `Heal job: ${scope}`,
  mode: 'How',
  everyByte: 'every byte',
  byRecords: 'by the records',
  onlyLooked: 'only looked',
  lost: 'Lost',
  notHealed: 'Not healed',
  foundDamaged: 'Damaged',
  noneLeft: 'Nothing.',
  noneLeftYet: 'Nothing so far.',
  item: 'Object',
  itemKinds: { format: 'drives', system: 'data of the server itself' },
  version: (id: string) => `version ${id}`,
  itemStates: { lost: 'lost', removed: 'was lost, is deleted', damaged: 'damaged', notHealed: 'not healed' },
  lostAdvice:
    'What is lost cannot be healed. Upload it again from a backup. This command deletes every object that is lost, after it has asked; its data cannot be brought back then, not even by a drive that returns:',
  deleteLost: 'Delete lost objects',
  shards: 'Shards',
  shardOn: (drive: string, state: string) => `${drive}: ${state}`,
  moreItems: (count: number) => `and ${formatCount(count)} more`,
  itemsTruncated: (count: number) => `A job names ${formatCount(count)} at most, and only counts the rest.`,
  deep: 'Read every byte',
  deepHint:
    'Without it a job goes by the records: it does not notice files that are missing or damaged on a drive that works.',
  dryRun: 'Only look, change nothing',
}

/** Of settings of plugins, in their forms. */
export const fieldNames = {
  whole: {
    ca_cert: 'certificate of the authority (CA)',
    tls_skip_verify: 'accept any TLS certificate',
    client_cert: 'client certificate',
    client_key: 'private key of the client certificate',
    client_tls_cert: 'client certificate',
    client_tls_key: 'private key of the client certificate',
    nkey_specification: 'seed of an NKey',
    db: 'number of the database',
  } as Readonly<Record<string, string>>,
  words: {
    api: 'API',
    id: 'ID',
    nkey: 'NKey',
    sasl: 'SASL',
    tls: 'TLS',
    tsig: 'TSIG',
    ttl: 'TTL',
    url: 'URL',
  } as Readonly<Record<string, string>>,
}

const failing = (isWaitedFor: boolean) =>
  isWaitedFor ? 'is offline' : 'has refused the last delivery, or was not reached'

export const events = {
  title: 'Event targets',
  none: 'There is no target. Add one; rules of buckets then name it.',
  noneToSee: 'There is no target.',
  target: 'Target',
  online: 'online',
  offline: 'offline',
  lastFailed: 'last delivery failed',
  notTried: 'not tried yet',
  pending: 'Waiting',
  deadLetters: 'Given up',
  lastError: 'Last error',
  lastSuccess: 'Last success',
  noneSince: (start: string | undefined) =>
    start === undefined ? 'none since the start of the server' : `none since the start at ${start}`,
  add: 'Add target',
  isOffline: (id: string, error: string, isWaitedFor: boolean) =>
    `Event target ${id} ${failing(isWaitedFor)}${error === '' ? '' : `: ${error}`}`,
  test: 'Test',
  isGone: 'Somebody has deleted this target meanwhile. Close this, and look at the list.',
  taken: (name: string) => `There is a target “${name}” of this kind already.`,
  isEnabled: 'Enabled',
  isEnabledHint:
    'Events are sent to it. While it is not enabled they wait, and no rule of a bucket can be saved for it.',
  isNowEnabled: (id: string) => `${id} is enabled.`,
  disableTitle: (id: string) => `Disable ${id}?`,
  disableText:
    'No event is sent to it from then on. Events that rules of buckets select for it wait until it is enabled again, as far as its queue has room.',
  removeTitle: (id: string) => `Remove ${id}?`,
  removeText:
    'Its settings go, and are not kept. Events that wait for it stay in its queue, which is then listed below. A target that a rule of a bucket names cannot be removed.',
  testedDisabled: (id: string) =>
    `A test event has reached ${id}. But the target is not enabled: no other event is sent to it.`,
  inState: (target: string, state: string) => `${target} (${state})`,
  notEnabledHint: 'It is not enabled: the server refuses rules for it. Enable it on the page “Event targets”.',
  notEnabledForOthers:
    'It is not enabled: the server refuses rules for it. Ask somebody who may change the settings of this server to enable it.',
  offlineHint:
    'The server takes new rules for it only while it answers. See why it does not on the page “Event targets”, and test it there.',
  offlineForOthers:
    'The server takes new rules for it only while it answers. Ask somebody who may change the settings of this server to look at it.',
  testedInVain: (id: string, why: string) => `A test event has reached ${id}, and nobody gets it. ${why}`,
  tested: (id: string) => `A test event has reached ${id}.`,
  testFailed: (id: string) => `The test event has not reached ${id}`,
  showGivenUp: 'Show what was given up',
  deadTitle: (id: string) => `Given up: ${id}`,
  event: 'Event',
  givenUp: 'Given up',
  attempts: 'Attempts',
  reason: 'Reason',
  retryAll: 'Send all again',
  discardAll: 'Discard all',
  discardTitle: (count: number) => `Discard ${counted(count, 'event', 'events')}?`,
  discardText: (id: string) => `They will never reach ${id}. The objects stay.`,
  noneGivenUp: 'Nothing was given up.',
  replay: 'Replay',
  replayTitle: (id: string) => `Replay to ${id}`,
  replayHint:
    'Sends the events of the bucket again that the server has kept, if the present rules of the bucket select them for this target.',
  replayed: (count: number) =>
    count === 0
      ? 'No kept event fits: nothing is sent again.'
      : `${formatCount(count)} ${count === 1 ? 'event is' : 'events are'} queued.`,
  from: { label: 'From', description: 'Empty: the beginning.' },
  to: { label: 'Until', description: 'Empty: now.' },
  bucket: 'Bucket',
  prefix: 'Prefix',
  rules: 'Rules',
  noRules: 'No rule: nothing in this bucket is told to anybody.',
  rulesHint: 'What happens to objects of this bucket is told to the target of each rule that it fits.',
  noTargets: 'There is no target yet. Add one on the page “Event targets”.',
  noTargetsYet: 'There is no target yet. Ask somebody who may change the settings of this server to add one.',
  addRule: 'Add rule',
  rule: (index: number) => `rule ${index}`,
  ruleTarget: 'Target',
  ruleEvents: 'Events',
  suffix: 'Suffix',
  retriedNone: 'It is not there any more: nothing is sent.',
  retried: (count: number, id: string) => `${counted(count, 'event is', 'events are')} sent to ${id} again.`,
  retriedWaiting: (count: number, id: string, why: string) =>
    `${counted(count, 'event waits', 'events wait')} for ${id} again. ${why}`,
  discarded: (count: number) => `${counted(count, 'event is', 'events are')} discarded.`,
  discardedNone: 'They are not there any more: nothing is discarded.',
  givenUpLater: (count: number) =>
    count === 1
      ? 'One more was given up meanwhile, and is listed now.'
      : `${formatCount(count)} more were given up meanwhile, and are listed now.`,
}

export const auditTargets = {
  title: 'Audit targets',
  hint: 'Each request is recorded, and the records are sent here, too. While a target is offline they wait; when its queue is full, new ones are dropped. Those that it refuses for good are given up.',
  settings: 'Set up in the settings',
  dropped: 'Dropped',
  isOffline: (id: string, error: string, isWaitedFor: boolean) =>
    `Audit target ${id} ${failing(isWaitedFor)}${error === '' ? '' : `: ${error}`}`,
}

export const keys = {
  title: 'Encryption keys',
  create: 'Create key',
  none: 'There is no key.',
  use: 'Use',
  reseal: 'Reseal',
  resealHint:
    'Wraps the data keys of objects and uploads again that are wrapped with an older key, bucket by bucket, and looks at all buckets once more. After that former keys that the server was started with are no longer needed. The data itself is not written again. It may be stopped and begun again at any time.',
  stop: 'Stop after this bucket',
  resealStopped: 'Not all was looked at: former keys are still needed. Begin again at any time.',
  resealsAll: 'Looking at all buckets once more …',
  /** `former` undefined: the keys are on a key server. */
  formerKeys: (failed: number, former: number | undefined) =>
    failed > 0
      ? 'Former keys are still needed. Mend the cause, then begin again.'
      : former === undefined
        ? 'Everything is wrapped with the present keys of the key server.'
        : former > 0
          ? 'Former keys that the server was started with are no longer needed.'
          : 'The running server knows no former key: everything is wrapped with the key that it was started with. A changed environment file counts only after the service manager has started the server anew; “Restart” does not read it.',
  resealProgress: (done: number, buckets: number) => `${done} of ${buckets} buckets`,
  resealed: (counts: {
    readonly versions: number
    readonly uploads: number
    readonly resealed: number
    readonly failed: number
    readonly firstError: string
  }) => [
    `${formatCount(counts.versions + counts.uploads)} versions and uploads with keys of this server looked at`,
    `${formatCount(counts.resealed)} wrapped again`,
    ...(counts.failed > 0 ? [`${formatCount(counts.failed)} failed: ${counts.firstError}`] : []),
  ],
  default: 'default',
  notConfigured: 'This server has no encryption keys: it can store no object encrypted with keys of its own.',
  works: (backend: string, former: number | undefined) => {
    const works = `Keys work (${backend}).`
    return former === undefined
      ? works
      : `${works} The running server has ${former === 0 ? 'no former key' : counted(former, 'former key')}.`
  },
  fails: (backend: string, error: string) => `Keys do not work (${backend}): ${error}`,
  lacks: (backend: string, error: string) => `Not every key is there (${backend}): ${error}`,
  lacksAll: (error: string) => `No key encrypts new objects, and ${error}`,
}
