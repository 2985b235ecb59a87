/** Diagnostics over the Admin API: the shapes that its operations and its capture share. */
import type { Captures } from './captures.ts'

export const profileTypes = ['cpu', 'heap', 'goroutine', 'mutex', 'block'] as const
export const profileFormats = ['pprof', 'v8'] as const

export type ProfileType = (typeof profileTypes)[number]
export type ProfileFormat = (typeof profileFormats)[number]

export interface ProfileWanted {
  readonly type: ProfileType
  /** 1 to 60. */
  readonly seconds: number
  readonly format: ProfileFormat
  /** For `v8`: the thread; 0 is the main thread. */
  readonly thread: number
}

declare module 'svc/kernel' {
  interface Services {
    captures: Captures
  }
}
