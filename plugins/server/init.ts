/** The command `svc init`. A plugin without requirements: it must work before anything is configured. */
import { definePlugin } from 'svc/kernel'
import init from './init-command.ts'

export default definePlugin({
  name: 'init',
  description: 'The command `svc init`, which prepares a machine.',
  contributes: { 'cli.command': [init] },
  setup() {},
})
