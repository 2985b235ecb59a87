import { ifMatchOption, openBucket, tellStored } from '../access.ts'
import { parseJson, readDocument } from '../admin/values.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly ifMatch?: string
}

export default defineCommand<Options>({
  name: 'access set',
  summary: 'Replaces the access rules of a bucket, all in one change.',
  description:
    'The file holds a list of rules, or the output of `access get`; an empty list removes all rules. If a rule is invalid, the ' +
    'error names it, and nothing is stored. Needs admin:ManageAccessRules.',
  arguments: [
    { name: 'target', summary: 'ALIAS/bucket', kind: 'target' },
    { name: 'file', summary: 'with the rules as JSON; - is standard input', kind: 'path' },
  ],
  options: [ifMatchOption],
  examples: ['svcctl access set home/photos rules.json', 'svcctl access set home/photos rules.json --if-match 5d41…'],
  async run(context, [text, file], { ifMatch }) {
    const { client, path } = await openBucket(context, text!)
    const given = parseJson(await readDocument(context, file!), file!)
    const body = Array.isArray(given) ? { rules: given } : given
    tellStored(
      context,
      await client.send({ operation: 'putAccessRules', method: 'PUT', path: `${path}/access-rules`, body, ifMatch }),
    )
  },
})
