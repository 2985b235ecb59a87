/** The testing library for plugins: the module `svc/testing`. Re-exports only. */

export { createSystemPorts } from '../program/system-ports.ts'
export { createSingleThread } from '../threads/calls.ts'
export * from './contract-suite.ts'
export * from './eventually.ts'
export * from './fake-ports.ts'
export * from './hanging-processes.ts'
export * from './lasting-port.ts'
export * from './open-points.ts'
export * from './schedules.ts'
export * from './simulated-time.ts'
export * from './start-kernel.ts'
export * from './temporary-folder.ts'
