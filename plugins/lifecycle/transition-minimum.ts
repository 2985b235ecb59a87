/** The minimum size for transitions: some clients send it with every configuration, and expect it in answers. */
import type { IncomingHttpHeaders } from 'node:http'
import { objectErrors } from 'svc/plugins/objects/api'
import type { TransitionMinimum } from './api.ts'

export const minimumHeader = 'x-amz-transition-default-minimum-object-size'

/** Throws InvalidArgument for any other value. */
export function readTransitionMinimum(headers: IncomingHttpHeaders): TransitionMinimum {
  const text = headers[minimumHeader] ?? 'all_storage_classes_128K'
  if (text === 'all_storage_classes_128K' || text === 'varies_by_storage_class') return text
  throw objectErrors.InvalidArgument(`The value of ${minimumHeader} is not valid.`, {
    extra: { ArgumentName: minimumHeader, ArgumentValue: String(text) },
  })
}
