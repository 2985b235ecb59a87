import type { RulesDocument } from '../access.ts'
import { openBucket } from '../access.ts'
import { documentLines } from '../admin/answer-view.ts'
import { defineCommand } from '../command.ts'

export default defineCommand({
  name: 'access get',
  summary: 'Prints the access rules of a bucket, as `access set` takes them.',
  description:
    'Shows also what they make public, and the rules that never decide. Needs admin:ManageAccessRules or s3:GetBucketPolicy.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket', kind: 'target' }],
  options: [],
  examples: ['svcctl access get home/photos > rules.json'],
  async run(context, [text]) {
    const { client, path } = await openBucket(context, text!)
    const { body } = await client.send({ operation: 'getAccessRules', method: 'GET', path: `${path}/access-rules` })
    const document = body as RulesDocument
    context.output.result({ ...document }, ...documentLines(document))
    for (const warning of document.warnings) context.output.note(warning)
  },
})
