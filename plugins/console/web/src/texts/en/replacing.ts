/** How many drives may fail, and how a failed one is replaced. */
import { counted } from '../counted.ts'

const moreMayFail = (count: number) =>
  count === 0
    ? 'No other drive of this set may fail meanwhile: every further one takes data out of reach.'
    : `${count} more ${count === 1 ? 'drive' : 'drives'} of this set may fail without loss.`

const sharedMayFail = 'Drives of this set share a file system: how many may fail without loss depends on which.'
const damagedMayNotFail =
  'What was found damaged in this set may not bear the loss of another drive: heal it, or bring back what is offline.'
const oneByOne = 'Wait until this one is rebuilt before you replace the next.'

export const replacing = {
  guideTitle: (path: string) => `Replace ${path}`,
  alone:
    'It is the only drive of its set: what is on it cannot be rebuilt from others. Restore it from a backup to a new drive.',
  mayNotFail: (drives: number) =>
    `No parity: if ${drives === 1 ? 'this drive' : 'one of these drives'} fails, what is on it is lost. Keep a backup.`,
  mayFail: (count: number) =>
    `Any ${count === 1 ? 'one drive' : `${count} drives`} of this set may fail at a time without loss.`,
  moreMayFail,
  sharedMayFail,
  damagedMayNotFail,
  damagedMaySpare: `${damagedMayNotFail} ${oneByOne}`,
  weakNeedsAway:
    'What was found damaged in this set may need what is on this drive: bring it back as it is, if you can, and heal before you replace it. With a new disk in its place that may be lost.',
  weakNeeds:
    'Some of this set lacks shards on other drives, and may need what is on this one: heal it first, and wait until nothing is missing.',
  reducedMayFail: (count: number) =>
    count === 0
      ? 'Objects of the class REDUCED_REDUNDANCY bear the loss of none.'
      : `Objects of the class REDUCED_REDUNDANCY bear the loss of ${count}.`,
  maySpare: (count: number) => `${moreMayFail(count)}${count === 0 ? '' : ` ${oneByOne}`}`,
  sharedMaySpare: `${sharedMayFail} ${oneByOne}`,
  /** Objects of REDUCED_REDUNDANCY decide: it is not known whether there are any. */
  othersSpare: (count: number) =>
    count === 0
      ? 'Everything but objects of the class REDUCED_REDUNDANCY can be read until another drive fails.'
      : `Everything but objects of the class REDUCED_REDUNDANCY bears the loss of ${count} more.`,
  reducedOutOfReach:
    'More drives of this set are offline or being rebuilt than objects of the class REDUCED_REDUNDANCY have parity. If there are any, bring back as many drives as you can, as they are, before you replace one: what is on them may be needed.',
  reducedNeeded:
    'Objects of the class REDUCED_REDUNDANCY cannot be read without this drive: as many others are offline or being rebuilt as they have parity. If there are any, bring those back, or replace them, and wait until they are rebuilt.',
  outOfReach:
    'More drives of this set are offline or being rebuilt than it has parity. Bring back as many as you can, as they are, before you replace any: what is on them may be needed.',
  needed:
    'Most of this set cannot be read without this drive: as many others are offline or being rebuilt as the set has parity. Bring those back, or replace them, and wait until they are rebuilt.',
  takesNoWrites: 'The set takes no writes until another drive is back or rebuilt.',
  works:
    'This drive works. Replace it while you can still choose when: until the new one is rebuilt the set has less redundancy.',
  worksOthersFailed: (count: number) =>
    `This drive works, and ${count === 1 ? 'another one of its set is' : `${count} others of its set are`} offline: replace ${count === 1 ? 'that one' : 'those'} first. With one more drive offline the set may take no writes, or lose what it has.`,
  steps: {
    find: 'Find the disk',
    findText: (path: string, error: string) =>
      `Its folder is ${path}; “findmnt -T ${path}” says which disk that is on.${error === '' ? '' : ` The server says: ${error.replace(/\.$/, '')}.`} Look at the kernel’s messages (dmesg) and its state (smartctl). A cable or a mount that is missing is mended without a new disk: the drive comes back by itself.`,
    look: 'Look what became of the folder',
    lookText: (path: string, error: string) =>
      `It is ${path}, beside the other drives of the set on one file system.${error === '' ? '' : ` The server says: ${error.replace(/\.$/, '')}.`} A folder that was moved or renamed is put back as it was: the drive comes back by itself.`,
    swap: 'Replace the disk',
    swapText:
      'The server need not be stopped. Unmount the old file system first, where it still is mounted, with “umount -l”: the server has files of a working drive open, and closes them within seconds once it is unmounted. Only those of a drive that hangs stay open until it answers or the server is restarted. Then put in a disk that is at least as large.',
    prepare: 'Make an empty file system at the same path',
    prepareText:
      'Only an empty file system becomes a new drive: into an empty folder below which nothing is mounted the server writes nothing. USER is the user that the server runs as.',
    plain:
      'The path is a plain folder on a file system that holds other things, too? Mount the new disk at this very path, as above: the folder is the place for the mount.',
    prepareFolder: 'Make an empty folder at the same path',
    prepareFolderText:
      'The drives of this set are plain folders of one file system, as in trials: an empty folder becomes a new drive at the next start. Stop the server, move the old folder away if it is there, make a new one, and start the server again. USER is the user that the server runs as. An empty file system of its own, mounted at the path, becomes a new drive as well.',
    wait: 'Wait until it is rebuilt',
    waitNow: 'The server sees the new drive within seconds, and rebuilds it from the others.',
    waitStarted: 'The server takes the folder as a new drive when it starts, and rebuilds it from the others.',
    waitRunning: (done: string) => `Rebuilt so far: ${done}.`,
    whole: 'Everything in this set is stored with full redundancy.',
    notWhole: (summary: string) => `This set is not known to have full redundancy. ${summary}`,
    empty: 'Nothing in this set is stored in shards: objects of up to 512 bytes lie whole on every drive.',
    below: (records: number, bytes: string) =>
      `Still missing: shards of ${counted(records, 'version or part', 'versions and parts')} (${bytes}).`,
  },
  command: 'For example',
  notCounted: 'Objects of up to 512 bytes lie whole on every drive, and are not counted.',
}
