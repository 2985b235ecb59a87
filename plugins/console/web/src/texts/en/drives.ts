/** Drives. */
export const drives = {
  title: 'Drives',
  hint: 'What is stored lies on sets of drives. Each set says how many of its drives may fail.',
  ofAllSets: (summary: string) => `Of all sets together: ${summary}`,
  path: 'Drive',
  placeOf: (pool: number, set: number, slot: number) => `pool ${pool + 1}, set ${set + 1}, slot ${slot + 1}`,
  used: 'Used',
  usedOf: (used: string, total: string) => `${used} of ${total}`,
  free: 'Free',
  reserved: (bytes: string) => `${bytes} of the used space is reserved by the file system`,
  rebuilding: 'being rebuilt',
  states: { online: 'online', offline: 'offline', faulty: 'faulty' },
  progress: 'Rebuilt',
  done: (bytes: string, objects: string) => `${bytes}, ${objects} versions and parts`,
  failed: (count: string) => `${count} attempts failed and are repeated`,
  since: (date: string) => `since ${date}`,
  last: (bucket: string, key: string) => `last ${bucket}/${key}`,
  replace: (path: string) => `Replace ${path}`,
  replaceThis: 'Replace',
  sharedFileSystem: (paths: string) =>
    `${paths} are on one file system: if it is lost, all of them are lost. Redundancy protects only drives with disks of their own.`,
}
