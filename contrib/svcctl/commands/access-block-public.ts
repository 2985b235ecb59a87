import type { AdminClient } from '../admin/client.ts'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { AdminError, usageError } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { requireBucketOnly } from '../target.ts'

interface Options {
  readonly mode?: string
}

interface Block {
  readonly bucket: string
  readonly enabled: boolean
  readonly mode: string
  readonly flags: readonly string[]
  readonly cluster: boolean
  readonly effective: boolean
}

export default defineCommand<Options>({
  name: 'access block-public',
  summary: 'Shows, sets or removes the block of public access, of a bucket or of the whole server.',
  description:
    'In force with the next request, also for buckets that were public before. --mode applies to the whole server: reject refuses to store public ' +
    'policies, rules and ACLs; ignore stores them without effect.',
  arguments: [
    { name: 'target', summary: 'ALIAS or ALIAS/bucket', kind: 'target' },
    {
      name: 'state',
      summary: 'the new state; without it the command shows the state',
      kind: 'text',
      choices: ['on', 'off'],
      isOptional: true,
    },
  ],
  options: [{ flags: '--mode <mode>', summary: 'reject or ignore', choices: ['reject', 'ignore'] }],
  examples: ['svcctl access block-public home', 'svcctl access block-public home/photos on'],
  async run(context, [text, state], { mode }) {
    const target = context.remote(text!)
    const isOfBucket = target.bucket !== ''
    if (mode !== undefined && (isOfBucket || state === undefined)) {
      throw usageError(
        '--mode is of the whole server, and stands beside on or off. For one bucket, set RestrictPublicBuckets alone, with s3api ' +
          'put-public-access-block: what is public is stored, and has no effect.',
      )
    }
    const path = isOfBucket ? `/buckets/${encodeName(requireBucketOnly(target))}/block-public` : '/access/block-public'
    const [read, write] = isOfBucket
      ? ['getBucketBlockPublic', 'setBucketBlockPublic']
      : ['getBlockPublic', 'setBlockPublic']
    const client = await context.connectAdmin(target.alias)
    const { body } = await client.send(
      state === undefined
        ? { operation: read!, method: 'GET', path }
        : { operation: write!, method: 'PUT', path, body: { enabled: state === 'on', mode } },
    )
    context.output.result({ ...(body as Block) }, lineOf(body as Block))
    if (state === 'off' && !isOfBucket) await tellPublic(context, client)
  },
})

/** The buckets that are public without the block, as far as one page tells and the caller may list them. */
async function tellPublic({ output }: Context, client: AdminClient): Promise<void> {
  try {
    const query = [['limit', '1000']] as const
    const { body } = await client.send({ operation: 'listBuckets', method: 'GET', path: '/buckets', query })
    const { items } = body as { readonly items: readonly { readonly name: string; readonly public: boolean }[] }
    const names = items.filter(item => item.public).map(({ name }) => name)
    if (names.length > 0) output.note(`Public now: ${names.join(', ')}.`)
  } catch (error) {
    // The block is removed: that this caller may not list buckets is no failure of the command.
    if (!(error instanceof AdminError)) throw error
  }
}

function lineOf({ bucket, enabled, flags, mode, cluster, effective }: Block): string {
  if (bucket === '') {
    return enabled ? `Public access is blocked in every bucket; the mode is ${mode}.` : 'Public access is not blocked.'
  }
  if (!effective) {
    return flags.length === 0
      ? `Public access to ${bucket} is not blocked.`
      : `Public access to ${bucket} is not blocked as a whole; its public access block has ${flags.join(', ')}.`
  }
  return `Public access to ${bucket} is blocked${cluster ? `, as in every bucket (${mode})` : ''}${enabled ? ' by its own block' : ''}.`
}
