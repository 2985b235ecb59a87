/**
 * Hash of a blob id to a cell of the tables in shared memory (`BlobPins`, `BlobMarks`). Blobs with the same hash share a cell;
 * both tables are built so that this causes only extra waiting.
 */
export const blobCellCount = 1 << 14

/** FNV-1a, folded. */
export function blobCell(id: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 15)) & (blobCellCount - 1)
}
