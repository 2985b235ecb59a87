/** The page Tools. */
import { formatSeconds } from '../../parts/format.ts'

export const tools = {
  exportTitle: 'Export',
  exportHint:
    'Users, groups, policies, configuration, the settings of buckets, distributions and key groups, without objects. Secrets in the archive can be read only with the root credentials of this server. The private keys of key groups and of certificates and the encryption keys are not in it: links are signed again, and certificates served, when keys have been added there.',
  exportCluster: 'Export everything',
  exportConfig: 'Export configuration',
  importTitle: 'Import',
  importHint:
    'A file that was exported here or from another server. What it would change is shown before anything changes.',
  isOther: 'Nothing is imported yet: something has changed meanwhile. Look at what would change now.',
  file: 'File',
  chooseFile: 'Choose a file',
  fileChanged: 'The file has changed, or is gone, since it was chosen: choose it again.',
  kind: 'Type of file',
  isZip: 'is a ZIP archive, and no export of the configuration',
  isNoZip: 'is no ZIP archive, as an export of everything is',
  kinds: { cluster: 'an export of everything (ZIP)', config: 'an export of the configuration (JSON or text)' },
  mode: 'Items that are not in the file',
  modes: { merge: 'keep them', replace: 'remove them' },
  look: 'What would change',
  apply: 'Import',
  would: 'This would change:',
  did: 'Imported:',
  counts: {
    users: ['user'],
    groups: ['group'],
    policies: ['policy', 'policies'],
    configSubsystems: ['part of the configuration', 'parts of the configuration'],
    buckets: ['bucket'],
    documents: ['distribution, key group or other document', 'distributions, key groups and other documents'],
  } as const,
  mayOpenTitle: 'Import what decides who gets in?',
  mayOpen:
    'What the file says is in force at once. By these, people without credentials may get in: everybody, or whoever has a signed link:',
  mayAdmit:
    'By these, users and access keys may get in, or may do more than now. A file that is older than a change brings back what the change took away, such as a former secret key or a deleted access key:',
  mayLoseTitle: 'Import what decides what is kept?',
  mayLose:
    'By these, objects or old versions that are kept now may be deleted, or no longer protected. Compare them with the bucket before:',
  same: 'The server has it all: nothing changes.',
  fileHas: (contents: string) => `The file has ${contents}.`,
  fileIsEmpty: 'The file is empty.',
  created: 'Made buckets',
  documentsCreated: 'Made',
  changed: 'Changed',
  removed: 'Removed',
  replaceText: {
    cluster:
      'Items that are not in the file are removed from this server. This cannot be undone: export everything first. No export has the private keys of key groups: those go for ever.',
    config:
      'Settings that are not in the file get their defaults again, and targets that are not in it are removed. This cannot be undone: export the configuration first. Its export does not have the secrets: write them down elsewhere.',
  },
  speedTitle: 'Speed test',
  speedHint:
    'Writes and reads for some seconds; requests of clients are slower meanwhile. Objects that were just written are read from memory: for the speed of the drives, choose “the drives”.',
  speedKinds: { object: 'objects, as clients would', drive: 'the drives', net: 'the network between nodes' },
  measure: 'Measure',
  seconds: 'Seconds',
  size: 'Size',
  sizeHints: {
    object: (room: string) =>
      `Of each object; empty: 64 MiB. The test needs ${room} of free space: four times what it writes at a time, because what it overwrites is deleted a little later.`,
    drive: (room: string) =>
      `Of the file on each drive; empty: 1 GiB. The test needs ${room} of free space on each: half of it is left to clients.`,
  },
  concurrency: 'Concurrency',
  concurrencyHint: 'Objects at a time; empty: 32',
  notMeasured: 'not measured',
  run: 'Run',
  write: 'write',
  read: 'read',
  rate: (rate: string) => `${rate}/s`,
  latency: (p50: number, p99: number) =>
    `half within ${formatSeconds(p50 / 1000)}, 99 of 100 within ${formatSeconds(p99 / 1000)}`,
  chart: 'Rates of the speed test',
  profileTitle: 'Profile',
  profileHint:
    'Records what the server spends its time or memory on, for a report of a problem. Open the file with “go tool pprof”, or load it in speedscope, which runs in a browser.',
  profileKinds: { cpu: 'time (CPU)', heap: 'memory (heap)' },
  profileKindHints: {
    cpu: 'Where the threads of the server spend their time in these seconds.',
    heap: 'What is taken in these seconds and not given back in them, not all that is there: record while the memory grows. At rest the file is almost empty.',
  },
  record: 'Record',
}
