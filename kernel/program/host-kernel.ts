/** A kernel in this process: its clock and randomness, and the facts about the program. */
import { createKernel, type Kernel, type KernelOptions } from '../kernel.ts'
import { originOf } from './discover.ts'
import { currentBuild } from './revision.ts'
import { createSystemPorts } from './system-ports.ts'

export type HostKernelOptions = Omit<KernelOptions, 'ports' | 'build' | 'originOf'>

export function createHostKernel(options: HostKernelOptions): Kernel {
  return createKernel({ ...options, ports: createSystemPorts(), build: currentBuild(), originOf })
}
