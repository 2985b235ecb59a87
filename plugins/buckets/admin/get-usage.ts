import { defineAdminOperation } from 'svc/plugins/admin/api'
import type { Bucket, BucketUsage as Counters } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

const counters = {
  size: Type.Integer({ description: 'Bytes of all versions.' }),
  objectsCount: Type.Integer(),
  versionsCount: Type.Integer(),
  deleteMarkers: Type.Integer(),
}

const BucketUsage = Type.Object(
  {
    ...counters,
    prefixes: Type.Record(Type.String(), Type.Object(counters), {
      description:
        'By the beginnings of keys, up to and with their first slash. The first 1000 of a bucket, and the first 100 000 of an answer.',
    }),
  },
  { $id: 'BucketUsage' },
)

/** Maximum number for one bucket, and for all buckets of an answer. */
const prefixesMax = { bucket: 1000, answer: 100_000 }

const Usage = Type.Object(
  {
    lastUpdate: Type.String({
      format: 'date-time',
      description: 'When it was read: the counters are exact at any time.',
    }),
    objectsCount: Type.Integer(),
    versionsCount: Type.Integer(),
    totalSize: Type.Integer(),
    bucketsCount: Type.Integer(),
    buckets: Type.Record(Type.String(), BucketUsage),
  },
  { $id: 'Usage' },
)

export default defineAdminOperation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'server',
  summary: 'Returns what is stored, in all and by bucket.',
  authorize: ['admin:DataUsageInfo'],
  query: Type.Object({
    bucket: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 1000, description: 'Only these.' })),
  }),
  response: Usage,
  errors: ['bucket_not_found'],
  uses: ['objects', 'ports'],
  async handle({ query: { bucket: wanted } }, { objects, ports: { clock } }) {
    const buckets: Record<
      string,
      ReturnType<typeof describe> & { prefixes: Record<string, ReturnType<typeof describe>> }
    > = {}
    const total = { objectsCount: 0, versionsCount: 0, totalSize: 0, bucketsCount: 0 }
    let left = prefixesMax.answer
    const add = async (name: string) => {
      const usage = await objects.usage(name)
      const folders = await objects.usageOfFolders(name, Math.min(prefixesMax.bucket, left))
      left -= folders.size
      const prefixes = Object.fromEntries([...folders].map(([prefix, folder]) => [prefix, describe(folder)]))
      buckets[name] = { ...describe(usage), prefixes }
      total.bucketsCount++
      total.objectsCount += usage.objects
      total.versionsCount += usage.versions
      total.totalSize += usage.sizeBytes
    }
    if (wanted === undefined) for await (const name of bucketNames(objects.listBuckets)) await add(name)
    else for (const name of new Set(wanted)) await add((await objects.getBucket(name)).name)
    return { lastUpdate: new Date(clock.now()).toISOString(), ...total, buckets }
  },
})

function describe({ sizeBytes, objects, versions, deleteMarkers }: Counters) {
  return { size: sizeBytes, objectsCount: objects, versionsCount: versions, deleteMarkers }
}

type ListBuckets = import('svc/plugins/objects/api').ObjectsService['listBuckets']

async function* bucketNames(listBuckets: ListBuckets): AsyncIterable<string> {
  let startAfter: string | undefined = ''
  while (startAfter !== undefined) {
    const page: { buckets: readonly Bucket[]; next: string | undefined } = await listBuckets({
      prefix: '',
      startAfter,
      limit: 1000,
    })
    for (const { name } of page.buckets) yield name
    startAfter = page.next
  }
}
