/** The extension points of the plugin `objects`. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const objectsPoints = {
  'object.transform': {
    cardinality: 'one',
    schema: Type.Object(
      { begin: method, read: method, rename: method },
      { description: 'Transforms the bytes of clients into the stored bytes, and back: encryption.' },
    ),
  },
  'object.observer': {
    cardinality: 'many',
    schema: Type.Object(
      { wants: method, observe: method },
      { description: 'Observes every change of objects, inside its commit.' },
    ),
  },
} as const
