/** What is typed into a shell to replace a drive. */

/** `isThere`: the folder is known to be; where it is not, nobody knows, and it is looked for. */
export function folderCommands(path: string, isThere: boolean): string {
  const [folder, old] = [wordOf(path), wordOf(`${path}.old`)]
  return `${isThere ? '' : `test ! -e ${folder} || `}mv ${folder} ${old}\nmkdir ${folder}\nchown USER: ${folder}`
}

export function diskCommands(path: string): string {
  const folder = wordOf(path)
  return `umount -l ${folder}\nmkfs.xfs /dev/DISK\nmount /dev/DISK ${folder}\nchown USER: ${folder}`
}

/** A path as one word of a shell. */
function wordOf(path: string): string {
  return /^[\w/.:@%+=,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}
