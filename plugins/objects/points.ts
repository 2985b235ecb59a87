/** What other plugins do with objects. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const objectsPoints = {
  'object.transform': {
    cardinality: 'one',
    schema: Type.Object(
      { begin: method, read: method, rename: method },
      { description: 'What lies between the bytes of clients and those on the drive.' },
    ),
  },
  'object.observer': {
    cardinality: 'many',
    schema: Type.Object(
      { wants: method, observe: method },
      { description: 'Told of every change of objects, inside its commit.' },
    ),
  },
} as const
