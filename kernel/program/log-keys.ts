/**
 * The keys of the logger, which a plugin may share. Written out as the result of `Type.Enum`, because they are part of the surface of the
 * kernel: loading that must not take the time that loading TypeBox takes.
 */
import type { TEnum } from 'typebox'

const textEnum = <const Values extends string[]>(values: Values, options: object): TEnum<Values> =>
  ({ enum: values, ...options }) as TEnum<Values>

export const logLevelKey = textEnum(['debug', 'info', 'warn', 'error'], {
  variable: 'SVC_LOG_LEVEL',
  default: 'info',
  description: 'The least important level that is written.',
})

export const logFormatKey = textEnum(['json', 'text'], {
  variable: 'SVC_LOG_FORMAT',
  default: 'json',
  description: 'json: one object per line. text: for people.',
})
