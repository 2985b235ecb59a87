/** What is typed into a shell to replace a drive. */

/** `isThere`: the folder is known to be; where it is not, nobody knows, and it is looked for. */
export const folderCommands = (path: string, isThere: boolean): string =>
  `${isThere ? '' : `test ! -e ${path} || `}mv ${path} ${path}.old\nmkdir ${path}\nchown USER: ${path}`

export const diskCommands = (path: string): string =>
  `umount -l ${path}\nmkfs.xfs /dev/DISK\nmount /dev/DISK ${path}\nchown USER: ${path}`
