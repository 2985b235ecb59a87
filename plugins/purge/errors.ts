import { defineErrors } from 'svc/kernel'

export const purgeErrors = defineErrors({
  distribution_not_found: { status: 404, title: 'There is no such distribution.' },
  invalid_cache_request: { status: 400, title: 'The request has a field that is missing or wrong.' },
  webhook_not_found: { status: 404, title: 'There is no such purge webhook.' },
})

/** `element`: JSON Pointer into the document; the message has no subject. */
export const invalidWebhook = (element: string, message: string): Error =>
  purgeErrors.invalid_cache_request(`${element} ${message}.`, { extra: { Field: element } })
