/** The search, and the words beside their names by which commands are found. */
export const search = {
  label: 'Search',
  placeholder: 'Buckets, folders, domains, users, settings, pages… or “photos quota”',
  nothing: 'Nothing found',
  open: 'Open search',
  pages: 'Pages',
  commands: 'Do',
  buckets: 'Buckets',
  users: 'Users',
  groups: 'Groups',
  policies: 'Policies',
  distributions: 'Distributions',
  prefixes: 'Folders',
  objects: 'Objects',
  objectsOf: (beginning: string) => `All that begin with ${beginning}`,
  settings: 'Settings',
  tabs: 'Of a bucket',
  commandWords: {
    signOut: ['log out', 'logout', 'log off', 'end the session'],
    colours: ['theme', 'dark mode', 'light mode', 'appearance'],
  },
}
