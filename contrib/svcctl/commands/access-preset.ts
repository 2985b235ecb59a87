import { ifMatchOption, openBucket, tellStored } from '../access.ts'
import { defineCommand } from '../command.ts'
import { inTypedWords } from '../typed-words.ts'

interface Options {
  readonly match?: readonly [type: string, pattern: string]
  readonly caseInsensitive?: boolean
  readonly confirm?: boolean
  readonly ifMatch?: string
}

/** The options by the fields of the request that they set. */
const words = new Map([
  ['body/preset', 'the preset'],
  ['body/match', '--match'],
  ['body/confirm', '--confirm'],
])

function parseMatch(text: string): readonly [type: string, pattern: string] {
  const [, type, pattern] = /^(prefix|glob|regex):([\s\S]*)$/.exec(text) ?? []
  if (type === undefined || pattern === undefined) {
    throw new RangeError('is not of the form TYPE:PATTERN: write glob:public/**, prefix:public/ or regex:^public/')
  }
  return [type, pattern]
}

export default defineCommand<Options>({
  name: 'access preset',
  summary: 'Makes a bucket public in a usual way, or private, by access rules.',
  description:
    'Replaces the rules of earlier presets, and keeps the others. `private` also removes every rule that allows anonymous access, ' +
    '`custom` removes no other rule. public-prefix needs --match, public-write needs --confirm. Needs admin:ManageAccessRules.',
  arguments: [
    { name: 'target', summary: 'ALIAS/bucket', kind: 'target' },
    {
      name: 'preset',
      summary: 'the preset',
      kind: 'text',
      choices: ['private', 'public-read', 'public-read-list', 'public-prefix', 'public-write', 'custom'],
    },
  ],
  options: [
    { flags: '--match <type:pattern>', summary: 'prefix:public/, glob:**.jpg or regex:^a', parse: parseMatch },
    { flags: '--case-insensitive', summary: 'compare without regard to case' },
    { flags: '--confirm', summary: 'confirm that every client may write' },
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
    try {
      tellStored(context, await client.send(request))
    } catch (error) {
      throw inTypedWords(error, words)
    }
  },
})
