/** The command `svc init`. A plugin of its own that requires nothing: it has to work before anything is configured. */
import { definePlugin } from 'svc/kernel'
import { createInitCommand } from './init-command.ts'

export default definePlugin({
  name: 'init',
  description: 'The command `svc init`, which prepares a machine.',
  setup({ ports, contribute }) {
    contribute('cli.command', 'init', createInitCommand(ports.random))
  },
})
