/** Configuration: the parity of new sets, and of new objects with reduced redundancy. */
import { type Static, Type } from 'typebox'
import { parseParity } from './parity.ts'

export const retryMsMaxDefault = 300_000

const check = (text: string) =>
  text === '' || parseParity(text) !== undefined ? undefined : 'must be EC:0 to EC:8, or empty'

export const ErasureConfig = Type.Object({
  standard: Type.String({
    variable: 'SVC_STORAGE_CLASS_STANDARD',
    default: '',
    description:
      'Parity of a new set, such as EC:2: how many drives may be lost. Empty: chosen by the number of drives. A set keeps the parity that it was created with.',
    check,
  }),
  reduced: Type.String({
    variable: 'SVC_STORAGE_CLASS_RRS',
    default: 'EC:1',
    description:
      'Parity of new objects of the storage class REDUCED_REDUNDANCY, at most that of their set. Objects keep the parity that they were written with.',
    check,
  }),
  retryMsMax: Type.Integer({
    format: 'duration',
    variable: 'SVC_HEAL_RETRY_MAX_DELAY',
    minimum: 1000,
    maximum: 86_400_000,
    default: retryMsMaxDefault,
    description:
      'Longest time between two attempts to heal an object. The first is repeated after 15 s, and each later one after twice as long.',
  }),
})

export type ErasureConfig = Static<typeof ErasureConfig>
