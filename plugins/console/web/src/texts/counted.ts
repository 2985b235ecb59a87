/** `1 object`, `2,000 objects`. */
import { formatCount } from '../parts/format.ts'

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`
