/** An example of a command, made from its arguments and options. */
import type { Plan } from './arguments.ts'
import { type Field, optionName, placeholder, shownChoices } from './fields.ts'
import { wholeName } from './naming.ts'
import type { Operation } from './operations.ts'
import { overrides } from './overrides.ts'

export function examplesOf({ id }: Operation, plan: Plan, name: string): readonly [string, ...string[]] {
  const { example } = overrides[id] ?? {}
  if (example !== undefined) return [example]
  const { bucket, key, positional, rest, isBodyOfFile, options } = plan
  const target =
    bucket === undefined ? 'home' : `home/photos${key === undefined ? '' : key.isRequired ? '/2026/a.jpg' : '/2026/'}`
  const last = isBodyOfFile ? ['document.json'] : rest === undefined ? [] : [sampleOfRest(rest)]
  const words = [target, ...positional.map(({ field }) => sampleOf(field)), ...last]
  const command = `svcctl ${wholeName(name)} ${words.join(' ')}`
  // If a command has only options, the example shows one that fits its purpose.
  const isTelling = /^(create|attach|detach|simulate|update|set|start)/.test(id)
  const telling = isTelling
    ? likely.map(one => options.find(({ field }) => field.name === one)).find(found => found !== undefined)
    : undefined
  if (telling === undefined) return [command]
  return [
    `${command} --${optionName(telling.field)}${telling.field.kind === 'switch' ? '' : ` ${sampleOf(telling.field)}`}`,
  ]
}

/** Options that show the purpose of a command, the most typical first. */
const likely = ['policyNames', 'user', 'status', 'bucket', 'versioning', 'days']

const samples: Readonly<Record<string, string>> = {
  accessKey: 'ada',
  action: 's3:GetObject',
  bucket: 'photos',
  group: 'staff',
  groups: 'staff',
  id: '7f3a',
  members: 'ada',
  name: 'staff',
  policyNames: 'readonly',
  subsys: 'logger',
  uploadId: '2f6c',
  user: 'ada',
}

function sampleOf(field: Field): string {
  const { name, kind, choices } = field
  const sample = samples[name]
  if (sample !== undefined) return sample
  if (choices !== undefined) return shownChoices(choices).find(choice => choice !== 'off') ?? ''
  switch (kind) {
    case 'switch':
      return 'on'
    case 'size':
      return '10GiB'
    case 'time':
      return '30d'
    case 'milliseconds':
    case 'seconds':
      return '1h'
    case 'number':
      return '10'
    default:
      return placeholder(field).toUpperCase()
  }
}

function sampleOfRest(field: Field): string {
  if (field.kind === 'document') return `${field.name}.json`
  if (field.kind !== 'pairs') return sampleOf(field)
  return field.name === 'settings' ? 'level=debug' : 'project=apollo'
}
