/** Buckets: what other plugins that make buckets need. */
export { requireNewBucketName } from './bucket-name.ts'
