/** Lifecycle rules of a bucket. */
import { formatCount } from '../../parts/format.ts'
import { counted } from '../counted.ts'

export const lifecycle = {
  typedAsJson: 'Rules are being changed as JSON: save that first, or discard it.',
  notList: 'It is no list of rules: [ { … }, { … } ].',
  none: 'No rule: nothing is deleted by itself.',
  hint: 'Rules are applied soon after they are saved, and when a day of UTC begins.',
  ofRule: (id: string, message: string) => `Of the rule ${id}, which is stored: ${message}`,
  add: 'Add rule',
  rule: (id: string) => `Rule ${id}`,
  unnamed: 'Rule without a name',
  edit: (id: string) => `Edit rule ${id}`,
  remove: (id: string) => `Remove rule ${id}`,
  removeTitle: (id: string) => `Remove rule ${id}?`,
  removeText: 'It deletes nothing more from now on. What it has deleted does not come back.',
  json: 'All rules as JSON',
  id: 'Name',
  idHint: 'Empty: the server chooses one',
  which: 'Which objects',
  prefix: 'Keys that begin with',
  prefixHint: 'Empty: every key',
  sizeGreaterThan: 'Larger than',
  sizeLessThan: 'Smaller than',
  what: 'What happens',
  notSet: 'never',
  expireDays: 'Delete objects after so many days',
  expireDate: 'Delete all objects from this day on',
  noncurrentDays: 'Delete old versions so many days after they were replaced',
  newerNoncurrentVersions: 'But keep so many of the old versions',
  uploadDays: 'Remove uploads that were not completed after so many days',
  expiredObjectDeleteMarker: 'Remove delete markers that no version is left below',
  deletionTitle: (count: number) =>
    count === 1 ? 'Save a rule that deletes?' : `Save ${formatCount(count)} rules that delete?`,
  objectsDeleted: {
    off: 'A deleted object does not come back.',
    enabled: 'The bucket keeps old versions: a deleted object stays as an old version.',
    suspended:
      'Keeping old versions is suspended: of a deleted object, versions that were kept stay; what was stored while none were kept is gone, and does not come back.',
    unknown:
      'A deleted object does not come back, unless the bucket keeps versions: then it stays as an old version. What was stored while it kept none is gone.',
  },
  versionsDeleted: 'An old version that is deleted does not come back.',
  deletionConfirm: (count: number) => (count === 1 ? 'Yes, let it delete' : 'Yes, let them delete'),
  enabled: 'The rule is applied',
  scope: (narrowings: readonly string[]) =>
    narrowings.length === 0 ? 'All objects' : `Objects that ${narrowings.join(' and ')}`,
  prefixIs: (prefix: string) => `begin with “${prefix}”`,
  tagIs: (key: string, value: string) => `have the tag ${key}=${value}`,
  largerThan: (size: string) => `are larger than ${size}`,
  smallerThan: (size: string) => `are smaller than ${size}`,
  expires: (days: number) => `are deleted ${counted(days, 'day')} after they were made`,
  expiresOn: (date: string) => `are deleted on ${date}, and each day from then on, those that are stored later as well`,
  expiredOn: (date: string) =>
    `are deleted at once, because ${date} is over; those that were stored today, or are stored later, at the midnight (UTC) after`,
  staysAsVersion:
    'what they hold stays as old versions, which take up space and count towards the quota until they are deleted',
  lonelyMarkers: 'delete markers that no version is left below are removed',
  noncurrent: (days: number, kept: number) =>
    `old versions are deleted ${counted(days, 'day')} after they were replaced${kept === 0 ? '' : `, but for the last ${formatCount(kept)}`}`,
  uploads: (days: number) => `uploads that were never completed are removed after ${counted(days, 'day')}`,
  disabled: '(disabled)',
  preview: 'What would they delete?',
  previewDraft: 'What would this rule delete?',
  now: 'Now',
  atMidnight: (time: string) => `At ${time}, when the next day of UTC begins`,
  whenAllIsOld: (time: string) => `At ${time}, when everything that is here today is old enough`,
  wouldDo: (
    counts: {
      readonly deleted: number
      readonly deleteMarkers: number
      readonly replaced: number
      readonly uploadsAborted: number
      readonly locked: number
    },
    keepsVersions: boolean,
  ) => {
    const { deleted, deleteMarkers, replaced, uploadsAborted, locked } = counts
    const kept = deleteMarkers - replaced
    const gone = keepsVersions
      ? counted(deleted, 'version or delete marker', 'versions and delete markers')
      : counted(deleted, 'object')
    const lines = [
      deleted > 0 && `${gone} would be deleted for good`,
      replaced > 0 &&
        `${counted(replaced, 'object')} would be deleted, and what was stored of ${replaced === 1 ? 'it' : 'them'} while no old versions were kept would be gone for good`,
      kept > 0 && `${counted(kept, 'object')} would be deleted, and stay as old versions`,
      uploadsAborted > 0 && `${counted(uploadsAborted, 'upload')} would be removed`,
      locked > 0 && `${counted(locked, 'version')} would stay, because a lock protects them`,
    ].filter(line => line !== false)
    return lines.length === 0 ? ['Nothing would be deleted.'] : lines
  },
}
