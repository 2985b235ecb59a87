/** Configuration: the default of the setting `scanner.cycle`. */
import { Type } from 'typebox'

export const ScannerConfig = Type.Object({
  lifecycleIntervalMs: Type.Integer({
    variable: 'SVC_LIFECYCLE_INTERVAL_MS',
    minimum: 1000,
    default: 60_000,
    format: 'duration',
    description:
      'How often the rules of all buckets are applied, beside each midnight (UTC), when days end, and soon after a change of rules.',
  }),
})
