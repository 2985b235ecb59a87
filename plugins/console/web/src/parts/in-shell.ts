/** As one word of a command for a shell. */
export const inShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
