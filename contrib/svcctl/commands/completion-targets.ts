import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { listBuckets, listObjects } from '../s3/listing.ts'

/** Nobody waits longer for a proposal. */
const waitMsMax = 3000

export default defineCommand({
  name: 'completion-targets',
  isHidden: true,
  summary:
    'Prints completions of a target: aliases, buckets, folders and keys. For the scripts of `svcctl completion`.',
  description:
    'Keys are those of the first page of the listing, for at most three seconds. A server that does not answer gives none.',
  arguments: [{ name: 'beginning', summary: 'of a target', kind: 'target' }],
  options: [],
  examples: ['svcctl completion-targets home/pho'],
  async run(context, [text]) {
    const found = await Promise.race([candidatesOf(context, text!), sleep(waitMsMax, [] as string[], { ref: false })])
    // A candidate is one line, without control characters.
    const shown = found.filter(name => name.startsWith(text!) && !/\p{Cc}/u.test(name))
    context.io.stdout.write(shown.map(name => `${name}\n`).join(''))
  },
})

async function candidatesOf({ aliases, connect }: Context, text: string): Promise<readonly string[]> {
  const [alias = '', bucket, ...rest] = text.split('/')
  const known = await aliases.list()
  if (bucket === undefined) return [...known.keys()].map(name => `${name}/`)
  if (!known.has(alias)) return []
  const client = await connect(alias)
  if (rest.length === 0) return (await listBuckets(client)).map(({ name }) => `${alias}/${name}/`)
  for await (const { items, prefixes } of listObjects(client, { bucket, prefix: rest.join('/'), delimiter: '/' })) {
    return [...prefixes, ...items.map(({ key }) => key)].map(key => `${alias}/${bucket}/${key}`)
  }
  return []
}
