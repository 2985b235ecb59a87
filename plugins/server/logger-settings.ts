/** The subsystem `logger`: level and format of the log, in every thread, from the next line on. */
import type { KernelService, Logger } from 'svc/kernel'
import type { SettingsService } from 'svc/plugins/settings/api'
import { Type } from 'typebox'
import type { ServerConfig } from './config.ts'

export interface LoggerSettingsOptions {
  readonly kernel: Pick<KernelService, 'configureLog'>
  readonly settings: SettingsService
  readonly config: ServerConfig
  readonly log: Logger
}

export function followLoggerSettings({ kernel, settings, config, log }: LoggerSettingsOptions) {
  const logger = settings.declare('logger', {
    description: 'Level and format of the log on standard error.',
    keys: Type.Object({
      level: Type.Enum(['debug', 'info', 'warn', 'error'], {
        default: config.logLevel,
        description: 'The least important level that is written. When set, it replaces SVC_LOG_LEVEL.',
      }),
      format: Type.Enum(['json', 'text'], {
        default: config.logFormat,
        description: 'json: one object per line. text: for people. When set, it replaces SVC_LOG_FORMAT.',
      }),
    }),
  })
  let isConfigured = false
  let following: Promise<void> = Promise.resolve()
  const apply = async () => {
    const isSet = (await logger.list()).length > 0
    // The program that started the server may have given it another log than the configuration says.
    if (!isSet && !isConfigured) return
    isConfigured = true
    kernel.configureLog(await logger.get())
  }
  // One after the other, so that the last change is the final one.
  const follow = () => {
    following = following.then(apply).catch(error => log.warn({ err: error }, 'settings of the logger cannot be read'))
    return following
  }
  let endWatch: (() => void) | undefined
  return {
    async start() {
      endWatch = logger.watch(follow)
      await follow()
    },
    stop() {
      endWatch?.()
      endWatch = undefined
    },
  }
}
