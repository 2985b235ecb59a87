/** The logger that every plugin gets: pino's, with the plugin's name in the field `plugin`. */
import type { Logger as PinoLogger } from 'pino'

export type Logger = PinoLogger
