/** Objects, their uploads and shares. */
import { formatCount } from '../../parts/format.ts'

/** `isKnown`: that keeping versions is suspended. */
const behind = (key: string, isKnown: boolean) =>
  `Among the old versions of ${key} is what was stored while none were kept: ${isKnown ? '' : 'if keeping versions is suspended, which you may not see (s3:GetBucketVersioning), '}it would be gone for good`

export const objects = {
  unreadable: 'You may not read this object: neither what is known of it, nor what is in it.',
  newFolder: 'New folder',
  newFolderOpen: 'Open it',
  newFolderOdd: 'Neither “.” and “..” nor control characters can be names of folders on a disk.',
  newFolderNameless: 'The folder needs a name.',
  newFolderHint:
    'A folder is the beginning of the keys in it, and is there as long as something is in it. It opens now; upload something into it to keep it.',
  empty: 'Nothing is here yet. Drop files or folders on this page, or choose them.',
  emptyForReaders: 'Nothing is here.',
  emptyPrefix: (prefix: string) => `No key begins with “${prefix}”.`,
  upload: 'Upload files',
  uploadFolder: 'Upload folder',
  dropHere: 'Drop files and folders to upload them here',
  download: 'Download',
  share: 'Share',
  details: 'Details',
  toSelect: (may: { readonly copy: boolean; readonly delete: boolean }) =>
    `Tick entries to ${new Intl.ListFormat('en', { type: 'disjunction' }).format([
      'download',
      ...(may.copy ? ['copy'] : []),
      ...(may.delete ? ['delete'] : []),
    ])} them.`,
  selected: (count: number) => `${formatCount(count)} selected`,
  sort: 'Sort by this column',
  sortWithin: (count: number) => `Sort by this column, each ${formatCount(count)} rows by themselves`,
  cutOff: (count: number) =>
    `The first ${formatCount(count)} are listed. There are more: filter by the beginning of their names.`,
  selectAll: 'Select all that are loaded',
  select: (key: string) => `Select ${key}`,
  deleteTitle: (count: number, first: string) =>
    count === 1 ? `Delete ${first}?` : `Delete ${formatCount(count)} entries?`,
  deleteText: (objects: number, folders: number) =>
    [
      objects > 0 && `${formatCount(objects)} ${objects === 1 ? 'object' : 'objects'}`,
      folders > 0 &&
        `${formatCount(folders)} ${folders === 1 ? 'folder' : 'folders'} with everything in ${folders === 1 ? 'it' : 'them'}`,
    ]
      .filter(Boolean)
      .join(' and '),
  deleteVersioned: 'The bucket keeps old versions: they stay, and can be restored one by one on its tab Versions.',
  deleteSuspended:
    'Keeping old versions is suspended: versions that were kept stay; what was stored while none were kept is gone, and cannot be restored.',
  deleteForGood: 'The bucket keeps no old versions: this cannot be undone.',
  deleteUnknown:
    'Whether the bucket keeps old versions you may not see (s3:GetBucketVersioning): if it keeps none, this cannot be undone.',
  deleted: (count: number) => `${formatCount(count)} deleted.`,
  deleteFailed: (count: number, first: string) => `${formatCount(count)} could not be deleted. The first: ${first}`,
  folder: 'folder',
  root: 'All objects',
  type: 'Content type',
  etag: 'ETag',
  version: 'Version',
  checksum: 'Checksum',
  ofCustomer:
    'It is encrypted with a key that its owner keeps (SSE-C). A program that has the key reads it through the S3 API; a browser can neither show, download nor share it.',
  encryption: 'Encryption',
  metadata: 'Metadata',
  tags: 'Tags',
  notEncrypted: 'not encrypted',
  tabs: { details: 'Details', preview: 'Preview', versions: 'Versions' },
  edit: 'Edit',
  describeTitle: (key: string) => `Store ${key} anew?`,
  describeUnknown:
    'Whether the bucket keeps old versions you may not see (s3:GetBucketVersioning). Where that is suspended, the changed object takes the place of what was stored under this key while none were kept, if anything was, and that is gone for good.',
  describeSuspended:
    'Keeping old versions is suspended: the present version stays as an old one, and the changed one takes the place of what was stored under this key while none were kept, if anything was. That is gone for good.',
  editTitle: (key: string) => `Metadata and tags of ${key}`,
  contentEncoding: 'Content encoding',
  contentLanguage: 'Content language',
  contentDisposition: 'Content disposition',
  cacheControl: 'Cache control',
  metadataHint: 'Sent as x-amz-meta-… headers. In a bucket that keeps old versions this makes a new version.',
  metadataHintLocked:
    'Sent as x-amz-meta-… headers. This makes a new version, without a legal hold and with the default retention of the bucket; the one before keeps its own.',
  entry: 'entry',
  tag: 'tag',
  noPreview: 'There is no preview of this type. Download it to look at it.',
  pdf: 'A PDF can have scripts, which the viewer of the browser runs: it is shown in a tab of its own, apart from the console.',
  openInTab: 'Open in a new tab',
  empty0: 'The object is empty.',
  beginning: (shown: string, all: string) => `The first ${shown} of ${all}.`,
  beginningUnpacked: (shown: string) => `The first ${shown}, unpacked.`,
  cannotShow: 'The browser cannot show it: it may be damaged, of another type than it says, or cut off on its way.',
  preview: (name: string) => `Preview of ${name}`,
  latest: 'current',
  old: 'old',
  deleteMarker: 'delete marker',
  restore: 'Restore',
  restoreTitle: (key: string) => `Replace ${key} by this version?`,
  restoreText:
    'The bucket keeps no further versions: what is there now, or else what was stored while none were kept, can be gone for good. Copied to another key, the old version stands beside it.',
  restoreUnknown:
    'Whether the bucket keeps old versions you may not see (s3:GetBucketVersioning): if it keeps none, what is there now is gone for good.',
  restored: 'The old version is the current one again.',
  versionDeleted: 'The version is deleted.',
  versionOf: (date: string) => `Version of ${date}`,
  showVersion: (date: string) => `Show version of ${date}`,
  versionOn: (date: string) => `version of ${date}`,
  undelete: 'Undelete',
  undeleteOne: (key: string) => `Undelete ${key}`,
  undeleted: 'The delete marker is removed.',
  replacedMeanwhile: (key: string) =>
    `${key} stays, for somebody else has stored it meanwhile. Look at it, and choose it again.`,
  versionChanged: (key: string) => `Nothing is deleted: somebody else has stored ${key} meanwhile.`,
  isDeleted: (date: string) => `Deleted on ${date}`,
  isDeletedText:
    'The bucket keeps old versions. Undelete takes the delete marker away, and the version below it is the current one again.',
  deleteShown: 'Delete this version',
  deleteVersionTitle: 'Delete this version for good?',
  deleteVersionText: (key: string, date: string, id: string) =>
    `The version of ${key} of ${date}${id === '' ? '' : ` (${id})`} is gone then. Other versions stay.`,
  deleteMarkerText: (key: string) => `${key} is there again then: this is what says that it is deleted.`,
  lookForVersions: (key: string) => `Look for old versions of an object with the name “${key}”`,
  copy: 'Copy or move',
  copyTitle: (count: number) => `Copy or move ${formatCount(count)} ${count === 1 ? 'entry' : 'entries'}`,
  copyOne: (key: string) => `Copy, move or rename ${key}`,
  toBucket: 'To bucket',
  toFolder: 'Into folder',
  toFolderHint: 'Empty: the top of the bucket. A folder that is not there yet is made.',
  toKey: 'New key',
  toKeyHint: 'With a slash at its end: the folder that it goes into, under its own name.',
  move: 'Move: remove it here when it is there',
  moveLocked:
    'A legal hold or retention stays with the version here, behind a delete marker. The one that is made has that of the bucket, if any.',
  overwrite: 'Replace what has the same key there',
  copied: (count: number) => `${formatCount(count)} done.`,
  copyCut: 'There is no connection to the server. It goes on when there is one.',
  copyEnd: (isMove: boolean) => ({
    title: 'End it here?',
    text: `There is no connection to the server, and what is left is not ${isMove ? 'moved' : 'copied'} any more when you close this. What is done already stays so.`,
    leave: 'Close and end it',
  }),
  copying: (done: number, all: number) => `${formatCount(done)} of ${formatCount(all)}`,
  stopCopying: 'Stop',
  copyStopped: (done: number, all: number) =>
    `Stopped: ${formatCount(done)} of ${formatCount(all)} are done. Those that were not begun stay as they were.`,
  changedBefore: (key: string) => `Somebody else has changed ${key} meanwhile. Look at it before you replace it.`,
  copyUnknown: 'The connection was lost before the answer came: look whether it was done before you do it again.',
  copyFailed: (count: number, first: string) => `${formatCount(count)} failed. The first: ${first}`,
  newFolderLong: 'is too long: the key of an object has at most 1024 bytes, its folders included',
  placeNotFree: (key: string) => `${key}, whose place it would take, has not gone.`,
  movedBehind: (key: string, isKnown: boolean) =>
    `${behind(key, isKnown)} with the object. Copy it, and delete it then, if that is meant.`,
  keyTakenBehind: (key: string, isKnown: boolean) => `${behind(key, isKnown)}. To replace it, tick the box below.`,
  takenBehind: (key: string, count: number, isKnown: boolean) =>
    `${behind(key, isKnown)}.${count === 1 ? '' : ` The same holds for ${formatCount(count - 1)} more of them.`}`,
  replaceBehindTitle: 'Replace what no list shows?',
  replaceBehind: 'Replace it',
  keyTaken: 'There is an object with this key already. To replace it, tick the box below.',
  describedInPart: 'The headers and the metadata are stored, the tags are not.',
  chosenTwice: 'A folder is selected, and something in it as well: select one of them.',
  sameNames: 'Two of them have the same name: one would replace the other there.',
  sameKey: 'That is where it is already.',
  openFolder: 'Open a folder',
  openFolderHint: 'With the folders above it. You may list a part of a bucket without the rest.',
  openFolderGo: 'Open',
  zipNotBegun: 'The archive was refused, or the connection was lost before it began. Try again.',
  zipRefused: (key: string, reason: string) => `${key}: ${reason}`,
  zip: 'Download as ZIP',
  zipHint: 'An archive that ends early is incomplete. Its _skipped.json names what was left out.',
  mayBypass: 'Although it is protected',
  mayBypassHint: 'Needed to end its retention, to shorten it, or to make another kind of it. You have the right to.',
  mayDelete: 'Delete it although it is protected',
  governance: (until: string) =>
    `Its retention (governance) protects it until ${until}: only who has s3:BypassGovernanceRetention may shorten it or delete this version.`,
  compliance: (until: string) =>
    `Its retention (compliance) protects it until ${until}: nobody can shorten it or delete this version.`,
  retention: 'Retention',
  retentionModes: {
    '': 'none',
    GOVERNANCE: 'governance: who has the right may shorten it',
    COMPLIANCE: 'compliance: nobody may shorten it',
  },
  complianceTitle: 'Protect this version from everybody?',
  complianceText: (until: string) =>
    `Until ${until} nobody can delete this version, shorten its retention or take it away: not you, and not root. It can only be made longer.`,
  complianceConfirm: 'Yes, protect it',
  retainUntil: 'Until',
  legalHold: 'Legal hold: nobody can delete this version until the hold is taken away',
  held: 'A legal hold is on: nobody can delete this version. Take the hold away first, under “Protection of this version”.',
  lock: 'Protection of this version',
}

export const uploads = {
  lookTitle: 'Upload',
  look: (files: number) =>
    files === 1
      ? 'Looking whether the file exists already…'
      : `Looking which of ${formatCount(files)} files exist already…`,
  lookCut: 'There is no connection to the server. The upload waits for it.',
  replaceTitle: (count: number) => (count === 1 ? 'Replace 1 object?' : `Replace ${formatCount(count)} objects?`),
  replaceText: (bucket: string, versioning: string | undefined) =>
    versioning === 'suspended'
      ? `Keeping old versions is suspended in ${bucket}: versions that were kept stay; what was stored while none were kept is gone once it is replaced.`
      : versioning !== undefined
        ? `${bucket} keeps no old versions: what is replaced is gone.`
        : `Whether ${bucket} keeps old versions you may not see (s3:GetBucketVersioning): if it keeps none, what is replaced is gone, and where that is suspended, what was stored while none were kept.`,
  replaceCancel: 'Upload nothing',
  skip: (count: number) => `Upload only the new ${count === 1 ? 'file' : formatCount(count)}`,
  replace: (count: number) => (count === 1 ? 'Replace' : 'Replace all'),
  title: (done: number, cancelled: number, all: number) =>
    `Uploads: ${formatCount(done)} of ${formatCount(all)} done${cancelled === 0 ? '' : `, ${formatCount(cancelled)} cancelled`}`,
  rate: (rate: string) => `${rate}/s`,
  pause: 'Pause',
  resume: 'Go on',
  cancel: 'Cancel upload',
  pauseAll: 'Pause all',
  resumeAll: 'Go on with all',
  cancelAll: 'Cancel all that have not arrived',
  failed: (count: number) => `${formatCount(count)} failed`,
  retry: 'Try again',
  clear: 'Clear what is done',
  unreadable: (count: number, first: string) =>
    `${formatCount(count)} could not be read, and are not uploaded. The first: ${first}`,
  interrupted: (count: number) => `${formatCount(count)} ${count === 1 ? 'upload was' : 'uploads were'} interrupted`,
  chooseAgain: 'Choose the same files or the same folder again in the same place: what has arrived is not sent again.',
  goTo: (bucket: string) => `Go to ${bucket}`,
  forget: 'Give up',
  cut: 'no connection, tries again',
  twice: (count: number, first: string) =>
    `${count === 1 ? `“${first}” was left out: a file was` : `${formatCount(count)} files, “${first}” first, were left out: files were`} chosen with names that differ in the Unicode form of their letters alone, and the server keeps one form.`,
  silent: 'nothing is heard of the server',
  noRoom: {
    quota_exceeded: 'over the quota of the bucket; parts that have arrived take space until you cancel it',
    insufficient_storage: 'the drives are full; parts that have arrived take space until you cancel it',
  } as Readonly<Record<string, string>>,
  fileGone: 'The file can be read no more: it was changed, moved or deleted since it was chosen. Choose it again.',
  fileMixed:
    'The file was changed while it was sent: what is stored may be a mixture of before and after. Choose it again, and replace the object.',
  changedSince:
    'It had arrived, and there is another object of that name now, or this is another file. Cancel it, and choose the file again to replace the object.',
  takenSince:
    'Somebody else has stored an object of that name since. Cancel it, and choose the file again to replace the object.',
  begunAnew: {
    otherFile: 'begun anew: it is another file than the one of which parts had arrived',
    givenUp: 'begun anew: the upload was given up elsewhere',
    gone: 'sent again: it had arrived, and was not there any more',
  },
  waiting: 'waiting',
  paused: 'paused',
  checked: 'all is sent, and checked now',
  ending: 'pausing: parts arrive',
  fold: 'Show less of the uploads',
  unfold: 'Show the uploads',
  done: 'done',
  cancelled: 'cancelled',
}

/** URLs for one request to the S3 API. */
export const presign = {
  action: 'Presigned URL',
  title: 'Make a presigned URL',
  hint: 'For one kind of request to the S3 API, signed with your rights. It cannot be revoked by itself: it works until it expires, or until your credentials change.',
  method: 'It is for',
  methods: { GET: 'reading (GET)', HEAD: 'its head (HEAD)', PUT: 'writing (PUT)', DELETE: 'deleting (DELETE)' },
  key: 'Key of the object',
  expiry: 'It works for',
  fileName: { label: 'Name of the file when it is saved', description: 'Empty: that of the key.' },
  make: 'Make URL',
  url: 'URL',
  until: (date: string) => `It works until ${date}.`,
  command: 'As a command',
}

export const shares = {
  title: 'Shares',
  noneAtAll: 'Nothing is shared.',
  none: 'You share nothing. Share an object from its bucket: the link works for whoever has it, until it expires or you revoke it.',
  object: 'Object',
  expires: 'Expires',
  owner: 'Owner',
  state: 'State',
  lastUsed: 'Last used',
  usedThisHour: 'in this hour',
  usedBetween: (from: string, until: string) => `between ${from} and ${until}`,
  revoke: 'Revoke',
  revoked: 'The link does not work any more.',
  all: 'Shares of everybody',
  states: { active: 'active', revoked: 'revoked', expired: 'expired' },
  revokeTitle: 'Revoke this link?',
  revokeText: (key: string) => `Whoever has the link to ${key} cannot use it from now on.`,
  createTitle: (key: string) => `Share ${key}`,
  expiry: 'The link works for',
  expiries: { hour: '1 hour', day: '1 day', week: '7 days', until: 'until a date and time' },
  expiryDate: 'Until',
  expiryBounds: (days: number) => `By the clock of this browser, at most ${days} days from now.`,
  fileName: { label: 'Name of the file when it is saved', description: 'Empty: that of the object.' },
  description: 'Note (only you and administrators see it)',
  make: 'Make link',
  link: 'Link',
  onlyNow: 'The link is shown once. Copy it now.',
  code: 'QR code of the link',
  downloadCode: 'Download QR code',
}
