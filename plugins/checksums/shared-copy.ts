/**
 * Copies all of `source` to `target` from `at` on, where one of them is shared memory. `set` and `copy` take shared memory word by word,
 * and byte by byte where the two are not aligned alike: 2.7 GB/s, where `fill`, which knows no shared memory, reaches 31. Nobody else may
 * write to either meanwhile.
 */
export function copyShared(target: Buffer, at: number, source: Uint8Array): void {
  if (source.length > target.length - at) throw new RangeError('the copy does not fit')
  // An empty value is an error of `fill`.
  if (source.length > 0) target.fill(source, at, at + source.length)
}
