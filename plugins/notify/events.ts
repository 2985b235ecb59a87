/** Names of events. What nothing here can emit is refused instead of accepted and never sent. */

/** What is emitted, without `s3:`; a family (`ObjectCreated:*`) is every name that begins like it. */
const emitted = [
  'ObjectCreated:Put',
  'ObjectCreated:Post',
  'ObjectCreated:Copy',
  'ObjectCreated:CompleteMultipartUpload',
  'ObjectRemoved:Delete',
  'ObjectRemoved:DeleteMarkerCreated',
  'ObjectTagging:Put',
  'ObjectTagging:Delete',
  'LifecycleExpiration:Delete',
  'LifecycleExpiration:DeleteMarkerCreated',
  'ObjectRetention:Put',
  'ObjectLegalHold:Put',
  'ObjectAccessed:Get',
  'ObjectAccessed:Head',
  'ObjectAccessed:Attributes',
  'ReducedRedundancyLostObject',
] as const

const families = ['ObjectCreated', 'ObjectRemoved', 'ObjectTagging', 'LifecycleExpiration', 'ObjectAccessed']

/** Names of another server that mean one of ours. */
const aliases: ReadonlyMap<string, string> = new Map([
  ['ObjectCreated:PutTagging', 'ObjectTagging:Put'],
  ['ObjectCreated:DeleteTagging', 'ObjectTagging:Delete'],
  ['ObjectCreated:PutRetention', 'ObjectRetention:Put'],
  ['ObjectCreated:PutLegalHold', 'ObjectLegalHold:Put'],
])

/** Names that exist elsewhere, for what is not built here: each exactly, or everything below the part before `:`. */
const notBuilt = new Set([
  'Replication',
  'ObjectRestore',
  'ObjectTransition',
  'LifecycleTransition',
  'IntelligentTiering',
  'ObjectAcl',
  'ObjectAnnotation',
  'Scanner',
  'BucketCreated',
  'BucketRemoved',
])

const matched: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...emitted.map(name => [`s3:${name}`, [name]] as const),
  ...[...aliases].map(([name, meant]) => [`s3:${name}`, [meant]] as const),
  ...families.map(family => [`s3:${family}:*`, emitted.filter(name => name.startsWith(`${family}:`))] as const),
])

/** The events that a name in a rule stands for, without `s3:`; undefined for a name that no rule may have. */
export function matchedEvents(name: string): readonly string[] | undefined {
  return matched.get(name)
}

/** Whether a name is one of S3's, or of its kin, for something that is not built here. */
export function isNotBuilt(name: string): boolean {
  return name.startsWith('s3:') && notBuilt.has(name.slice('s3:'.length).split(':')[0]!)
}
