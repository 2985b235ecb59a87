/** The catalogue in use. A translation is a file beside en.ts with the same shape. */
import { shownText } from '../parts/shown-text.ts'
import { en } from './en.ts'

export type Texts = typeof en

const shown = (given: unknown): unknown =>
  typeof given === 'string' ? shownText(given) : Array.isArray(given) ? given.map(shown) : given

/** What a sentence is given may be a name that somebody else has chosen, which must not turn the sentence around. */
export function withShownNames<Part extends object>(part: Part): Part {
  const entries = Object.entries(part).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'function') return [name, (...given: unknown[]) => value(...given.map(shown))]
    return [name, typeof value === 'object' && value !== null && !Array.isArray(value) ? withShownNames(value) : value]
  })
  return Object.fromEntries(entries) as Part
}

export const texts: Texts = withShownNames(en)
