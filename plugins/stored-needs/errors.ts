import { defineErrors } from 'svc/kernel'

/** The error of a refused start. */
export const storedNeedErrors = defineErrors({
  required_plugin_missing: { status: 500, title: 'A plugin that stored data needs is not loaded.' },
})
