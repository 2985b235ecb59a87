import { counted } from '../counted.ts'

/** Of the question before a bucket is deleted. */
export const deleteBucket = {
  title: (name: string) => `Delete ${name}?`,
  empty: 'The bucket is empty.',
  stops: 'It is published. Delete these distributions first, or give them another bucket:',
  stopped: (id: string, domains: string) => `${id} (${domains})`,
  changed: 'The bucket has changed meanwhile. Nothing is deleted yet: look at the new numbers.',
  full: (objects: number, versions: number, deleteMarkers: number, size: string) =>
    `This deletes ${counted(objects, 'object')} with ${counted(versions, 'version')}${deleteMarkers === 0 ? '' : ` and ${counted(deleteMarkers, 'delete marker')}`} (${size}). It cannot be undone.`,
}
