import { logFormatKey, logLevelKey } from 'svc/kernel'
import { type Static, Type } from 'typebox'

/** Keys of the kernel: what the settings of the logger are where nobody has set them. */
export const ServerConfig = Type.Object({ logLevel: logLevelKey, logFormat: logFormatKey })
export type ServerConfig = Static<typeof ServerConfig>
