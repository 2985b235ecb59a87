/** The tabs of a bucket's page, which are part of its address. The first is the default. */
export const bucketTabs = [
  'objects',
  'versions',
  'uploads',
  'settings',
  'access',
  'policy',
  'lifecycle',
  'events',
  'distributions',
] as const
export type BucketTab = (typeof bucketTabs)[number]
