import { ifMatchOption, openBucket, readRules, tellStored, tellValid } from '../access.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly dryRun?: boolean
  readonly ifMatch?: string
}

export default defineCommand<Options>({
  name: 'access set',
  summary: 'Replaces the access rules of a bucket, all in one change.',
  description:
    'The file holds a list of rules, or the output of `access get`; an empty list removes all rules. The output of `access get` has ' +
    'the ETag of the rules: nothing is stored if they have changed since. To overwrite any change, remove the etag from the file, ' +
    'or add --if-match "*". If a rule is invalid, the error names it, and nothing is stored. Needs admin:ManageAccessRules.',
  arguments: [
    { name: 'target', summary: 'ALIAS/bucket', kind: 'target' },
    { name: 'file', summary: 'with the rules as JSON; - is standard input', kind: 'path' },
  ],
  options: [ifMatchOption, { flags: '--dry-run', summary: 'check everything, show the warnings, and store nothing' }],
  examples: ['svcctl access set home/photos rules.json', 'svcctl access set home/photos rules.json --dry-run'],
  async run(context, [text, file], { ifMatch, dryRun }) {
    const { client, path, bucket } = await openBucket(context, text!)
    const { body, etag } = await readRules(context, file!, bucket)
    const request = { operation: 'putAccessRules', method: 'PUT', path: `${path}/access-rules`, body }
    const query = dryRun ? ([['dryRun', 'true']] as const) : []
    const answer = await client.send({ ...request, query, ifMatch: ifMatch ?? etag })
    if (dryRun) tellValid(context, answer)
    else tellStored(context, answer)
  },
})
