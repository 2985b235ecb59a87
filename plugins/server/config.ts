import { logFormatKey, logLevelKey } from 'svc/kernel'
import { type Static, Type } from 'typebox'

/** Keys of the kernel: the defaults of the logger's settings. */
export const ServerConfig = Type.Object({ logLevel: logLevelKey, logFormat: logFormatKey })
export type ServerConfig = Static<typeof ServerConfig>
