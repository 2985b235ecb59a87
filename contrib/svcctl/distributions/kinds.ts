/** Kinds of the documents that `dist export` prints. */
export const documentKinds = ['KeyGroup', 'CachePolicy', 'CacheSettings', 'Distribution', 'DistributionCache']
