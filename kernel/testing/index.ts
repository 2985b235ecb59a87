/** What tests of plugins build on: what `svc/testing` means. Re-exports only. */
export * from './contract-suite.ts'
export * from './fake-ports.ts'
export * from './simulated-disk.ts'
export * from './start-kernel.ts'
