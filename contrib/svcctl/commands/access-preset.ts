import { ifMatchOption, openBucket, tellStored } from '../access.ts'
import { defineCommand, parsePair } from '../command.ts'

interface Options {
  readonly match?: readonly [type: string, pattern: string]
  readonly caseInsensitive?: boolean
  readonly confirm?: boolean
  readonly ifMatch?: string
}

export default defineCommand<Options>({
  name: 'access preset',
  summary: 'Makes a bucket public in a usual way, or private, by access rules.',
  description:
    'Replaces the rules that presets made, and keeps the others; private also removes every rule that allows everybody something, ' +
    'custom nothing else. public-prefix takes --match, public-write --confirm. Needs admin:ManageAccessRules.',
  arguments: [
    { name: 'target', summary: 'ALIAS/bucket', kind: 'target' },
    {
      name: 'preset',
      summary: 'which one',
      kind: 'text',
      choices: ['private', 'public-read', 'public-read-list', 'public-prefix', 'public-write', 'custom'],
    },
  ],
  options: [
    { flags: '--match <type:pattern>', summary: 'prefix:public/, glob:**.jpg or regex:^a', parse: parsePair(':') },
    { flags: '--case-insensitive', summary: 'the pattern knows no case' },
    { flags: '--confirm', summary: 'everybody may write, indeed' },
    ifMatchOption,
  ],
  examples: [
    'svcctl access preset home/photos public-prefix --match prefix:public/',
    'svcctl access preset home/photos private',
  ],
  async run(context, [text, preset], { match, caseInsensitive, confirm, ifMatch }) {
    const { client, path } = await openBucket(context, text!)
    const [type, pattern] = match ?? []
    const body = {
      preset,
      ...(match && { match: { type, pattern, ...(caseInsensitive && { caseInsensitive }) } }),
      ...(confirm && { confirm }),
    }
    const request = { operation: 'setAccessPreset', method: 'POST', path: `${path}/access-rules/public`, body, ifMatch }
    tellStored(context, await client.send(request))
  },
})
