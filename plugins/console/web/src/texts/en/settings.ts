/** Subsystems of the configuration. */
import { formatCount } from '../../parts/format.ts'

/** What people call them; plugins may bring others. */
const titles: Readonly<Record<string, string>> = {
  access: 'Public access',
  api: 'S3 API',
  browser: 'Console',
  logger: 'Log',
  ratelimit: 'Rate limits',
  scanner: 'Background work',
}
const targets: Readonly<Record<string, string>> = { audit: 'Audit target', notify: 'Event target' }

export const settings = {
  title: 'Settings',
  noDefault: 'no default',
  default: (value: string) => `default ${value}`,
  noChoice: 'none',
  listHint: 'Type one and press Enter',
  needsRestart: 'needs a restart',
  afterRestart: (keys: string) =>
    `Saved. Not in force before a restart, or not at all (its description says which): ${keys}.`,
  reset: 'Reset to defaults',
  resetTitle: (name: string) => `Reset ${name}?`,
  resetText: 'Every value of it that was set goes back to its default. It cannot be undone: the values are not kept.',
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}?`,
  changedBefore: 'Somebody else has changed it meanwhile, and nothing is reset. Look at the values, and press again.',
  removeText: 'All of its values go. It cannot be undone: the values are not kept.',
  waitingRecords: (count: number | undefined) =>
    `Audit records that wait for it${count === undefined ? '' : ` (now ${formatCount(count)})`} stay in its queue, which is not listed then. The next target with this name gets them, wherever it is: give a target elsewhere another name.`,
  setMeanwhile: (value: string) => `Somebody else has set it to “${value}” meanwhile. Save again to replace that.`,
  isReset: (name: string) => `${name} is reset.`,
  isRemoved: (name: string) => `${name} is removed.`,
  lockOutTitle: 'Limit the console as well?',
  lockOutConfirm: 'Yes, limit it',
  lockOutText: (requests: number) =>
    `The console is limited like every client of the Admin API. A page of it sends up to ${requests} requests at once: where fewer are let in (the burst; where that is 0, the limit itself), pages do not open, or only in part, this one included. The command svcctl admin config reset ALIAS ratelimit takes the limits back. A burst of ${requests} or more keeps the console usable.`,
  /** Of a subsystem, or of one of several of its kind: the kind of a target, and its name. */
  titleOf: (name: string) => {
    const [kind = '', id] = name.split(':')
    const [use = '', ...rest] = kind.split('_')
    const words = kind.replaceAll('_', ' ')
    const title = targets[use] ?? titles[kind] ?? words.charAt(0).toUpperCase() + words.slice(1)
    return id === undefined ? title : `${title} ${rest.join(' ')}:${id}`
  },
  add: 'Add event or audit target',
  addTitle: 'Add event or audit target',
  kind: 'Kind',
  kindOf: (name: string) => {
    const [use = '', ...kind] = name.split('_')
    return `${use === 'notify' ? 'events' : use}: ${kind.join(' ')}`
  },
  id: 'Name',
  idHint: 'Letters, digits, _ and -',
  whole: 'Edit all as one document',
  wholeTitle: 'All settings',
  wholeHint:
    'What is left out is reset to its default. A masked secret keeps what is stored. All of it is saved, or nothing.',
  wholeLabel: 'Settings as JSON',
  look: 'Look at the changes',
  apply: 'Save these changes',
  backToText: 'Back to the text',
  changes: (count: number) =>
    count === 0
      ? 'Nothing differs from what is stored.'
      : `${count} ${count === 1 ? 'value differs' : 'values differ'}`,
  key: 'Setting',
  before: 'Now',
  after: 'Then',
  isDefault: 'default',
}
