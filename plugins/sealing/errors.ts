import { defineErrors } from 'svc/kernel'

export const sealingErrors = defineErrors({
  invalid_document: { status: 400, title: 'The document does not match its schema.' },
})
