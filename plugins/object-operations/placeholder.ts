/** What programs store so that there is a folder before anything is in it: nothing, below the name of the folder. */
export const isPlaceholder = ({ key, sizeBytes }: { readonly key: string; readonly sizeBytes: number }): boolean =>
  sizeBytes === 0 && key.endsWith('/')
