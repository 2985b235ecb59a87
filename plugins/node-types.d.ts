/** What Node.js has and `@types/node` does not declare: the direct string conversions of buffers, and WebAssembly. */
declare global {
  interface Buffer {
    latin1Slice(start?: number, end?: number): string
    latin1Write(text: string, offset?: number, length?: number): number
    utf8Slice(start?: number, end?: number): string
    utf8Write(text: string, offset?: number, length?: number): number
    hexSlice(start?: number, end?: number): string
  }

  namespace WebAssembly {
    function validate(bytes: Uint8Array): boolean

    class Memory {
      constructor(descriptor: { initial: number; maximum?: number; shared?: boolean })
      readonly buffer: ArrayBuffer
      grow(pages: number): number
    }
    class Module {
      constructor(bytes: Uint8Array)
    }
    class Instance {
      constructor(module: Module, imports?: Record<string, Record<string, unknown>>)
      readonly exports: Record<string, unknown>
    }
  }
}

export {}
