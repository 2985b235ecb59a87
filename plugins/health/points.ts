/** The extension point of health probes. */
import { Type } from 'typebox'

export const healthPoints = {
  'health.check': {
    cardinality: 'many',
    schema: Type.Function([], Type.Unknown(), {
      description: 'Asked by every probe; its id is its name in the answer.',
    }),
  },
  'health.drives': {
    cardinality: 'many',
    schema: Type.Function([], Type.Unknown(), { description: 'Counts drives for the cluster probe.' }),
  },
} as const
