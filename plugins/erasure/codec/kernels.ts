/** The WebAssembly kernels (reed-solomon.wat.mjs): compiled once per thread, instantiated once per memory that they work in. */
import { readFileSync } from 'node:fs'

/** Least length of a range: the longest stride of any kernel. */
export const strideBytesMax = 64

export type Kernel = (
  inputs: number,
  count: number,
  plain: number,
  outputs: number,
  tables: number,
  start: number,
  end: number,
) => void

export interface Kernels {
  /** By number of products: one more output, the sum of all inputs. */
  readonly sums: readonly Kernel[]
  /** By number of products; none for 0. */
  readonly products: readonly Kernel[]
}

/** Most outputs of one kernel. */
export const kernelOutputsMax = 4

export type KernelVariant = 'relaxed' | 'plain'

const compiled = new Map<KernelVariant, WebAssembly.Module>()
let best: KernelVariant | undefined

/** The relaxed instructions where the engine has them: results are the same, as no index is above 15. */
export function bestVariant(): KernelVariant {
  best ??= WebAssembly.validate(readModule('relaxed')) ? 'relaxed' : 'plain'
  return best
}

export function instantiateKernels(memory: WebAssembly.Memory, variant: KernelVariant): Kernels {
  let module = compiled.get(variant)
  if (module === undefined) {
    module = new WebAssembly.Module(readModule(variant))
    compiled.set(variant, module)
  }
  const exports = new WebAssembly.Instance(module, { codec: { memory } }).exports as Record<string, Kernel>
  const named = (name: string): Kernel[] => Array.from({ length: kernelOutputsMax + 1 }, (_, i) => exports[name + i])
  return { sums: named('sumProducts'), products: named('products') }
}

function readModule(variant: KernelVariant): Buffer<ArrayBuffer> {
  return readFileSync(
    new URL(variant === 'relaxed' ? './reed-solomon-relaxed.wasm' : './reed-solomon.wasm', import.meta.url),
  )
}
