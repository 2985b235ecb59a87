import type { Answer } from '../../api/operations.ts'
import { texts } from '../../texts/index.ts'

/** What is wrong with the keys, in a sentence: also of keys that work, and without which older objects cannot be read. */
export function problemOf({ configured, online, backend, error }: Answer<'getKmsStatus'>): string | undefined {
  if (configured && !online) return texts.keys.fails(backend, error)
  if (error === '') return undefined
  return configured ? texts.keys.lacks(backend, error) : texts.keys.lacksAll(error)
}
