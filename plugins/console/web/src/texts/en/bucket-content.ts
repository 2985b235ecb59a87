/** What is in a bucket: when it is deleted, and when it is measured by a quota. */
import { counted } from '../counted.ts'

export const deletion = {
  title: (name: string) => `Delete ${name}?`,
  empty: 'The bucket is empty.',
  unknown:
    'You may not see all that is in it. It is deleted only if there are no objects in it, nor older versions of any; uploads that are not completed go with it, and cannot go on. It cannot be undone.',
  versions: (objects: number, versions: number, deleteMarkers: number, size: string) =>
    `This deletes ${counted(objects, 'object')} with ${counted(versions, 'version')}${deleteMarkers === 0 ? '' : ` and ${counted(deleteMarkers, 'delete marker')}`} (${size}).`,
  uploads: (count: number, size: string) =>
    `${counted(count, 'upload that is', 'uploads that are')} not completed ${count === 1 ? 'goes' : 'go'} with the bucket, and cannot go on: ${count === 1 ? 'its' : 'their'} parts have ${size}.`,
  forGood: 'It cannot be undone.',
  stops: 'It is published. Delete these distributions first, or give them another bucket:',
  changed: 'The bucket has changed meanwhile. Nothing is deleted yet: look at the new numbers.',
  deleted: (name: string) => `Bucket ${name} is deleted.`,
}

export const quota = {
  size: 'Size of all versions and parts of uploads',
  hint: 'Empty or 0: no limit.',
  parts: 'Parts of uploads that are not completed count.',
  partsNow: (size: string) => `Parts of uploads that are not completed count: they have ${size} at present.`,
  partsOfIt: (size: string) => `${size} of it in uploads that are not completed`,
  used: (used: string, quota: string) => `${used} of ${quota}`,
  over: 'over the quota of the bucket',
  below: (stored: string) =>
    `${stored} are stored, more than that: with this quota nothing more can be written until enough is deleted.`,
}
