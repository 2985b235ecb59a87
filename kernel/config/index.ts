/** Static configuration: keys from the schemas of plugins, values from flags, environment and file. Re-exports only. */
export * from './keys.ts'
export * from './resolve.ts'
export * from './suggest.ts'
export * from './units.ts'
export * from './values.ts'
