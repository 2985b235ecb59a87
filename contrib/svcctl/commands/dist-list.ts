import { defineCommand } from '../command.ts'
import type { DistributionDocument } from '../distributions/document.ts'

interface Options {
  readonly bucket?: string
  readonly domain?: string
}

export default defineCommand<Options>({
  name: 'dist list',
  otherNames: ['ls'],
  summary: 'Lists distributions: buckets on names of their own.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    { flags: '--bucket <bucket>', summary: 'of this bucket' },
    { flags: '--domain <name>', summary: 'those that this name could reach' },
  ],
  examples: ['svcctl dist list home', 'svcctl dist list home --bucket site'],
  async run(context, [alias], { bucket, domain }) {
    const client = await context.connectAdmin(alias!)
    const filter = Object.entries({ bucket, domain }).filter(([, value]) => value !== undefined) as [string, string][]
    for (let cursor = ''; ; ) {
      const query = [...filter, ...(cursor === '' ? [] : [['cursor', cursor] as [string, string]])]
      const { body } = await client.send({
        operation: 'listDistributions',
        method: 'GET',
        path: '/distributions',
        query,
      })
      const page = body as { items: DistributionDocument[]; nextCursor: string }
      for (const item of page.items) context.output.result({ ...item }, describe(item))
      cursor = page.nextCursor
      if (cursor === '') return
    }
  },
})

function describe({ id, enabled, mode, origin, aliases }: DistributionDocument): string {
  const source = `${origin.bucket}/${origin.pathPrefix ?? ''}`
  return `${id}  ${enabled ? mode : `${mode}, disabled`}  ${source}  ${aliases.join(' ')}`
}
