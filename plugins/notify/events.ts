/** Names of events. A rule with an event that this server never emits is refused. */

/** Emitted events, without `s3:`. A wildcard (`ObjectCreated:*`) stands for every name with its beginning. */
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

const wildcards = ['ObjectCreated', 'ObjectRemoved', 'ObjectTagging', 'LifecycleExpiration', 'ObjectAccessed']

/** Names of another server for our events. */
const aliases: ReadonlyMap<string, string> = new Map([
  ['ObjectCreated:PutTagging', 'ObjectTagging:Put'],
  ['ObjectCreated:DeleteTagging', 'ObjectTagging:Delete'],
  ['ObjectCreated:PutRetention', 'ObjectRetention:Put'],
  ['ObjectCreated:PutLegalHold', 'ObjectLegalHold:Put'],
])

/** Events of features that this server does not implement, by the part of their name before `:`. */
const notImplemented = new Set([
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
  ...wildcards.map(group => [`s3:${group}:*`, emitted.filter(name => name.startsWith(`${group}:`))] as const),
])

/** The events that a name in a rule stands for, without `s3:`; undefined for a name that no rule may have. */
export function matchedEvents(name: string): readonly string[] | undefined {
  return matched.get(name)
}

/** Whether S3 or a related server has this event and this server does not. */
export function isNotImplemented(name: string): boolean {
  return name.startsWith('s3:') && notImplemented.has(name.slice('s3:'.length).split(':')[0]!)
}
