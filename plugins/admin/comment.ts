import { Type } from 'typebox'

/** What people note beside what they set up: no control character, which a list would hide. */
export const commentOf = (maxLength: number, options: { readonly default?: string } = {}) =>
  Type.String({
    maxLength,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    errorMessage: 'must not hold control characters',
    ...options,
  })
