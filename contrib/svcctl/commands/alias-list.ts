import { defineCommand } from '../command.ts'

export default defineCommand({
  name: 'alias list',
  summary: 'Lists aliases; their secrets are not shown.',
  arguments: [],
  options: [],
  examples: ['svcctl alias list', 'svcctl alias list --quiet'],
  async run({ aliases, output }) {
    const { isQuiet } = output.options
    for (const [name, { endpoint, accessKey, region, pathStyle, adminUrl }] of await aliases.list()) {
      const line = isQuiet ? name : `${name.padEnd(16)} ${endpoint.padEnd(32)} ${accessKey.padEnd(20)} ${region}`
      output.result({ alias: name, endpoint, accessKey, region, pathStyle, adminUrl }, line)
    }
  },
})
