/** What drives are called where there is no room for their paths: by the last part of it, where that tells them apart. */
export function namesOfDrives(drives: readonly { readonly path: string }[]): ReadonlyMap<string, string> {
  const paths = drives.map(({ path }) => path)
  const names = paths.map(lastPart)
  const isClear = new Set(names).size === names.length && !names.includes('')
  return new Map(paths.map((path, index) => [path, isClear ? names[index]! : path]))
}

const lastPart = (path: string) => path.slice(path.lastIndexOf('/') + 1)
