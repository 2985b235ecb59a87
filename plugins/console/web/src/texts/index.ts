/** The catalogue in use. A translation is a file beside en.ts with the same shape. */
import { en } from './en.ts'

export type Texts = typeof en
export const texts: Texts = en
