import { showPages } from '../admin/pages.ts'
import { defineCommand, parsePositive } from '../command.ts'
import { requireBucketOnly } from '../target.ts'

interface Options {
  readonly state?: string
  readonly user?: string
  readonly all?: boolean
  readonly limit?: number
}

export default defineCommand<Options>({
  name: 'share list',
  summary: 'Lists links that were made with `share download`, by default your own that still work.',
  description: 'The links themselves are not kept, and so not shown again.',
  arguments: [{ name: 'target', summary: 'ALIAS[/bucket]', kind: 'target' }],
  options: [
    {
      flags: '--state <state>',
      summary: 'active (default), revoked, expired or all',
      choices: ['active', 'revoked', 'expired', 'all'],
    },
    { flags: '--user <user>', summary: 'the links of another user' },
    { flags: '--all', summary: 'the links of all users' },
    { flags: '--limit <count>', summary: 'end after so many (default: all)', parse: parsePositive },
  ],
  examples: ['svcctl share list home', 'svcctl share list home/photos --state revoked'],
  async run(context, [text], { state, user, all, limit }) {
    const target = context.remote(text!)
    const query = { bucket: target.bucket && requireBucketOnly(target), state, user, all: all ? 'true' : undefined }
    const client = await context.connectAdmin(target.alias)
    const request = {
      operation: 'listShares',
      method: 'GET',
      path: '/shares',
      query: Object.entries(query).flatMap(([name, value]) => (value ? [[name, value] as const] : [])),
    }
    await showPages(context, client, request, { limit, columns })
  },
})

const columns = ['id', 'bucket', 'key', 'owner', 'state', 'createdAt', 'expiresAt', 'lastUsedAt', 'description']
