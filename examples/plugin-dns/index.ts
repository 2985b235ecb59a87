import { definePlugin } from 'svc/kernel'
// For its types only: it declares the extension point `dns.provider`.
import 'svc/plugins/dns/api'
import { Type } from 'typebox'
import { connectCommand } from './provider.ts'
import { CommandSettings, settingsProblems } from './settings.ts'

export default definePlugin({
  name: 'example-dns',
  version: '0.1.0',
  requires: ['dns'],
  config: Type.Object({
    // Read from SVC_EXAMPLE_DNS_PROGRAM as well: the name of the plugin, then that of the key.
    program: Type.String({
      format: 'path',
      description:
        'The program that changes records. Of the configuration alone: an administrator over the API must not choose it.',
    }),
  }),
  setup({ config: { program }, contribute }) {
    contribute('dns.provider', 'command', {
      description: 'A program of the operator changes the records.',
      settings: CommandSettings,
      validate: settingsProblems,
      connect: settings => connectCommand(program, settings),
    })
  },
})
