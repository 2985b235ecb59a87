/** Uploads in progress and all versions of a bucket. */
import { formatCount } from '../../parts/format.ts'

export const bucketUploads = {
  title: 'Uploads in progress',
  hint: 'Begun in parts and not completed, by this console or any other program. Their parts take space until they are completed or given up.',
  none: 'No upload is in progress.',
  key: 'Key',
  started: 'Begun',
  parts: 'Parts',
  abort: (key: string) => `Give up the upload of ${key}`,
  abortTitle: 'Give up this upload?',
  abortText: (key: string, size: string, parts: number) =>
    `${size} in ${formatCount(parts)} ${parts === 1 ? 'part' : 'parts'} of ${key} are deleted. Whoever is sending it gets an error. What is stored under the key stays.`,
  abortAction: 'Give up',
}

export const bucketVersions = {
  title: 'All versions',
  hint: 'Current and old versions and delete markers, by key, the newest first. Restoring an old version makes a new one with its content; the old one stays in the list.',
  none: 'There is no version.',
  unknown: 'Whether the bucket keeps old versions from now on you may not see (s3:GetBucketVersioning).',
  notKept: 'This bucket has never kept old versions: each key has one.',
}
