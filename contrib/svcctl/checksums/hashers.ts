/** A separate module, so that `import()` loads hash-wasm for the checksums that need it, bundled or not. */
export { createCRC32, createXXHash3, createXXHash64, createXXHash128 } from 'hash-wasm'
