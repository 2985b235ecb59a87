/** Where a proxy has put the console; without a slash at its end. */
export const basePath = new URL(document.baseURI).pathname.replace(/\/$/, '')
