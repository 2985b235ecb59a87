/** Everything that the console says, in English. */
import { counted } from './counted.ts'
import { accessKeys, groups, policies, secrets, simulator, users } from './en/access.ts'
import { bucket } from './en/bucket.ts'
import { bucketUploads, bucketVersions } from './en/bucket-more.ts'
import { cache } from './en/cache.ts'
import { distributions, keyGroups } from './en/distributions.ts'
import { drives } from './en/drives.ts'
import { objects, presign, shares, uploads } from './en/objects.ts'
import { auditTargets, events, fieldNames, keys, operate } from './en/operate.ts'
import { publishing } from './en/publishing.ts'
import { certificateState, distributionArchive, editKeyGroup, eventQueues, resolve } from './en/publishing-more.ts'
import { search } from './en/search.ts'
import { account, chart, metrics, server } from './en/server.ts'
import { settings } from './en/settings.ts'

/** What the state of a set means for what is stored in it. */
const setStates: Readonly<Record<string, string>> = {
  degraded: 'degraded: it is read and written, with less redundancy',
  read_only: 'read-only: what is stored can be read, and nothing can be written',
  unavailable: 'unavailable: what is stored in it can be neither read nor written now',
}

const moreMayFail = (spare: number, reduced: number | undefined) =>
  `${spare === 0 ? 'no other drive may fail' : `${counted(spare, 'more drive')} may fail`}${ofReduced(reduced)}`

/** Undefined where they have no less. */
const ofReduced = (count: number | undefined) =>
  count === undefined ? '' : ` (objects of the class REDUCED_REDUNDANCY: ${count === 0 ? 'none' : count})`

export const en = {
  product: 'Console',
  common: {
    filters: (set: number) => (set === 0 ? 'Filters' : `Filters: ${set} set`),
    cancel: 'Cancel',
    missing: 'must not be empty',
    noTime: 'is no time that a calendar has',
    deniedPage: (actions: readonly string[]) =>
      `You may not see this page. It needs ${actions.length === 1 ? '' : 'one of '}${actions.join(', ')}.`,
    deniedTab: (actions: readonly string[]) =>
      `You may not see this tab. It needs ${actions.length === 1 ? '' : 'one of '}${actions.join(', ')}.`,
    close: 'Close',
    create: 'Create',
    delete: 'Delete',
    retry: 'Try again',
    loading: 'Loading…',
    search: 'Filter by prefix',
    more: 'Load more',
    moreActions: 'More',
    moreFor: (name: string) => `More for ${name}`,
    previous: 'Show previous',
    copy: 'Copy',
    copied: 'Copied',
    name: 'Name',
    size: 'Size',
    modified: 'Modified',
    created: 'Created',
    never: 'never',
    none: 'none',
    actions: 'Actions',
    noneBegins: (prefix: string) => `Nothing begins with “${prefix}”.`,
    save: 'Save',
    edit: 'Edit',
    state: 'State',
    description: 'Note',
    details: 'Details',
    enabled: 'enabled',
    disabled: 'disabled',
    enable: 'Enable',
    disable: 'Disable',
    saved: 'Saved.',
    notJson: (reason: string) => `This is no JSON: ${reason}`,
    choose: 'Choose or type',
    updated: 'Changed',
    used: 'Used by',
    noteChanged: (note: string) =>
      `Somebody else has changed the note to “${note}” meanwhile. Save again to replace that, or leave it as it is.`,
    noNumber: (text: string, hasDecimals: boolean) =>
      `“${text}” was not pasted: digits alone${hasDecimals ? ', with a point for decimals' : ''}.`,
    moveUp: (name: string) => `Move ${name} up`,
    moveDown: (name: string) => `Move ${name} down`,
    remove: 'Remove',
    add: 'Add',
    download: 'Download',
    loadStored: 'Load what is stored now',
    changedMeanwhile: 'Somebody else was quicker',
    dropped:
      'Somebody else has changed it since you opened it. What you typed is still here: copy what you need, then load what is stored now.',
    unsaved: 'Not saved yet.',
    discardChanges: 'Discard',
    discardTitle: 'Discard what you have changed?',
    discardText: 'What you have changed and not saved is lost, and what is saved stays as it is.',
    keepEditing: 'Keep it',
    goesOn: (title: string) => `“${title}” goes on: closing it does not call it off. A message says how it ends.`,
    isNotDone: (title: string) => `“${title}” was not done: there was a question, and its dialog was closed.`,
    isNotShown: (title: string) => `“${title}” is done, but its dialog was closed before it could show the result.`,
    isDone: (title: string) => `“${title}” is done.`,
    leaveTitle: 'Leave without saving?',
    leaveText: 'What you have changed here is not saved, and is lost when you leave.',
    stay: 'Stay here',
    leave: 'Leave',
    closeTitle: 'Close without saving?',
    closeText: 'What you have typed here is not saved, and is lost when you close it.',
    discard: 'Close and lose it',
    requestId: (id: string) => `Request ${id}`,
    chooseOrType: 'Choose, or type a name and press Enter',
    unit: (label: string) => `Unit of ${label.toLowerCase()}`,
    typeToConfirm: (name: string) => `Type ${name} to confirm`,
  },
  pairs: {
    name: (of: string, index: number) => `Name of ${of} ${index}`,
    value: (of: string, index: number) => `Value of ${of} ${index}`,
    placeholder: 'Value',
    add: (of: string) => `Add ${of}`,
    remove: (of: string, index: number) => `Remove ${of} ${index}`,
    twice: (name: string) => `${name} is there twice: leave one of them.`,
    nameless: 'One has no name: type one, or remove it.',
  },
  otherUser: {
    title: (user: string) => `You are signed in as ${user} now`,
    text: 'That happened in another tab or window of this browser. What was shown here is another user’s; what was not saved is not saved. Uploads of this page are paused: they go on when that user signs in again and chooses the same files.',
    reload: 'Load the page again',
  },
  problems: {
    otherUser: 'Somebody else has signed in with this browser.',
    place: (line: number, column: number) => `line ${line}, column ${column}`,
    morePlaces: (count: number) => `and ${count} more`,
    failed: 'The request failed',
    stale: 'This could not be read again: what you see may be old',
    sessionWasOver: 'This was not done: the session had ended. Do it again.',
    doneButStale: 'It is done, but what you see may be old',
    mayBeDone: 'It may have been done all the same: look before you try again.',
    unreachable: 'The server cannot be reached. Check your connection; what you see may be old.',
    strangeAnswer: (status: number) => `A proxy between this page and the server answered ${status}.`,
    page: 'This page could not be shown',
    notFound: 'There is no such page.',
    notFoundHint: 'The address may be mistyped, or from another version of the console.',
    toStart: 'Go to the first page',
  },
  navigation: {
    label: 'Pages',
    access: 'Access',
    publishing: 'Publishing',
    operate: 'Operate',
    menu: 'Menu',
    light: 'Light colours',
    dark: 'Dark colours',
    signOut: 'Sign out',
    signOutTitle: (lost: readonly string[]) =>
      lost.includes('uploads') ? 'Sign out in the middle of uploads?' : 'Sign out without saving?',
    signOutLosses: {
      uploads: 'What has not arrived yet is cancelled.',
      unsaved: 'What you have changed here is not saved, and is lost when you sign out.',
      underWay: 'A change is on its way to the server: nothing will tell you how it ended.',
    },
    skip: 'Skip to the content',
  },
  signIn: {
    title: 'Sign in',
    server: (host: string) => `Console of ${host}`,
    accessKey: 'Access key',
    secretKey: 'Secret key',
    submit: 'Sign in',
    wrong: 'This access key and secret key do not belong together, or the key is disabled.',
    throttled: (seconds: number) =>
      seconds === 0
        ? 'There were too many attempts. You can try again now.'
        : `Too many attempts. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    version: (version: string) => `Version ${version}`,
    keptFor: (user: string) => `What is typed on this page is kept for ${user}. If somebody else signs in, it is lost.`,
    ended: 'Your session has ended. Sign in to go on where you were.',
    asked: 'Sign in to see the page that you asked for.',
    restarted: 'The server has started anew, and sessions end with it. Sign in to go on where you were.',
  },
  overview: {
    title: 'Overview',
    objects: 'Objects',
    stored: 'Stored',
    buckets: 'Buckets',
    uptime: 'Running for',
    requests: 'Requests per second',
    errors: 'Errors per second',
    latency: 'Time to answer',
    half: 'half of the requests (p50)',
    most: '99 of 100 (p99)',
    s3: 'S3',
    published: 'Distributions',
    of: (what: string, name: string) => `${what}, ${name}`,
    usage: 'Stored',
    objectsOverTime: 'Objects',
    traffic: 'Traffic',
    sent: 'sent',
    received: 'received',
    notMeasured: 'Not measured yet: a measurement is taken every ten seconds.',
    noRequests: 'No request in the last hour, or since the server started.',
    noErrors: 'No error in the last hour, or since the server started.',
    nothingStored: 'Nothing at any measurement of the last hour, or since the server started.',
    noRequestsHint:
      'What this console itself does is not counted here: send a request with an S3 client, for example `aws s3 ls`, or open a published domain.',
    drives: 'Drives',
    pool: (index: number) => `Pool ${index + 1}`,
    set: (index: number) => `Set ${index + 1}`,
    setDrives: (index: number, online: number, drives: number, healing: number) =>
      `Set ${index + 1}: ${online} of ${drives} drives work${healing === 0 ? '' : `, ${healing} being rebuilt`}`,
    driveFree: (free: string, total: string) => `${free} of ${total} free`,
    attention: 'Needs attention',
    noBucket: 'Objects are stored in buckets, and there is none yet.',
    firstBucket: 'Create your first bucket',
    drivesFailed: (names: readonly string[], areFaulty: boolean) => {
      const [what, is, are] = areFaulty ? ['failed', 'has', 'have'] : ['offline', 'is', 'are']
      return names.length === 1 ? `Drive ${names[0]} ${is} ${what}.` : `${names.length} drives ${are} ${what}.`
    },
    fullRedundancy: (spare: number, reduced: number | undefined) =>
      `Everything is stored with full redundancy; any ${counted(spare, 'drive')} may fail${ofReduced(reduced)}.`,
    sharedRedundancy:
      'Everything is stored with full redundancy, but several drives are on one file system: if it is lost, they are lost together.',
    lessRedundancy: 'All drives work. Not everything is stored with full redundancy.',
    noRedundancy: 'All drives work. Keep a backup: a drive that fails takes its data along.',
    notTold: 'All drives work. The server does not tell now whether anything lacks redundancy.',
    allRead: (spare: number, reduced: number | undefined) =>
      `Everything can be read and written; ${moreMayFail(spare, reduced)}.`,
    allReadNow: 'Everything can be read and written now.',
    notAllWritten: (spare: number, reduced: number | undefined) =>
      `Everything can be read, and not everything can be written; ${moreMayFail(spare, reduced)}.`,
    damagedNotRead: 'What was found damaged may be out of reach now. Everything else can be read and written.',
    damagedNotWritten:
      'What was found damaged may be out of reach now. Everything else can be read, and not all can be written.',
    reducedNotRead:
      'Objects of the class REDUCED_REDUNDANCY, if there are any, may be out of reach now. Everything else can be read.',
    notAllRead: 'Some of what is stored may be out of reach now.',
    someLost: 'Some of what is stored may be lost.',
    driveLost: (path: string, state: string, error: string) => `${path} is ${state}${error === '' ? '' : `: ${error}`}`,
    healing: (path: string) => `${path} is being rebuilt`,
    setState: (pool: number, set: number, state: string) =>
      `Set ${set + 1} of pool ${pool + 1} is ${setStates[state] ?? state.replace('_', ' ')}`,
    below: (records: number, bytes: string) =>
      `${counted(records, 'version or part', 'versions and parts')} (${bytes}) ${records === 1 ? 'has' : 'have'} fewer copies or shards than ${records === 1 ? 'it' : 'they'} should.`,
    beingRepaired: 'This is repaired while the drives that it needs work.',
    mayBeLost: (records: number) =>
      `${counted(records, 'version or part', 'versions and parts')} could not be repaired in the last attempt, and may be lost: a heal job lists ${records === 1 ? 'it' : 'them'}.`,
    foundLost: (records: number) =>
      `A dry run has found up to ${counted(records, 'version or part that is', 'versions and parts that are')} lost: a heal job lists ${records === 1 ? 'it' : 'them'}.`,
    /** `date`: empty before there is one. */
    certificate: (id: string, domains: string, isExpired: boolean, date: string) => {
      const state = date === '' ? 'could not be ordered' : `${isExpired ? 'expired' : 'expires'} on ${date}`
      return `The certificate ${id} ${state}${domains === '' ? '' : `: visitors of ${domains} get it`}.`
    },
    certificateWithout: (id: string, domains: string) =>
      `The certificate ${id} is without ${domains}, which could not be validated: browsers refuse it there.`,
    chart: 'A chart of the last hour',
    counted:
      '“S3” counts requests to the S3 API, “Distributions” requests to published domains. Requests to a distribution in s3 mode count in both, those of this console in neither. The charts start anew when the server restarts.',
  },
  buckets: {
    title: 'Buckets',
    create: 'Create bucket',
    none: 'There is no bucket yet. A bucket holds objects, as a drive holds files.',
    noneForReaders:
      'There is no bucket that you may see. Whoever manages the users of this server can give you the right.',
    objects: 'Objects',
    versions: 'Versions',
    public: 'public',
    published: 'published',
    private: 'private',
    protection: 'Protection',
    locked: 'object lock',
    versioned: 'versioning',
    access: 'Access',
    encryption: 'Encryption',
    encryptions: { none: 'none', AES256: 'SSE-S3', 'aws:kms': 'SSE-KMS' },
    name: 'Name',
    nameHint: '3 to 63 lower-case letters, digits, dots and hyphens',
    versioning: 'Keep old versions of objects',
    objectLock: 'Object lock: versions can be protected from deletion (also keeps old versions)',
    quota: 'Quota',
    created: (name: string) => `Bucket ${name} is created.`,
    createdInPart: (name: string) =>
      `Bucket ${name} is created, but what is below could not be set. Try again, or close this and set it in the settings of the bucket.`,
    delete: 'Delete bucket',
    deleteNamed: (name: string) => `Delete bucket ${name}`,
    deleteHint: 'With everything in it. You are told how much that is, and asked for the name of the bucket.',
    deleteStopped: (id: string, domains: string) => `${id} (${domains})`,
  },
  objects,
  presign,
  uploads,
  shares,
  secrets,
  users,
  groups,
  policies,
  accessKeys,
  events,
  fieldNames,
  keys,
  auditTargets,
  publishing,
  tools: { title: 'Tools' },
  simulator,
  distributions,
  keyGroups,
  cache,
  operate,
  server,
  drives,
  settings,
  account,
  metrics,
  chart,
  bucket,
  bucketUploads,
  bucketVersions,
  distributionArchive,
  resolve,
  editKeyGroup,
  eventQueues,
  certificateState,
  search,
}
