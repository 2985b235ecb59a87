import { defineCommand } from '../command.ts'

export default defineCommand({
  name: 'alias remove',
  summary: 'Forgets an alias and its credentials.',
  arguments: [{ name: 'name', summary: 'of the alias', kind: 'alias' }],
  options: [],
  examples: ['svcctl alias remove home'],
  async run({ aliases, output }, [name]) {
    await aliases.remove(name!)
    output.done({ status: 'removed', alias: name }, `Removed ${name}.`)
  },
})
