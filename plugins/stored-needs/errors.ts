import { defineErrors } from 'svc/kernel'

/** Why a start is refused. */
export const storedNeedErrors = defineErrors({
  required_plugin_missing: { status: 500, title: 'A plugin that stored data needs is not loaded.' },
})
