/** What somebody means who types a folder, or what keys begin with: paths have a slash before them, keys hardly ever. */

export const typedPrefix = (typed: string): string => typed.replace(/^\/+/, '')

/**
 * The folder with its slash; empty for the top of the bucket. Where folders without a name are already, as keys that begin with a slash or
 * have two in a row make them, `around` is one, and it is taken as it is typed.
 */
export function typedFolder(typed: string, around = ''): string {
  const folder = /^\/|\/\//.test(around) ? typed : typedPrefix(typed).replace(/\/+$/, '/')
  return folder === '' || folder.endsWith('/') ? folder : `${folder}/`
}
